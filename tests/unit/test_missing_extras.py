"""What an extra brings is missing: the error is one sentence that names the extra to install."""

import subprocess
import sys
from collections.abc import Sequence

import pytest

BLOCK = """
import sys
from importlib.machinery import PathFinder

class Without(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        missing = name.partition(".")[0] in {names!r}
        return None if missing else super().find_spec(name, path, target)

sys.meta_path[sys.meta_path.index(PathFinder)] = Without
import iceberg_spark as ice
from iceberg_spark.errors import IcebergError
try:
    {call}
except IcebergError as error:
    print(f"{{type(error).__name__}}: {{error}}")
"""
REPORT_OF_ROWS = (
    "import tempfile, pyarrow; t = ice.create_table(tempfile.mkdtemp(), 'id bigint'); "
    "t.append(pyarrow.table({'id': [1]})); t.report()"
)
CASES = {
    "rest": (
        ["urllib3"],
        'ice.load_catalog("c", type="rest", uri="http://127.0.0.1:9").list_namespaces()',
    ),
    "sql": (["sqlalchemy"], 'ice.load_catalog("c", type="sql", uri="sqlite://").list_namespaces()'),
    "sql, the local catalog": (["platformdirs"], 'ice.load_catalog("local")'),
    "postgres": (
        ["psycopg", "psycopg2"],
        'ice.load_catalog("c", type="sql", uri="postgresql://127.0.0.1:9/x").list_namespaces()',
    ),
    "hive": (
        ["thrift", "hive_metastore"],
        'ice.load_catalog("c", type="hive", uri="thrift://127.0.0.1:9").list_namespaces()',
    ),
    "s3": (["obstore", "s3fs", "fsspec_s3"], 'ice.load_table("s3://b/t")'),
    "s3, a profile": (
        ["botocore", "boto3"],
        'ice.load_table("s3://b/t", **{"s3.profile-name": "p", "s3.region": "r"})',
    ),
    "gcs": (["obstore", "gcsfs"], 'ice.load_table("gs://b/t")'),
    "adls": (["obstore", "adlfs"], 'ice.load_table("abfss://c@a.dfs.core.windows.net/t")'),
    "hdfs": (["hdfs_native"], 'ice.load_table("hdfs://127.0.0.1:9/t")'),
    "pyiceberg, Glue": (
        ["boto3", "botocore"],
        'ice.load_catalog("c", type="glue", **{"glue.region": "r"}).list_namespaces()',
    ),
    "pyiceberg, DynamoDB": (
        ["boto3", "botocore", "pyiceberg"],
        'ice.load_catalog("c", type="dynamodb", **{"dynamodb.region": "r"}).list_namespaces()',
    ),
    "spark": (["pyspark"], 'ice.sql(None, "SELECT 1")'),
    "report": (["matplotlib"], REPORT_OF_ROWS),
    "spark, pandas": (["pandas"], REPORT_OF_ROWS.replace("report", "scan().to_pandas")),
}


def error_without(modules: Sequence[str], call: str) -> str:
    script = BLOCK.format(names=set(modules), call=call)
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.strip()


@pytest.mark.parametrize("case", CASES)
def test_a_missing_extra_is_named(case: str) -> None:
    extra = case.partition(",")[0]
    error = error_without(*CASES[case])
    assert f"iceberg-spark[{extra}]" in error, error
    assert "\n" not in error
    assert len(error) < 400
