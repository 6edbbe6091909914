"""Compaction against Java's: small files, files with deletes, sorts and z-orders."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from pyspark.sql import SparkSession

import iceberg_spark as ice
from benchmarks.measure import Measured, by_turns
from benchmarks.tables import delete_keys, rows

FILES = 200
TARGET_FILES = 4
KEYS_SHARE = 20  # rows of the table for each key of its equality deletes
_CREATE = (
    "CREATE TABLE java.db.{name} USING iceberg "
    "TBLPROPERTIES ('write.delete.mode'='merge-on-read') AS SELECT * FROM small_files"
)


def measure_compaction(
    spark: SparkSession, folder: Path, count: int, rounds: int
) -> dict[str, dict[str, Measured]]:
    """Measure rewrites of 200 files to four: plain, with deletes, sorted, along a curve.

    Each round goes back to the table as it was made first; both have one of their own.
    """
    rows(spark, count, FILES).createOrReplaceTempView("small_files")
    measured = {}
    for kind in ("clean", "position", "equality"):
        work = _Work(spark, folder, kind, count)
        label = {
            "clean": "bin-pack",
            "position": "bin-pack, 5% deleted by position",
            "equality": "bin-pack, 5% deleted by key",
        }[kind]
        measured[label] = work.take(None, rounds)
        if kind == "clean":
            measured["sort by two columns"] = work.take("city, id", rounds)
            measured["z-order of two columns"] = work.take("zorder(k, ts)", rounds)
            measured["reading after bin-pack"] = work.read_after(rounds)
    return measured


class _Work:
    """Two tables with the same files, and their rewrites."""

    def __init__(self, spark: SparkSession, folder: Path, kind: str, count: int) -> None:
        self.spark = spark
        self.names = {who: f"compact_{kind}_{who}" for who in ("java", "ours")}
        self.paths = {who: str(folder / "db" / name) for who, name in self.names.items()}
        for name in self.names.values():
            spark.sql(_CREATE.format(name=name))
            if kind == "position":
                spark.sql(f"DELETE FROM java.db.{name} WHERE id % 20 = 3")
            if kind == "equality":
                delete_keys(spark, folder / "db" / name, np.arange(0, count, KEYS_SHARE))
        first = ice.load_table(self.paths["ours"])
        self.snapshots = {
            who: ice.load_table(path).metadata.current_snapshot_id
            for who, path in self.paths.items()
        }
        size = sum(task.file_size_in_bytes for task in first.scan().plan_files())
        self.options = {"target-file-size-bytes": str(size // TARGET_FILES), "rewrite-all": "true"}

    def take(self, order: str | None, rounds: int) -> dict[str, Measured]:
        """Time both by turns, each from the first version of its table."""
        contenders: dict[str, Callable[[], object]] = {
            "java": lambda: self._java(order),
            "ours": lambda: self._ours(order),
        }
        return by_turns(contenders, rounds)

    def read_after(self, rounds: int) -> dict[str, Measured]:
        """Time Java's reader over what each compaction has left: all columns of all rows."""
        self._java(None, back=False)
        self._ours(None, back=False)

        def read(who: str) -> None:
            name = f"java.db.{self.names[who]}"
            self.spark.sql(f"REFRESH TABLE {name}")
            self.spark.table(name).write.format("noop").mode("overwrite").save()

        return by_turns({"java": lambda: read("java"), "ours": lambda: read("ours")}, rounds)

    def _java(self, order: str | None, *, back: bool = True) -> None:
        options = ", ".join(f"'{key}', '{value}'" for key, value in self.options.items())
        how = f", strategy => 'sort', sort_order => '{order}'" if order else ""
        self.spark.sql(
            f"CALL java.system.rewrite_data_files(table => 'db.{self.names['java']}', "
            f"options => map({options}){how})"
        )
        if back:
            self._back("java")

    def _ours(self, order: str | None, *, back: bool = True) -> None:
        table = ice.load_table(self.paths["ours"])
        table.maintenance.rewrite_data_files(
            sort_order=order, options=self.options, spark=self.spark
        )
        if back:
            self._back("ours")

    def _back(self, who: str) -> None:
        """Go back to the first version; both pay for it."""
        table = ice.load_table(self.paths[who])
        first = self.snapshots[who]
        if first is None:
            raise RuntimeError("the table is empty")
        table.manage_snapshots().rollback_to_snapshot(first).commit()
        self.spark.sql(f"REFRESH TABLE java.db.{self.names[who]}")
