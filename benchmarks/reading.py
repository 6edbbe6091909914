"""Reads and writes of whole tables: the data source against Java Iceberg and plain Parquet."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from benchmarks.measure import Measured, by_turns
from benchmarks.tables import rows

Contenders = dict[str, Callable[[], object]]


def _noop(frame: DataFrame) -> None:
    frame.write.format("noop").mode("overwrite").save()


def reads(spark: SparkSession, tables: dict[str, Path]) -> dict[str, Contenders]:
    """Return the reading works by name, each with its contenders."""

    def java(name: str) -> DataFrame:
        return spark.read.format("iceberg").load(f"java.db.{name}")

    def ours(name: str, **options: str) -> DataFrame:
        reader = spark.read.format("pyiceberg-lite").options(**options)
        return reader.load(str(tables[name]))

    def plain() -> DataFrame:
        return spark.read.parquet(str(tables["plain"]))

    some = "day between date'2021-01-01' and date'2021-01-03'"
    return {
        "full scan": {
            "java": lambda: _noop(java("clean")),
            "ours": lambda: _noop(ours("clean")),
            "plain": lambda: _noop(plain()),
        },
        "one-column sum (option columns)": {
            "java": lambda: java("clean").selectExpr("sum(b)").collect(),
            "ours": lambda: ours("clean", columns="b").selectExpr("sum(b)").collect(),
            "plain": lambda: plain().selectExpr("sum(b)").collect(),
        },
        "filtered scan (option row-filter)": {
            "java": lambda: _noop(java("clean").where(some)),
            "ours": lambda: _noop(ours("clean", **{"row-filter": some})),
            "plain": lambda: _noop(plain().where(some)),
        },
        "position deletes (5%), full scan": {
            "java": lambda: _noop(java("position")),
            "ours": lambda: _noop(ours("position")),
        },
        "equality deletes (5%), full scan": {
            "java": lambda: _noop(java("equality")),
            "ours": lambda: _noop(ours("equality")),
        },
    }


def measure_reads(
    spark: SparkSession, tables: dict[str, Path], rounds: int
) -> dict[str, dict[str, Measured]]:
    """Measure every reading work."""
    return {name: by_turns(work, rounds) for name, work in reads(spark, tables).items()}


def measure_append(
    spark: SparkSession, folder: Path, count: int, rounds: int
) -> dict[str, Measured]:
    """Measure writing `count` rows into a new table, the rows computed from a cached source."""
    source = str(folder / "source")
    rows(spark, count).write.mode("overwrite").parquet(source)

    def read() -> DataFrame:
        return spark.read.parquet(source)

    def java() -> None:
        read().writeTo("java.db.written").using("iceberg").createOrReplace()

    def ours() -> None:
        target = folder / "ours"
        shutil.rmtree(target, ignore_errors=True)
        read().write.format("pyiceberg-lite").mode("append").save(str(target))

    def plain() -> None:
        writer = read().write.mode("overwrite").option("compression", "zstd")
        writer.parquet(str(folder / "plain-written"))

    return by_turns({"java": java, "ours": ours, "plain": plain}, rounds)
