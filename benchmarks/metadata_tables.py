"""Metadata tables of a table with very many files, ours against Java's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from pyspark.sql import SparkSession

import iceberg_spark as ice
from benchmarks.measure import Measured, by_turns
from iceberg_spark.manifest.reader import MANIFEST_CACHE

TABLES = ("files", "partitions")


def measure_metadata_tables(
    spark: SparkSession, location: Path, rounds: int
) -> dict[str, dict[str, Measured]]:
    """Read every column of `files` and `partitions`, manifests decoded anew each round.

    Java writes its rows to Spark's noop sink, which takes nothing out of the JVM; ours are an
    Arrow table (`t.inspect`).
    """
    return {
        f"metadata table {name}": by_turns(_contenders(spark, location, name), rounds)
        for name in TABLES
    }


def _contenders(spark: SparkSession, location: Path, name: str) -> dict[str, Callable[[], object]]:
    def java() -> None:
        frame = spark.read.format("iceberg").load(f"{location}#{name}")
        frame.write.format("noop").mode("overwrite").save()

    def ours() -> None:
        MANIFEST_CACHE.clear()
        getattr(ice.load_table(str(location)).inspect, name)()

    return {"java": java, "ours": ours}
