"""The Python that Spark starts for its workers."""

from __future__ import annotations

import os
import shutil
import sys

WORKER_PYTHON = "PYSPARK_PYTHON"
_LAUNCHED = "PYSPARK_GATEWAY_PORT"
"""Set for programs that `spark-submit` or a PySpark shell started: they have chosen a Python."""


def default_worker_python() -> None:
    """Set PYSPARK_PYTHON to this Python, unless it is set or `python3` is in the same folder.

    PySpark starts the workers of a session as `python3`. If a program was started as
    `venv/bin/python program.py` without activating the environment, that is another Python, which
    does not have this package. PySpark reads the variable when the session is created.
    """
    if os.environ.get(WORKER_PYTHON) or os.environ.get(_LAUNCHED) or not sys.executable:
        return
    default = shutil.which("python3")
    if default is None or os.path.dirname(default) != os.path.dirname(sys.executable):  # noqa: PTH120
        os.environ[WORKER_PYTHON] = sys.executable
