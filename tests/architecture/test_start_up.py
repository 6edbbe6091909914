"""Spark imports the data source in several short-lived processes: what it must not load."""

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

import iceberg_spark as ice
from iceberg_spark.lazy import LazyFunction
from iceberg_spark.statements import commands
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


def own(loaded: set[str]) -> set[str]:
    """Return the modules of this library."""
    return {name for name in loaded if name.startswith("iceberg_spark")}


def test_finding_the_data_source_imports_little_of_the_library():
    loaded = loaded_by("import pyspark_pyiceberg_lite")
    assert "iceberg_spark.spark.datasource.source" in loaded
    assert len(own(loaded)) <= 13
    assert not loaded & {*SLOW, *OF_CATALOGS}


@pytest.mark.parametrize("missing", ["fastavro", "pyarrow"])
def test_a_python_without_a_dependency_says_so_when_the_source_is_used(missing: str):
    without = f"import sys; sys.modules['{missing}'] = None"
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            f"{without}; from pyspark_pyiceberg_lite import *; DefaultSource({{}})",
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert f"it lacks the module '{missing}'. Set PYSPARK_PYTHON" in done.stderr


def test_loading_and_scanning_a_table_imports_no_verb_and_no_other_catalog(tmp_path: Path):
    table = ice.create_table(f"{tmp_path}/t", "id bigint")
    table.append(pa.table({"id": [1, 2]}))
    loaded = loaded_by(f"import iceberg_spark as i; i.load_table('{tmp_path}/t').scan().to_arrow()")
    rooms = ("save", "maintenance", "row_level", "write", "streams", "inspect", "commits",
             "catalog.rest", "catalog.hive", "catalog.aws", "arrow.variant", "formats.puffin",
             "formats.roaring", "read.equality_deletes", "spec.apply")  # fmt: skip
    unused = tuple(f"iceberg_spark.{room}." for room in rooms)
    assert [name for name in loaded if f"{name}.".startswith(unused)] == []
    assert len(own(loaded)) <= 170
    assert not loaded & {*OF_CATALOGS, "tenacity", "fsspec", "pyspark", "asyncio", "fastavro"}


@pytest.mark.parametrize("version", ["2", "3"])
@pytest.mark.parametrize("partition_by", ["", "bucket(2, id)"])
def test_loading_and_scanning_a_table_imports_no_pandas(
    version: str, partition_by: str, tmp_path: Path
):
    properties = {"format-version": version}
    table = ice.create_table(
        f"{tmp_path}/t", "id bigint", partition_by=partition_by or (), properties=properties
    )
    table.append(pa.table({"id": [1, 2]}))
    table.append(pa.table({"id": [3]}))
    loaded = loaded_by(f"import iceberg_spark as i; i.load_table('{tmp_path}/t').scan().to_arrow()")
    assert "pyarrow.lib" in loaded
    assert "pandas" not in loaded


def test_processes_of_a_save_import_their_own_part(tmp_path: Path):
    ice.create_table(f"{tmp_path}/t", "id bigint")
    plan = (
        "import pickle, pyspark_pyiceberg_lite as p; from pyspark.sql.types import *; "
        f"w = p.DefaultSource({{'path': '{tmp_path}/t'}})"
        ".writer(StructType().add('id', 'long'), False); "
        f"file = open('{tmp_path}/plan', 'wb'); file.write(pickle.dumps(w)); file.close()"
    )
    write = (
        "import pickle, pyarrow, numpy; from iceberg_spark.arrow.arrays import from_numpy; "
        f"w = pickle.load(open('{tmp_path}/plan', 'rb')); ids = from_numpy(numpy.arange(3)); "
        "m = w.write(iter([pyarrow.RecordBatch.from_arrays([ids], names=['id'])])); "
        "assert m.data_files[0].record_count == 3"
    )
    for code in (plan, write):
        loaded = loaded_by(code)
        unused = ("commits.commit", "commits.conflicts", "maintenance", "read", "row_level")
        assert not loaded & {f"iceberg_spark.{name}" for name in unused}
        assert not loaded & {"pandas", "polars", "tenacity", "asyncio"}
        assert len(own(loaded)) <= 150


def test_the_package_loads_nothing_before_a_name_is_used():
    loaded = loaded_by("import iceberg_spark")
    modules = {"errors", "lazy", "worker_environment"}
    assert own(loaded) == {"iceberg_spark", *(f"iceberg_spark.{name}" for name in modules)}
    assert not loaded & {*SLOW, *OF_CATALOGS, "pyspark", "pyarrow", "numpy", "importlib.metadata"}


def test_a_catalog_loads_no_slow_module_before_it_needs_one():
    loaded = loaded_by(
        "import iceberg_spark as i; i.load_catalog('x', type='filesystem', warehouse='/')"
    )
    assert "iceberg_spark.api.catalog" in loaded
    assert not loaded & {*SLOW, *OF_CATALOGS, "pyspark"}


def test_enabling_a_session_imports_no_module_of_a_rare_statement():
    loaded = loaded_by("import iceberg_spark.pyspark_hooks.enable")
    rare = ("procedures", "table_procedures", "maintenance_procedures", "merge_rows", "alterations")
    assert not loaded & {f"iceberg_spark.statements.{name}" for name in rare}


def test_each_kind_of_statement_has_a_function():
    for kind, run in commands.RUNNERS.items():
        if isinstance(run, LazyFunction):
            assert callable(run.function), kind
