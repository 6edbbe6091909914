"""Spark's daemon of Python workers, of which one kills the driver while it writes files.

For `spark.python.daemon.module`; `DEADLY` in the environment has the driver's process, who dies (as
in `killed_driver`), and at which file that a worker opens.
"""

import os
import signal
from typing import Any

from pyspark import daemon

from iceberg_spark.io.fsspec_io import FsspecIO

JVM = os.getppid()
CREATE = FsspecIO.create


def kill(driver: int, jvm: int, who: str) -> None:
    """End a driver as `kill -9` does: its Python process, its JVM, or both at once."""
    if who in ("jvm", "machine"):
        os.kill(jvm, signal.SIGKILL)
    if who in ("python", "machine"):
        os.kill(driver, signal.SIGKILL)


def main() -> None:
    """Serve as Spark's own daemon does."""
    driver, who, last = os.environ["DEADLY"].split()
    opened = 0

    def create(self: FsspecIO, path: str) -> Any:
        nonlocal opened
        opened += 1
        file = CREATE(self, path)
        if opened == int(last):
            kill(int(driver), JVM, who)
        return file

    FsspecIO.create = create  # type: ignore[method-assign]
    daemon.manager()


if __name__ == "__main__":
    main()
