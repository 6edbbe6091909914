"""The API where PySpark is not installed: everything but frames works."""

import ast
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from iceberg_spark.api import deferred, deferred_catalog, deferred_table
from iceberg_spark.engines import on_spark
from iceberg_spark.lazy import LazyNames
from iceberg_spark.spark.datasource import deferred as source_port

ROOT = Path(__file__).resolve().parents[3]


def test_what_needs_no_frame_works_and_the_rest_says_what_to_install(tmp_path: Path):
    done = subprocess.run(
        [sys.executable, "-m", "tests.unit.api.without_pyspark", str(tmp_path / "t")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["changed"] == {
        "append": [1, 2, 3, 4],
        "filter": [3, 4],
        "count": 2,
        "delete": [2, 3, 4],
        "upsert": [2, 3, 4, 9],
        "overwrite": [2, 4, 7, 9],
        "dynamic": [2, 8, 9],
        "schema": [[10], ["id", "key", "v"]],
        "changes": 12,
        "snapshots": 7,
        "expired": True,
        "left": [1, [2, 8, 9, 10]],
        "explain": True,
        "doctor": "note",
    }
    refused = found["refused"]
    assert sorted(refused) == [
        "changes", "enable", "explain_append", "merge", "sql", "to_df", "update",
    ]  # fmt: skip
    assert {text for text in refused.values() if "pip install pyspark" in text} == {
        *refused.values()
    }


PORTS = [
    pytest.param(on_spark, on_spark._imported, id="on_spark"),
    pytest.param(deferred, deferred.__getattr__, id="verbs"),
    pytest.param(deferred_catalog, deferred_catalog.__getattr__, id="catalog"),
    pytest.param(deferred_table, deferred_table.__getattr__, id="table"),
    pytest.param(source_port, source_port.__getattr__, id="datasource"),
]


@pytest.mark.parametrize(("port", "names"), PORTS)
def test_type_checkers_and_the_program_see_the_same_port(port: ModuleType, names: LazyNames):
    stub = ast.parse(Path(str(port.__file__)).with_suffix(".pyi").read_text(encoding="utf-8"))
    imported = {
        alias.name: node.module
        for node in stub.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    homes = {name: repr(module) for name, module in names.home.items()}
    assert homes == {name: f"LazyModule({module})" for name, module in imported.items()}
    assert [name for name in imported if not hasattr(port, name)] == []
