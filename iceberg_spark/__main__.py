"""The command line: the script `iceberg-spark`, and `python -m iceberg_spark`."""

from __future__ import annotations

import sys
from importlib.util import find_spec

from iceberg_spark.lazy import LazyModule

_cli = LazyModule("iceberg_spark.cli.run")
_examine = LazyModule("iceberg_spark.checkup.examine")


def main() -> int:
    """Run a command and return its exit status.

    Without typer only `doctor` runs: it has to work in every installation.
    """
    if find_spec("typer") is not None:
        status: int = _cli.run(sys.argv[1:])
        return status
    if sys.argv[1:] == ["doctor"]:
        report = _examine.doctor()
        sys.stdout.write(f"{report!r}\n")
        return 0 if report.ok else 1
    sys.stderr.write("Error: the command line needs typer: pip install 'iceberg-spark[cli]'\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
