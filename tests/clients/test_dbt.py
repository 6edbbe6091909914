"""dbt builds the project of `demo/dbt`, and goes on with it when its rows change."""

import json
import os
import shutil
import subprocess
import sys
from datetime import date
from pathlib import Path
from typing import Any

import pytest

import iceberg_spark as ice
from tests.clients.conftest import ON_JAVA

ROOT = Path(__file__).resolve().parents[2]
ON_JAVAS_RUNTIME = """
from pathlib import Path
from tests.oracle.session import java_session
folder = Path(__file__).resolve().parent / "target"
folder.mkdir(exist_ok=True)
lake = "spark.sql.catalog.lake"
context = java_session(folder, more={
    lake: "org.apache.iceberg.spark.SparkCatalog",
    f"{lake}.type": "jdbc",
    f"{lake}.uri": f"jdbc:sqlite:{folder}/lake.db",
    f"{lake}.jdbc.schema-version": "V1",
    f"{lake}.warehouse": f"{folder}/lake",
    "spark.sql.defaultCatalog": "lake",
})
spark = context.__enter__()
spark.sql("CREATE NAMESPACE IF NOT EXISTS lake.shop")
spark.sql("USE lake.shop")
"""
CHANGED = """id,customer,day,amount
1,10,2024-01-01,5.5
2,11,2024-01-01,8.25
3,10,2024-01-02,1.0
5,13,2024-01-03,20.0
"""
"""Another amount of order 2, no order 4, a new order 5."""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy of the project."""
    folder = tmp_path / "dbt"
    shutil.copytree(
        ROOT / "demo" / "dbt", folder, ignore=shutil.ignore_patterns("target", "logs", "__*")
    )
    if ON_JAVA:
        (folder / "dbt_iceberg.py").write_text(ON_JAVAS_RUNTIME)
    return folder


def run_dbt(project: Path, *arguments: str) -> None:
    path = os.pathsep.join([str(project), str(ROOT)])
    done = subprocess.run(
        [Path(sys.executable).parent / "dbt", "--no-use-colors", *arguments, "--profiles-dir", "."],
        cwd=project,
        env={**os.environ, "PYTHONPATH": path, "DBT_SEND_ANONYMOUS_USAGE_STATS": "false"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]


def rows(project: Path, table: str, *columns: str) -> list[tuple[Any, ...]]:
    return sorted(
        tuple(row[column] for column in columns)
        for row in load(project, table).scan().to_arrow().to_pylist()
    )


def load(project: Path, table: str) -> ice.Table:
    target = project / "target"
    properties = {"uri": f"sqlite:///{target}/lake.db", "warehouse": f"{target}/lake"}
    return ice.load_catalog("lake", type="sql", **properties).load_table(f"shop.{table}")


def test_the_page_shows_the_module_of_the_project() -> None:
    module = (ROOT / "demo" / "dbt" / "dbt_iceberg.py").read_text(encoding="utf-8")
    code = module.partition('"""\n\n')[2]
    assert code in (ROOT / "docs" / "dbt.md").read_text(encoding="utf-8")


@pytest.mark.timeout(1800)
def test_a_project_is_built_and_goes_on_with_changed_rows(project: Path) -> None:
    first, second, third = (date(2024, 1, day) for day in (1, 2, 3))
    orders = [(1, 5.5), (2, 7.25), (3, 1.0), (4, 12.0)]
    run_dbt(project, "build")
    assert rows(project, "customers", "customer", "orders", "total") == [
        (10, 2, 6.5),
        (11, 1, 7.25),
        (12, 1, 12.0),
    ]
    for table in ("orders_appended", "orders_merged", "orders_by_day", "orders_in_batches"):
        assert rows(project, table, "id", "amount") == orders, table
    customers = load(project, "customers")
    assert customers.properties["comment"] == "One row a customer"
    assert customers.schema().find_field("total").doc == "The sum of all orders"
    assert [str(part) for part in load(project, "orders_by_day").spec().fields]

    (project / "seeds" / "raw_orders.csv").write_text(CHANGED)
    run_dbt(project, "build", "--vars", "{with_customer: true}", "--exclude", "test_type:generic")
    assert rows(project, "orders_appended", "id", "customer")[-1] == (5, 13)
    assert load(project, "orders_appended").schema().find_field("customer").name == "customer"
    assert rows(project, "orders_merged", "id", "amount") == [
        (1, 5.5),
        (2, 8.25),
        (3, 1.0),
        (4, 12.0),
        (5, 20.0),
    ]
    assert rows(project, "orders_by_day", "id", "day") == [
        (1, first),
        (2, first),
        (3, second),
        (5, third),
    ]
    ended = [row for row in history(project) if row[2]]
    assert [row[:2] for row in ended] == [(2, 7.25), (4, 12.0)]
    assert [row[:2] for row in history(project) if not row[2]] == [
        (1, 5.5),
        (2, 8.25),
        (3, 1.0),
        (5, 20.0),
    ]

    run_dbt(project, "docs", "generate")
    nodes = json.loads((project / "target" / "catalog.json").read_text())["nodes"]
    assert list(nodes["model.shop.customers"]["columns"]) == ["customer", "orders", "total"]
    run_dbt(project, "run", "--full-refresh", "--select", "orders_merged")
    assert [row[0] for row in rows(project, "orders_merged", "id")] == [1, 2, 3, 5]


def history(project: Path) -> list[tuple[int, float, bool]]:
    """The versions of the snapshot: id, amount and whether another one followed."""
    found = load(project, "orders_history").scan().to_arrow().to_pylist()
    return sorted((row["id"], row["amount"], row["dbt_valid_to"] is not None) for row in found)
