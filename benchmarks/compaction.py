"""Compaction against Java's: small files, files with deletes, sorts and z-orders."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
from pyspark.sql import SparkSession

import iceberg_spark as ice
from benchmarks.measure import UNWARMED, Measured, by_turns
from benchmarks.tables import delete_keys, rows

FILES = 200
TARGET_FILES = 4
KEYS_SHARE = 20  # rows of the table for each key of its equality deletes
NAME = "compacted"


def measure_compaction(
    spark: SparkSession, folder: Path, count: int, rounds: int
) -> dict[str, dict[str, Measured]]:
    """Measure bin-packs of 200 files to four, with deletes too, and reading what is left."""
    work = _Work(spark, folder, count)
    measured = {
        "bin-pack": work.take(None, rounds),
        "reading after bin-pack": work.read_after(rounds),
    }
    work.delete_by_position()
    measured["bin-pack, 5% deleted by position"] = work.take(None, rounds)
    work.delete_by_key(count)
    measured["bin-pack, 5% deleted by key"] = work.take(None, rounds)
    return measured


def measure_sorted_compaction(
    spark: SparkSession, folder: Path, count: int, rounds: int
) -> dict[str, dict[str, Measured]]:
    """Measure rewrites of 200 files to four that put rows in order, and reading what they left."""
    work = _Work(spark, folder, count)
    return {
        "sort by two columns": work.take(SORT, rounds),
        "z-order of two columns": work.take(Z_ORDER, rounds),
        "reading after sort": work.read_after(rounds, SORT),
    }


SORT = "city, id"
Z_ORDER = "zorder(k, ts)"


class _Work:
    """A table of small files, and its rewrites: each goes back to the table as it was before."""

    def __init__(self, spark: SparkSession, folder: Path, count: int) -> None:
        self.spark = spark
        self.path = str(folder / "db" / NAME)
        writer = rows(spark, count, FILES).writeTo(f"java.db.{NAME}").using("iceberg")
        writer.tableProperty("write.delete.mode", "merge-on-read").create()
        table = ice.load_table(self.path)
        self.clean = self.first = table.metadata.current_snapshot_id
        size = sum(task.file_size_in_bytes for task in table.scan().plan_files())
        self.options = {"target-file-size-bytes": str(size // TARGET_FILES), "rewrite-all": "true"}

    def delete_by_position(self) -> None:
        """Delete a twentieth of the clean table's rows, as Java does."""
        self._back_to(self.clean)
        self.spark.sql(f"DELETE FROM java.db.{NAME} WHERE id % 20 = 3")
        self.first = ice.load_table(self.path).metadata.current_snapshot_id

    def delete_by_key(self, count: int) -> None:
        """Delete a twentieth of the clean table's rows by their keys."""
        self._back_to(self.clean)
        delete_keys(self.spark, Path(self.path), np.arange(0, count, KEYS_SHARE))
        self.first = ice.load_table(self.path).metadata.current_snapshot_id
        self._back_to(self.first)

    def take(self, order: str | None, rounds: int) -> dict[str, Measured]:
        """Time both by turns."""
        return by_turns(self._rewrites(order), rounds, UNWARMED)

    def read_after(self, rounds: int, order: str | None = None) -> dict[str, Measured]:
        """Time Java's reader over what each compaction leaves: all columns of all rows."""
        left = {who: rewrite() for who, rewrite in self._rewrites(order).items()}

        def read(who: str) -> Callable[[], None]:
            frame = self.spark.read.option("versionAsOf", str(left[who])).table(f"java.db.{NAME}")
            return lambda: frame.write.format("noop").mode("overwrite").save()

        return by_turns({who: read(who) for who in left}, rounds)

    def _rewrites(self, order: str | None) -> Mapping[str, Callable[[], int | None]]:
        return {"java": lambda: self._java(order), "ours": lambda: self._ours(order)}

    def _java(self, order: str | None) -> int | None:
        options = ", ".join(f"'{key}', '{value}'" for key, value in self.options.items())
        how = f", strategy => 'sort', sort_order => '{order}'" if order else ""
        self.spark.sql(
            f"CALL java.system.rewrite_data_files(table => 'db.{NAME}', "
            f"options => map({options}){how})"
        )
        return self._back_to(self.first)

    def _ours(self, order: str | None) -> int | None:
        table = ice.load_table(self.path)
        table.maintenance.rewrite_data_files(
            sort_order=order, options=self.options, spark=self.spark
        )
        return self._back_to(self.first)

    def _back_to(self, first: int | None) -> int | None:
        """Go back to a version, and return which one it was before; both pay for it."""
        table = ice.load_table(self.path)
        left = table.metadata.current_snapshot_id
        if first is None:
            raise RuntimeError("the table is empty")
        if left != first:
            table.manage_snapshots().set_current_snapshot(first).commit()
        self.spark.sql(f"REFRESH TABLE java.db.{NAME}")
        return left
