"""Spark imports the data source in several short-lived processes: what it must not load."""

import subprocess
import sys

from tests.architecture.source import ROOT

SLOW = (
    "pandas",
    "polars",
    "sqlglot",
    "strictyaml",
    "pyarrow.dataset",
    "obstore",
    "botocore",
    "fsspec.asyn",
    "s3fs",
    "httpx",
)
OF_CATALOGS = ("sqlalchemy", "psycopg", "thrift", "hive_metastore", "pyiceberg", "boto3")


def test_the_data_source_loads_no_slow_module_before_it_needs_one():
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys, pyspark_pyiceberg_lite; print(*sorted(sys.modules), sep='\\n')",
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = set(done.stdout.split())
    assert "iceberg_spark.spark.datasource.source" in loaded
    assert not loaded & {*SLOW, *OF_CATALOGS}
