"""The API where PySpark is not installed: everything but frames works."""

import ast
import json
import subprocess
import sys
from pathlib import Path

from iceberg_spark.engines import on_spark

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
    }
    refused = found["refused"]
    assert sorted(refused) == [
        "changes", "enable", "explain_append", "merge", "sql", "to_df", "update",
    ]  # fmt: skip
    assert {text for text in refused.values() if "pip install pyspark" in text} == {
        *refused.values()
    }


def test_type_checkers_and_the_program_see_the_same_port():
    stub = ast.parse(Path(on_spark.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    seen = {
        alias.name: node.module
        for node in stub.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    homes = {name: repr(module) for name, module in on_spark._HOME.items()}
    assert homes == {name: f"LazyModule({module})" for name, module in seen.items()}
    assert [name for name in seen if not hasattr(on_spark, name)] == []
