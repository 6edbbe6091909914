"""Nations, their customers, orders and lines, and sessions that read the keys of all of them."""

import random
import re
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

import iceberg_spark as ice
from iceberg_spark.read import row_keys
from iceberg_spark.read.row_keys import KEYS
from iceberg_spark.spark.reading import filter_by_keys, prune_files
from tests.spark.settings import settings

EPOCH = date(1970, 1, 1)
ALL = replace(KEYS, least_rows=0, cost=0.0, listed=3, share=1.0)
BY_SPARK = replace(ALL, rows=12, scan_cost=0.0, job_cost=0, spark_share=1.0)
"""Keys of the smallest tables are read here, all others by Spark."""


def make_tables(place: Path) -> Path:
    """Make four tables in a folder's `db`: some keys are null, or no other table's."""
    rows = random.Random(7)

    def some(most: int, count: int) -> list[int | None]:
        return [rows.randrange(most) if rows.random() < 0.9 else None for _ in range(count)]

    def make(name: str, columns: str, values: dict[str, Any]) -> ice.Table:
        by_reading = {"write.delete.mode": "merge-on-read"}
        table = ice.create_table(str(place / "db" / name), columns, properties=by_reading)
        table.append(pa.table(values, schema=table.scan().to_arrow().schema))
        return table.refresh()

    make(
        "nations", "n int, name string", {"n": range(12), "name": [f"n{i % 5}" for i in range(12)]}
    )
    make("customers", "c bigint, n int", {"c": range(60), "n": some(14, 60)})
    make(
        "orders",
        "o bigint, c bigint, day date, code string",
        {
            "o": range(300),
            "c": some(70, 300),
            "day": [EPOCH + timedelta(i % 40) for i in range(300)],
            "code": [f"\u00e4{i % 9}" if i % 9 else "" for i in range(300)],
        },
    )
    lines = {
        "o": some(330, 2000),
        "amount": range(2000),
        "code": [f"\u00e4{i % 13}" for i in range(2000)],
    }
    table = make("lines", "o bigint, amount int, code string", lines)
    table.delete("amount % 50 = 3")
    return place


@contextmanager
def enabled_for(spark: SparkSession, warehouse: Path) -> Iterator[SparkSession]:
    """Enable a session in which the tables are those of the catalog `keyed`."""
    catalog = "spark.sql.catalog.keyed"
    with settings(spark, {f"{catalog}.type": "filesystem", f"{catalog}.warehouse": str(warehouse)}):
        ice.enable(spark)
        try:
            yield spark
        finally:
            ice.disable(spark)


def broadcasting(spark: SparkSession, most: str) -> AbstractContextManager[None]:
    """Have Spark broadcast sides of so many bytes; of -1 none: rows never meet a match at once."""
    return settings(spark, {"spark.sql.autoBroadcastJoinThreshold": most})


def limit(monkeypatch: pytest.MonkeyPatch, limits: Any) -> None:
    for module in (row_keys, filter_by_keys, filter_by_keys, prune_files):
        monkeypatch.setattr(module, "KEYS", limits)


def named(text: str) -> str:
    """Return a query's text with the names of the catalog's tables."""
    for name in ("nations", "customers", "orders", "lines"):
        text = text.replace(f" {name}", f" keyed.db.{name}")
    return text


def without(spark: SparkSession, text: str, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return the rows of a query without any filter by keys."""
    with monkeypatch.context() as patched:
        patched.setattr(prune_files, "filter_by_keys", lambda *_: None)
        return in_order(spark.sql(text))


def in_order(frame: DataFrame) -> list[Any]:
    return sorted(map(str, frame.collect()))


def filters(frame: DataFrame) -> int:
    """Return how many filters by keys a frame's plan has; lists are filters too."""
    plan = frame._jdf.queryExecution().optimizedPlan().toString()
    return len(re.findall(r"might_contain|Filter [^\n]* IN \([\d-]", plan))


@pytest.fixture(scope="session")
def keyed_warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tables below, which nobody changes; for all tests of the folder, by its conftest."""
    return make_tables(tmp_path_factory.mktemp("keyed"))


@pytest.fixture
def enabled(
    spark: SparkSession, keyed_warehouse: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[SparkSession]:
    """A session in which these tables have names, and all keys that can be read are."""
    limit(monkeypatch, ALL)
    with enabled_for(spark, keyed_warehouse):
        yield spark
