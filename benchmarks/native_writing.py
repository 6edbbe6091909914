"""Appends through Spark's own writer against Java Iceberg: the same rows, the same partitions."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

import iceberg_spark as ice
from benchmarks.measure import Measured, WarmUp, by_turns
from benchmarks.tables import rows

WORKS: dict[str, tuple[str, ...]] = {
    "append, native, unpartitioned": (),
    "append, native, by months": ("months(ts)",),
    "append, native, by days and bucket 16": ("days(ts)", "bucket(16, id)"),
}


def measure_native_writing(
    spark: SparkSession, folder: Path, count: int, rounds: int
) -> dict[str, dict[str, Measured]]:
    """Measure appending `count` rows of a Parquet source to a new table of each partitioning.

    The first work warms up for the others, which take long.
    """
    source = str(folder / "native-source")
    rows(spark, count).write.mode("overwrite").parquet(source)

    def read() -> DataFrame:
        return spark.read.parquet(source)

    return {
        name: by_turns(_contenders(spark, folder, read, spec), rounds, WarmUp(0 if spec else 1))
        for name, spec in WORKS.items()
    }


def _contenders(
    spark: SparkSession, folder: Path, read: Callable[[], DataFrame], spec: tuple[str, ...]
) -> dict[str, Callable[[], object]]:
    names = ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in read().schema)
    partitioned = f"partitioned by ({', '.join(spec)})" if spec else ""
    target = folder / "native-written"

    def java() -> None:
        spark.sql("drop table if exists java.db.native_written purge")
        spark.sql(f"create table java.db.native_written ({names}) using iceberg {partitioned}")
        read().writeTo("java.db.native_written").append()

    def ours() -> None:
        shutil.rmtree(target, ignore_errors=True)
        table = ice.create_table(str(target), read().schema, partition_by=list(spec))
        table.append(read(), engine="native")

    return {"java": java, "ours": ours}
