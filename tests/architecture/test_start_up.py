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
    "http.client",
    "urllib.request",
    "urllib3",
)
OF_CATALOGS = ("sqlalchemy", "psycopg", "thrift", "hive_metastore", "pyiceberg", "boto3")


def loaded_by(code: str) -> set[str]:
    """The modules of a process that ran this."""
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; {code}; print(*sorted(sys.modules), sep='\\n')"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stdout.split())


def test_the_data_source_loads_no_slow_module_before_it_needs_one():
    loaded = loaded_by("import pyspark_pyiceberg_lite")
    assert "iceberg_spark.spark.datasource.source" in loaded
    assert not loaded & {*SLOW, *OF_CATALOGS}


def test_the_package_loads_nothing_before_a_name_is_used():
    loaded = loaded_by("import iceberg_spark")
    ours = {name for name in loaded if name.startswith("iceberg_spark")}
    assert ours == {"iceberg_spark", "iceberg_spark.errors", "iceberg_spark.lazy"}
    assert not loaded & {*SLOW, *OF_CATALOGS, "pyspark", "pyarrow", "numpy", "importlib.metadata"}


def test_a_catalog_loads_no_slow_module_before_it_needs_one():
    loaded = loaded_by(
        "import iceberg_spark as i; i.load_catalog('x', type='filesystem', warehouse='/')"
    )
    assert "iceberg_spark.api.catalog" in loaded
    assert not loaded & {*SLOW, *OF_CATALOGS, "pyspark"}
