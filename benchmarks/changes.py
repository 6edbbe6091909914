"""Row-level changes against Java Iceberg: merges and a delete on a table partitioned by months."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from pyspark.sql import SparkSession

import iceberg_spark as ice
from benchmarks.measure import Measured, by_turns
from benchmarks.tables import rows

SHARE = 100  # rows of the table for each source row
_CREATE = (
    "CREATE TABLE java.db.{name} USING iceberg PARTITIONED BY (months(ts)) TBLPROPERTIES ("
    "'format-version'='{version}', 'write.delete.mode'='{mode}', 'write.merge.mode'='{mode}') "
    "AS SELECT * FROM all_rows"
)
_UNPARTITIONED = (
    "CREATE TABLE java.db.{name} USING iceberg TBLPROPERTIES ('format-version'='{version}', "
    "'write.distribution-mode'='none', 'write.merge.mode'='{mode}') AS SELECT * FROM all_rows"
)
_ON = "MERGE INTO java.db.{name} t USING some_changes s ON t.id = s.id "
MERGE_ALL = _ON + "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
MERGE_GENERAL = _ON + (
    "WHEN MATCHED AND s.k % 10 = 1 THEN DELETE WHEN MATCHED THEN UPDATE SET note = s.note "
    "WHEN NOT MATCHED AND s.k % 10 <> 2 THEN INSERT * "
    "WHEN NOT MATCHED BY SOURCE AND t.id < 100 THEN DELETE"
)
DELETED = "id % 20 = 7"


def measure_changes(
    spark: SparkSession, folder: Path, count: int, rounds: int
) -> dict[str, dict[str, Measured]]:
    """Measure merges of a hundredth of the table, half of them matched, and a delete of 5%.

    Each round goes back to the table as it was made first; both have one of their own.
    """
    source = merge_source(spark, folder, count)
    measured = {}
    for mode in ("merge-on-read", "copy-on-write"):
        work = Work(spark, folder, mode, source)
        measured[f"merge update-all/insert-all, {mode}"] = work.take(MERGE_ALL, merge_all, rounds)
        if mode == "merge-on-read":
            measured[f"general merge, {mode}"] = work.take(MERGE_GENERAL, merge_general, rounds)
            delete = f"DELETE FROM java.db.{{name}} WHERE {DELETED}"
            measured[f"delete of 5%, {mode}"] = work.take(delete, delete_some, rounds)
    return measured


def measure_scattered_merges(
    spark: SparkSession, folder: Path, rounds: int
) -> dict[str, dict[str, Measured]]:
    """Measure merges of 100,000 rows into 4 million in 16 files; 80,000 match, in each file."""
    rows(spark, 4_000_000, 16).repartition(16).createOrReplaceTempView("all_rows")
    source = str(folder / "scattered-changes")
    changes = rows(spark, 5_000_000).where("id % 50 = 0")
    changes.selectExpr("* except (note)", "'changed' AS note").write.parquet(source)
    spark.read.parquet(source).createOrReplaceTempView("some_changes")
    measured = {}
    for mode in ("merge-on-read", "copy-on-write"):
        work = Work(spark, folder, mode, source, create=_UNPARTITIONED)
        measured[f"merge of 100,000 scattered rows, {mode}"] = work.take(
            MERGE_ALL, merge_all, rounds
        )
    return measured


def merge_source(spark: SparkSession, folder: Path, count: int) -> str:
    """Make the views `all_rows` and `some_changes`; return where the changes lie as Parquet."""
    rows(spark, count).createOrReplaceTempView("all_rows")
    step = 2 * SHARE
    changes = rows(spark, 2 * count).where(f"id % {step} = 0")
    source = str(folder / "some-changes")
    changes.selectExpr("* except (note)", "'changed' AS note").write.parquet(source)
    spark.read.parquet(source).createOrReplaceTempView("some_changes")
    return source


class Work:
    """Two tables of one mode and format version, and the source of the merges."""

    def __init__(
        self,
        spark: SparkSession,
        folder: Path,
        mode: str,
        source: str,
        version: int = 2,
        create: str = _CREATE,
    ) -> None:
        self.spark, self.source = spark, source
        short = f"{mode.replace('-', '_')}_{version}" + ("" if create == _CREATE else "_scattered")
        self.names = {"java": f"{short}_java", "ours": f"{short}_ours"}
        self.paths = {who: str(folder / "db" / name) for who, name in self.names.items()}
        for name in self.names.values():
            spark.sql(create.format(name=name, mode=mode, version=version))

    def take(
        self, sql: str, ours: Callable[[ice.Table, SparkSession, str], object], rounds: int
    ) -> dict[str, Measured]:
        """Measure one change by both."""
        spark, found = self.spark, {}
        for who, path in self.paths.items():
            head = ice.load_table(path).current_snapshot()
            if head is None:
                raise RuntimeError(f"the table of {who} is empty")
            found[who] = head.snapshot_id

        def java() -> None:
            name, first = self.names["java"], found["java"]
            spark.sql(f"CALL java.system.rollback_to_snapshot('db.{name}', {first})")
            spark.sql(sql.format(name=name))

        def mine() -> None:
            table = ice.load_table(self.paths["ours"])
            table.manage_snapshots().rollback_to_snapshot(found["ours"]).commit()
            ours(table, spark, self.source)

        taken = by_turns({"java": java, "ours": mine}, rounds)
        table = ice.load_table(self.paths["ours"])
        table.manage_snapshots().rollback_to_snapshot(found["ours"]).commit()
        first = found["java"]
        spark.sql(f"CALL java.system.rollback_to_snapshot('db.{self.names['java']}', {first})")
        return taken


def merge_all(table: ice.Table, spark: SparkSession, source: str) -> object:
    """Merge by all columns."""
    merge = table.merge(spark.read.parquet(source), "t.id = s.id")
    return merge.when_matched_update_all().when_not_matched_insert_all().execute()


def merge_general(table: ice.Table, spark: SparkSession, source: str) -> object:
    """Merge by clauses of all kinds."""
    return (
        table.merge(spark.read.parquet(source), "t.id = s.id")
        .when_matched_delete("s.k % 10 = 1")
        .when_matched_update({"note": "s.note"})
        .when_not_matched_insert_all("s.k % 10 <> 2")
        .when_not_matched_by_source_delete("t.id < 100")
        .execute()
    )


def delete_some(table: ice.Table, spark: SparkSession, source: str) -> object:  # noqa: ARG001
    """Delete a twentieth of the rows."""
    return table.delete(DELETED)
