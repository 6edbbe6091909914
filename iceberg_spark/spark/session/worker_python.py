"""Whether Spark's workers run a Python that has this package.

Workers of another Python fail with ModuleNotFoundError deep in a Java trace. A session on one
machine is checked before its first task. On a cluster the driver cannot check the executors.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from functools import lru_cache

from pyspark.sql import SparkSession

from iceberg_spark.errors import InvalidInputError
from iceberg_spark.spark.session.classic_session import master, shipped_packages, worker_python

_LOCAL = re.compile(r"local(\[|$)")
"""Masters whose workers are on this machine for sure: not `local-cluster[...]`."""


def check_worker_python(spark: SparkSession) -> None:
    """Refuse a local session whose workers can't import this package.

    Raises InvalidInputError naming the Python and the setting. Each Python is tried once.
    """
    workers = worker_python(spark)
    if workers in (None, sys.executable) or not _LOCAL.match(str(master(spark))):
        return
    lacks = _what_it_lacks(workers, shipped_packages(spark))
    if lacks:
        raise InvalidInputError(
            f"Spark's workers would run '{workers}', which can't use iceberg_spark: {lacks}. "
            "Import iceberg_spark before the session is created, or set "
            f"PYSPARK_PYTHON={sys.executable} before it starts"
        )


@lru_cache(maxsize=8)
def _what_it_lacks(python: str, shipped: tuple[str, ...]) -> str:
    """Return why a Python can't import the package, nothing when it can."""
    path = (*shipped, os.environ.get("PYTHONPATH", ""))
    program = (
        "from pyspark_pyiceberg_lite.unavailable import check_dependencies; check_dependencies(); "
        "import iceberg_spark.spark.datasource.source"
    )
    try:
        done = subprocess.run(  # noqa: S603 - the session's own setting
            [python, "-c", program],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, path))},
        )
    except OSError as error:
        return str(error)
    except subprocess.TimeoutExpired:
        return ""  # slow is not wrong
    lines = done.stderr.strip().splitlines() or [f"it ended with {done.returncode}"]
    return "" if done.returncode == 0 else lines[-1]
