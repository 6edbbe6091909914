"""Reads through `to_df`, the native engine, against Java Iceberg and plain Parquet.

The frame is made in every round: planning and listing count, as Java's planning does.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

import iceberg_spark as ice
from benchmarks.measure import LONG_WARM_UP, Measured, by_turns
from benchmarks.tables import rows

Contenders = dict[str, Callable[[], object]]
MANY = "small_files"
FEW = "few_files"
POINT = "id = 777777"
SCATTERED = "day between date'2021-01-01' and date'2021-01-03'"
"""Three rows of a thousand, in every row group and page."""


def noop(frame: DataFrame) -> None:
    """Read everything and keep nothing."""
    frame.write.format("noop").mode("overwrite").save()


def _java(spark: SparkSession, name: str) -> DataFrame:
    return spark.read.format("iceberg").load(f"java.db.{name}")


def native_reads(spark: SparkSession, location: Path, plain: Path) -> dict[str, Contenders]:
    """Return the works on the clean table, each with its contenders."""

    def ours(**scan: str) -> DataFrame:
        return ice.load_table(str(location)).scan(**scan).to_df(spark)

    def parquet() -> DataFrame:
        return spark.read.parquet(str(plain))

    def filtered(text: str) -> Contenders:
        return {
            "java": lambda: noop(_java(spark, name).where(text)),
            "ours": lambda: noop(ours(row_filter=text)),
            "plain": lambda: noop(parquet().where(text)),
        }

    name = location.name
    return {
        "native: full scan": {
            "java": lambda: noop(_java(spark, name)),
            "ours": lambda: noop(ours()),
            "plain": lambda: noop(parquet()),
        },
        "native: one-column sum": {
            "java": lambda: _java(spark, name).selectExpr("sum(b)").collect(),
            "ours": lambda: ours().selectExpr("sum(b)").collect(),
            "plain": lambda: parquet().selectExpr("sum(b)").collect(),
        },
        "native: df.count()": {
            "java": lambda: _java(spark, name).count(),
            "ours": lambda: ours().count(),
        },
        "native: scan.count()": {
            "java": lambda: _java(spark, name).count(),
            "ours": lambda: ice.load_table(str(location)).scan().count(),
        },
        "native: filtered scan (point)": filtered(POINT),
        "native: filtered scan (scattered rows)": filtered(SCATTERED),
    }


def small_file_reads(spark: SparkSession, location: Path, files: int) -> dict[str, Contenders]:
    """Return the works on a table of many small files, partitioned by `p`."""
    few = f"p < {max(1, files // 100)}"

    def ours(**scan: str) -> DataFrame:
        return ice.load_table(str(location)).scan(**scan).to_df(spark)

    def few_files() -> DataFrame:
        return ice.load_table(str(location.with_name(FEW))).scan().to_df(spark)

    return {
        f"native: df.count() of {files:,} files": {
            "java": lambda: _java(spark, MANY).count(),
            "ours": lambda: ours().count(),
        },
        f"native: scan.count() of {files:,} files": {
            "java": lambda: _java(spark, MANY).count(),
            "ours": lambda: ice.load_table(str(location)).scan().count(),
        },
        f"native: frame of {files:,} files": {
            "java": lambda: _partitions(_java(spark, MANY)),
            "ours": lambda: ours().schema,
        },
        f"native: 1% of {files:,} files": {
            "java": lambda: noop(_java(spark, MANY).where(few)),
            "ours": lambda: noop(ours(row_filter=few)),
        },
        f"native: 10 of {files:,} files by a later where": {
            "java": lambda: noop(_java(spark, MANY).where("p < 10")),
            "ours": lambda: noop(ours().where("p < 10")),
        },
        "native: frame of 200 files": {
            "java": lambda: _partitions(_java(spark, FEW)),
            "ours": lambda: few_files().schema,
        },
        "native: frame of 200 files, a later where planned": {
            "java": lambda: _partitions(_java(spark, FEW).where("p = 7")),
            "ours": lambda: _partitions(few_files().where("p = 7")),
        },
    }


def _partitions(frame: DataFrame) -> int:
    """Plan a frame's files."""
    return frame.rdd.getNumPartitions()


def make_small_files(spark: SparkSession, name: str, files: int) -> None:
    """Write a table of so many files of 10 rows, by Java."""
    frame = spark.range(0, files * 10).selectExpr("cast(id % 1000000 as int) v", f"id % {files} p")
    ranged = frame.repartitionByRange(8, "p").sortWithinPartitions("p")
    writer = ranged.writeTo(f"java.db.{name}").using("iceberg").partitionedBy("p")
    # A file open for each partition of a task is more than the memory holds.
    for key, value in (("distribution-mode", "none"), ("spark.fanout.enabled", "false")):
        writer = writer.tableProperty(f"write.{key}", value)
    writer.create()


def measure_native_reads(
    spark: SparkSession, warehouse: Path, count: int, rounds: int
) -> dict[str, dict[str, Measured]]:
    """Measure the native engine on `count` rows in 8 files."""
    rows(spark, count).writeTo("java.db.native").using("iceberg").createOrReplace()
    plain = warehouse / "native-plain"
    rows(spark, count).write.mode("overwrite").parquet(str(plain))
    works = native_reads(spark, warehouse / "db" / "native", plain)
    return {name: by_turns(work, rounds, LONG_WARM_UP) for name, work in works.items()}


def measure_small_files(
    spark: SparkSession, warehouse: Path, files: int, rounds: int
) -> dict[str, dict[str, Measured]]:
    """Measure `files` files of 10 rows."""
    make_small_files(spark, MANY, files)
    make_small_files(spark, FEW, 200)
    works = small_file_reads(spark, warehouse / "db" / MANY, files)
    return {name: by_turns(work, rounds, LONG_WARM_UP) for name, work in works.items()}


def measure_growth(
    spark: SparkSession, warehouse: Path, rounds: int, millions: tuple[int, ...] = (1, 4, 16)
) -> dict[str, dict[str, Measured]]:
    """Measure the full scan of the same table at several sizes."""
    found = {}
    for million in millions:
        name = f"grown_{million}"
        rows(spark, million * 1_000_000).writeTo(f"java.db.{name}").using("iceberg").create()
        works = native_reads(spark, warehouse / "db" / name, warehouse / "unused")
        work = works["native: full scan"]
        pair = {who: work[who] for who in ("java", "ours")}
        found[f"native: full scan of {million} million rows"] = by_turns(pair, rounds, LONG_WARM_UP)
    return found
