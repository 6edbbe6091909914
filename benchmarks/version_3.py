"""Tables of format version 3 against Java Iceberg: vectors, lineage, and what lineage costs."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import TypeAlias

import numpy as np
from pyspark.sql import DataFrame, SparkSession

import iceberg_spark as ice
from benchmarks.changes import (
    MERGE_ALL,
    MERGE_GENERAL,
    Work,
    delete_some,
    merge_all,
    merge_general,
    merge_source,
)
from benchmarks.fabricate import Shape, fabricate
from benchmarks.measure import LONG_WARM_UP, Measured, by_turns
from benchmarks.planning import measure_planning
from benchmarks.tables import rows
from iceberg_spark.arrow.position_set import PositionSet
from iceberg_spark.formats.roaring.decode import from_roaring
from iceberg_spark.formats.roaring.encode import to_roaring

Works: TypeAlias = dict[str, dict[str, Measured]]
Contenders: TypeAlias = dict[str, Callable[[], object]]
_FIRST, _SECOND = "id % 20 = 3", "id % 20 = 7"
_PROPERTIES = "'format-version'='3', 'write.delete.mode'='merge-on-read'"


def _scanned(frame: DataFrame) -> None:
    frame.write.format("noop").mode("overwrite").save()


def measure_vectors(spark: SparkSession, folder: Path, count: int, rounds: int) -> Works:
    """Read a table of which vectors delete a twentieth of the rows; and the ids of its rows."""
    rows(spark, count).createOrReplaceTempView("every_row")
    spark.sql(
        f"CREATE TABLE java.db.v3 USING iceberg TBLPROPERTIES ({_PROPERTIES}) "
        "AS SELECT * FROM every_row"
    )
    spark.sql(f"DELETE FROM java.db.v3 WHERE {_FIRST}")
    location = str(folder / "db" / "v3")

    def java() -> DataFrame:
        return spark.read.format("iceberg").load("java.db.v3")

    def scan(*lineage: str) -> ice.TableScan:
        return ice.load_table(location).scan(engine="native", metadata_columns=lineage)

    def ids(frame: DataFrame) -> object:
        return frame.selectExpr("sum(_row_id)").collect()

    def both(frame: DataFrame) -> None:
        _scanned(frame.select("*", "_row_id", "_last_updated_sequence_number"))

    lineage = ("_row_id", "_last_updated_sequence_number")
    works: dict[str, Contenders] = {
        "full scan": {
            "java": lambda: _scanned(java()),
            "ours": lambda: _scanned(scan().to_df(spark)),
        },
        "one-column sum": {
            "java": lambda: java().selectExpr("sum(b)").collect(),
            "ours": lambda: scan().to_df(spark).selectExpr("sum(b)").collect(),
        },
        "scan.count()": {"java": lambda: java().count(), "ours": lambda: scan().count()},
        "sum of _row_id": {
            "java": lambda: ids(java()),
            "ours": lambda: ids(scan("_row_id").to_df(spark)),
        },
        "full scan with both columns of lineage": {
            "java": lambda: both(java()),
            "ours": lambda: both(scan(*lineage).to_df(spark)),
        },
    }
    return {
        f"vectors (5%): {work}": by_turns(who, rounds, LONG_WARM_UP) for work, who in works.items()
    }


def measure_vector_changes(spark: SparkSession, folder: Path, count: int, rounds: int) -> Works:
    """Delete, delete again in the same files, and merge, all merge-on-read."""
    source = merge_source(spark, folder, count)
    work = Work(spark, folder, "merge-on-read", source, 3)
    delete = f"DELETE FROM java.db.{{name}} WHERE {_SECOND}"
    found = {
        "version 3: delete of 5%": work.take(delete, delete_some, rounds),
        "version 3: merge update-all/insert-all": work.take(MERGE_ALL, merge_all, rounds),
        "version 3: general merge": work.take(MERGE_GENERAL, merge_general, rounds),
    }
    for who, name in work.names.items():
        if who == "java":
            spark.sql(f"DELETE FROM java.db.{name} WHERE {_FIRST}")
        else:
            ice.load_table(work.paths[who]).delete(_FIRST)
    found["version 3: second delete of 5%, vectors replaced"] = work.take(
        delete, delete_some, rounds
    )
    return found


def measure_lineage_cost(spark: SparkSession, folder: Path, count: int, rounds: int) -> Works:
    """Rewrite the files of a table of version 2 and of one of version 3, both by this library."""
    frame = rows(spark, count)
    tables = {}
    for version in ("2", "3"):
        made = ice.create_table(
            str(folder / f"lineage{version}"),
            frame.schema,
            properties={"format-version": version},
        )
        made.append(frame)
        head = made.refresh().current_snapshot()
        if head is None:
            raise RuntimeError("the table is empty")
        tables[f"version {version}"] = made.location(), head.snapshot_id

    def over(location: str, first: int, change: Callable[[ice.Table], object]) -> object:
        table = ice.load_table(location)
        table.manage_snapshots().rollback_to_snapshot(first).commit()
        return change(table.refresh())

    changes: dict[str, Callable[[ice.Table], object]] = {
        "copy-on-write delete": lambda table: table.delete(_SECOND),
        "copy-on-write update": lambda table: table.update({"a": "a + 1"}, where=_SECOND),
        "compaction": lambda table: table.maintenance.rewrite_data_files(
            options={"rewrite-all": "true"}, spark=spark
        ),
    }
    return {
        f"cost of lineage: {name}": by_turns(
            {
                who: lambda place=place, first=first, change=change: over(place, first, change)
                for who, (place, first) in tables.items()
            },
            rounds,
        )
        for name, change in changes.items()
    }


def measure_vector_plans(spark: SparkSession, folder: Path, files: int, rounds: int) -> Works:
    """Plan as many data files as deletion vectors."""
    location = folder / "vectors"
    fabricate(location, Shape(files, deletion_vectors=True))
    return {f"plan of {files:,} deletion vectors": measure_planning(spark, location, rounds)}


def vector_facts() -> dict[str, str]:
    """Return the milliseconds of CPU that vectors of a million rows take to words and to bytes."""
    drawn = np.random.default_rng(1)
    facts = {}
    for span in (10_000_000, 100_000_000, 1_000_000_000):
        positions = np.unique(drawn.integers(0, span, 1_000_000))
        taken = PositionSet.from_positions(positions)
        data = to_roaring(taken)
        read = _milliseconds(lambda data=data: from_roaring(data))
        written = _milliseconds(lambda taken=taken: to_roaring(taken))
        facts[f"a vector of 1,000,000 random rows of {span:,}"] = (
            f"{read:.1f} ms of CPU to words (5 to reach), {written:.1f} ms to bytes (50 to reach)"
        )
    return facts


def _milliseconds(work: Callable[[], object]) -> float:
    taken = []
    for _ in range(9):
        start = time.process_time()
        work()
        taken.append(time.process_time() - start)
    return median(taken) * 1000
