"""Upserts: writing changes by key against Java's MERGE, and reading a table after many of them."""

from __future__ import annotations

import time
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

import iceberg_spark as ice
from benchmarks.measure import Measured, by_turns
from benchmarks.tables import rows

SHARE = 10  # rows of the table for each row of an upsert
TURNS = 10
_VERBS = ", ".join(f"'write.{verb}.mode'='merge-on-read'" for verb in ("merge", "update", "delete"))
_CREATE = (
    "CREATE TABLE java.db.{name} USING iceberg PARTITIONED BY (months(ts)) "
    f"TBLPROPERTIES ({_VERBS}) AS SELECT * FROM source_rows"
)
_MERGE = (
    "MERGE INTO java.db.merged t USING changes s ON t.id = s.id "
    "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
)


def measure_upserts(
    spark: SparkSession, folder: Path, count: int, rounds: int, facts: dict[str, str]
) -> dict[str, dict[str, Measured]]:
    """Measure one upsert of a tenth of the table, reads after ten smaller ones, and conversion.

    The table is partitioned by months. Half of the keys are in it; for ours one row in fifty
    comes a second time, so that earlier rows are superseded; Java's MERGE gets each key once.
    What the conversion took goes to `facts`.
    """
    rows(spark, count).createOrReplaceTempView("source_rows")
    for name in ("merged", "upserted", "ten"):
        spark.sql(_CREATE.format(name=name))
    wanted = count // SHARE
    changes = str(folder / "changes")
    _changes(spark, count, wanted, first=0).write.parquet(changes)
    spark.read.parquet(changes).createOrReplaceTempView("changes")
    upsert = _upsert_against_merge(spark, folder, changes, rounds)
    ten = folder / "db" / "ten"
    table = ice.load_table(str(ten))
    for turn in range(TURNS):
        some = _changes(spark, count, wanted // TURNS, first=turn)
        table.upsert(some, keys=["id"], global_delete=True)
    read = _reads(spark, ten, rounds)
    started = time.perf_counter()
    done = table.maintenance.convert_equality_deletes(spark=spark)
    seconds = time.perf_counter() - started
    again = _reads(spark, ten, rounds)
    facts[f"conversion of {TURNS} upserts' equality deletes"] = f"{seconds:.2f} s: {done}"
    return {
        f"upsert of {wanted:,} rows": upsert,
        f"full scan after {TURNS} upserts": read,
        f"full scan after {TURNS} upserts, converted": again,
    }


def _changes(spark: SparkSession, count: int, wanted: int, *, first: int) -> DataFrame:
    """Return changed rows, half of them new: keys spread over the table and as far beyond."""
    step = 2 * count // wanted
    every = rows(spark, 2 * count)
    return every.where(f"id % {step} = {first}").selectExpr("* except (note)", "'changed' AS note")


def _upsert_against_merge(
    spark: SparkSession, folder: Path, changes: str, rounds: int
) -> dict[str, Measured]:
    """Each round goes back to the table as it was made first."""
    path = str(folder / "db" / "upserted")
    first = {
        name: ice.load_table(str(folder / "db" / name)).current_snapshot()
        for name in ("merged", "upserted")
    }
    merged, upserted = first["merged"], first["upserted"]
    if merged is None or upserted is None:
        raise RuntimeError("the tables are empty")
    source = spark.read.parquet(changes)
    repeated = source.unionAll(source.where("k % 50 = 7"))  # these rows come a second time

    def java() -> None:
        spark.sql(f"CALL java.system.rollback_to_snapshot('db.merged', {merged.snapshot_id})")
        spark.sql(_MERGE)

    def ours() -> None:
        table = ice.load_table(path)
        table.manage_snapshots().rollback_to_snapshot(upserted.snapshot_id).commit()
        table.upsert(repeated, keys=["id"], global_delete=True)

    return by_turns({"java": java, "ours": ours}, rounds)


def _reads(spark: SparkSession, location: Path, rounds: int) -> dict[str, Measured]:
    """Read the same table by both."""

    def noop(frame: DataFrame) -> None:
        frame.write.format("noop").mode("overwrite").save()

    return by_turns(
        {
            "java": lambda: noop(spark.read.format("iceberg").load(str(location))),
            "ours": lambda: noop(ice.load_table(str(location)).scan().to_df(spark)),
        },
        rounds,
    )
