"""Tables with deletes, read natively against Java Iceberg; planning and loading are inside."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

import iceberg_spark as ice
from benchmarks.measure import LONG_WARM_UP, Measured, by_turns

Work = Callable[[DataFrame], object]

ACTIONS: dict[str, Work] = {
    "count": lambda frame: frame.count(),
    "one-column sum": lambda frame: frame.selectExpr("sum(b)").collect(),
    "full scan": lambda frame: frame.write.format("noop").mode("overwrite").save(),
}
TABLES = {
    "equality": "equality deletes (5%), native",
    "position": "position deletes (5%), native",
    "vectors": "deletion vectors (5%), native",
    "tenth": "position deletes in a tenth of the files, native",
}


def measure_native_deletes(
    spark: SparkSession, tables: dict[str, Path], rounds: int
) -> dict[str, dict[str, Measured]]:
    """Measure every table with deletes by every action."""
    measured = {}
    for table, what in TABLES.items():
        if table not in tables:
            continue
        _same_rows(spark, table, tables[table])
        for action, run in ACTIONS.items():
            contenders = {
                "java": lambda t=table, r=run: r(_java(spark, t)),
                "ours": lambda t=table, r=run: r(_ours(spark, tables[t])),
            }
            measured[f"{what}: {action}"] = by_turns(contenders, rounds, LONG_WARM_UP)
    return measured


def _java(spark: SparkSession, table: str) -> DataFrame:
    return spark.read.format("iceberg").load(f"java.db.{table}")


def _ours(spark: SparkSession, location: Path) -> DataFrame:
    return ice.load_table(str(location)).scan(engine="native").to_df(spark)


def _same_rows(spark: SparkSession, table: str, location: Path) -> None:
    check = ("count(*)", "sum(id)", "sum(b)")
    ours, java = _ours(spark, location), _java(spark, table)
    found = [frame.selectExpr(*check).collect() for frame in (ours, java)]
    if found[0] != found[1]:
        raise AssertionError(f"{table}: {found[0]} read, {found[1]} by Java")
