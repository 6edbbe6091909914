"""Spark's daemons of Python workers import our modules before they fork workers.

Python imports this at its start where the folder is on PYTHONPATH (`scripts/run_tests.py`); in
other processes it does nothing. An error of a task ends its worker, an idle one ends after a
minute, and there are six kinds: each new one imported pyarrow and us anew, for 1.3 s of CPU. Tests
of a user's own session run without this folder.
"""

import importlib
import sys

MODULES = (
    "pyarrow.dataset",
    "pyarrow.parquet",
    "iceberg_spark.spark.datasource.reader",
    "iceberg_spark.spark.datasource.source",
    "iceberg_spark.spark.datasource.stream_writer",
    "iceberg_spark.spark.datasource.stream_writer",
)

if "pyspark.daemon" in sys.orig_argv:
    for name in (*MODULES, *(["pandas"] if "pyspark.worker" in sys.orig_argv else [])):
        importlib.import_module(name)
