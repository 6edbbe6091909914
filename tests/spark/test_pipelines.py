"""Spark's declarative pipelines read and write Iceberg tables, as docs/pipelines.md shows."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import iceberg_spark as ice

pytestmark = [pytest.mark.own_process, pytest.mark.slow]

ROOT = Path(__file__).resolve().parents[2]


def page_blocks(folder: Path) -> dict[str, str]:
    """The page's files by their titles, with /tmp/ as a folder of the test."""
    page = (ROOT / "docs" / "pipelines.md").read_text(encoding="utf-8")
    blocks = re.findall(r'^```\w+ title="(.*?)"\n(.*?)^```', page, re.MULTILINE | re.DOTALL)
    return {title: text.replace("/tmp/", f"{folder}/") for title, text in blocks}


def new_project(folder: Path) -> Path:
    project = folder / "project"
    (project / "transformations").mkdir(parents=True)
    (project / "conf").mkdir()
    shutil.copy(ROOT / "conf" / "log4j2.properties", project / "conf")
    (project / "spark-pipeline.yml").write_text(page_blocks(folder)["spark-pipeline.yml"])
    return project


def run_pipeline(project: Path) -> None:
    done = pipeline(project)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    assert "Run is COMPLETED" in done.stdout + done.stderr


def pipeline(project: Path) -> subprocess.CompletedProcess[str]:
    programs = Path(sys.executable).parent
    return subprocess.run(
        [programs / "spark-pipelines", "run", "--spec", "spark-pipeline.yml"],
        cwd=project,
        env={
            **os.environ,
            "PATH": os.pathsep.join([str(programs), os.environ["PATH"]]),
            "PYTHONPATH": str(ROOT),
            "SPARK_CONF_DIR": str(project / "conf"),
        },
        capture_output=True,
        text=True,
        check=False,
    )


def rows(table: str) -> list[tuple[Any, ...]]:
    table_rows = ice.load_table(table).scan().to_arrow().to_pylist()
    return sorted(tuple(row.values()) for row in table_rows)


def orders(*values: tuple[int, str]) -> pa.Table:
    ids, states = zip(*values, strict=True)
    return pa.table({"id": pa.array(ids, pa.int32()), "state": list(states)})


def test_a_pipeline_appends_and_upserts_and_goes_on_where_it_ended(tmp_path: Path) -> None:
    project = new_project(tmp_path)
    flows = page_blocks(tmp_path)["transformations/orders.py"]
    (project / "transformations" / "orders.py").write_text(flows)
    for name in ("orders", "copy", "current"):
        ice.create_table(f"{tmp_path}/shop/{name}", "id int, state string")
    source = ice.load_table(f"{tmp_path}/shop/orders")
    source.append(orders((1, "new"), (2, "new")))
    run_pipeline(project)
    assert rows(f"{tmp_path}/shop/copy") == [(1, "new"), (2, "new")]
    assert rows(f"{tmp_path}/shop/current") == [(1, "new"), (2, "new")]
    source.append(orders((2, "sent"), (3, "new")))
    run_pipeline(project)
    assert rows(f"{tmp_path}/shop/copy") == [(1, "new"), (2, "new"), (2, "sent"), (3, "new")]
    assert rows(f"{tmp_path}/shop/current") == [(1, "new"), (2, "sent"), (3, "new")]


@pytest.mark.parametrize("kind", ["table", "materialized_view"])
def test_a_table_of_a_pipeline_is_refused_with_a_pointer_to_sinks(
    tmp_path: Path, kind: str
) -> None:
    project = new_project(tmp_path)
    rows_of_stream = 'readStream.format("rate").load()'
    source = rows_of_stream if kind == "table" else "range(3)"
    (project / "transformations" / "numbers.py").write_text(
        "from pyspark import pipelines as dp\n"
        "from pyspark.sql import SparkSession\n"
        f'@dp.{kind}(format="pyiceberg-lite")\n'
        "def numbers():\n"
        f"    return SparkSession.active().{source}\n"
    )
    done = pipeline(project)
    assert done.returncode != 0
    assert "A pipeline writes to dp.create_sink(" in done.stdout + done.stderr
