"""Changes of metadata on tables with a long history: commits and expiry, against Java."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

import iceberg_spark as ice
from benchmarks.care import anew
from benchmarks.fabricate import (
    NOW_MS,
    SCHEMA,
    SNAPSHOT,
    SPEC,
    Shape,
    committed,
    data_entries,
    write_metadata,
)
from benchmarks.measure import Measured, by_turns
from iceberg_spark.io.fsspec_io import FsspecIO
from iceberg_spark.manifest.manifest_list import write_manifest_list
from iceberg_spark.manifest.writer import write_manifest
from iceberg_spark.spec.data_file import ManifestEntryStatus
from iceberg_spark.spec.manifest_file import ManifestContent, ManifestFile
from iceberg_spark.spec.snapshot import Snapshot

GROWTH = (10, 500, 2_000)


def fabricate_history(
    location: str | Path, snapshots: int, files: int, manifests: int, *, replaces: bool = False
) -> str:
    """Write the metadata of a table with a long history; no data file is written.

    With `replaces` each snapshot adds the files of one manifest and removes those of the manifest
    that came `manifests` before, as an overwrite does; else the first snapshots add manifests,
    which stay.
    """
    root = str(location).rstrip("/")
    io = FsspecIO({})
    Path(root, "metadata").mkdir(parents=True, exist_ok=True)
    share = max(1, files // snapshots)
    shape = Shape(files)
    listed: list[ManifestFile] = []  # with live files, newest first
    made: list[Snapshot] = []
    for number in range(snapshots):
        snapshot_id = SNAPSHOT + number
        snapshot = Snapshot(
            snapshot_id=snapshot_id,
            timestamp_ms=NOW_MS + number,
            manifest_list=f"{root}/metadata/snap-{snapshot_id}-1-0.avro",
            parent_snapshot_id=snapshot_id - 1 if made else None,
            sequence_number=number + 1,
            summary={"operation": "overwrite" if replaces else "append"},
            schema_id=0,
        )
        place = str(snapshot.manifest_list)
        if not replaces and number >= manifests:  # the same manifests as before
            shutil.copy(str(made[-1].manifest_list), place)
        else:
            numbers = np.arange(number * share, (number + 1) * share)
            added = committed(snapshot, [_manifest(io, root, snapshot, numbers, shape)])
            listed = [*added, *listed]
            gone = []
            if len(listed) > manifests:
                listed.pop()
                old = _removed(made[-manifests], numbers - manifests * share, root, shape)
                gone = committed(snapshot, [_manifest(io, root, snapshot, old, shape, "gone")])
            write_manifest_list(io, place, snapshot, [*listed, *gone], format_version=2)
        made.append(snapshot)
    return write_metadata(root, made)


def _manifest(
    io: FsspecIO, root: str, snapshot: Snapshot, entries: Any, shape: Shape, name: str = "m0"
) -> ManifestFile:
    """Write a manifest of a snapshot: added files by number, or a table of entries."""
    table = entries if isinstance(entries, pa.Table) else data_entries(root, entries, shape)
    return write_manifest(
        io, f"{root}/metadata/{snapshot.snapshot_id}-{name}.avro", format_version=2, spec=SPEC,
        schema=SCHEMA, content=ManifestContent.DATA, snapshot_id=snapshot.snapshot_id,
        entries=table, codec="gzip",
    )  # fmt: skip


def _removed(added_by: Snapshot, numbers: Any, root: str, shape: Shape) -> pa.Table:
    """Return the deleted entries of files that an earlier snapshot added."""
    entries = data_entries(root, numbers, shape)
    for name, kind, value in (
        ("status", pa.int32(), int(ManifestEntryStatus.DELETED)),
        ("data_sequence_number", pa.int64(), added_by.sequence_number),
        ("file_sequence_number", pa.int64(), added_by.sequence_number),
    ):
        column = pa.repeat(pa.scalar(value, kind), len(numbers))
        if name in entries.column_names:
            entries = entries.set_column(entries.column_names.index(name), name, column)
        else:
            entries = entries.append_column(name, column)
    return entries


def measure_metadata_commits(
    spark: SparkSession, folder: Path, rounds: int
) -> dict[str, dict[str, Measured]]:
    """Set a property and move a tag on tables with few and many snapshots, 500 manifests each."""
    found: dict[str, dict[str, Measured]] = {}
    for snapshots in GROWTH:
        contenders = {}
        for name in ("java", "ours"):
            location = folder / f"{name}-{snapshots}"
            fabricate_history(location, snapshots, 5_000, min(500, snapshots))
            contenders[name] = _commits(spark, str(location), java=name == "java")
        found[f"metadata commit, {snapshots:,} snapshots"] = by_turns(contenders, rounds)
    return found


def _commits(spark: SparkSession, location: str, *, java: bool) -> Any:
    jvm: Any = spark._jvm
    configuration = spark._jsparkSession.sessionState().newHadoopConf()

    def by_java() -> None:
        table = jvm.org.apache.iceberg.hadoop.HadoopTables(configuration).load(location)
        table.updateProperties().set("touched", str(time.monotonic_ns())).commit()
        table.manageSnapshots().createTag(f"t{time.monotonic_ns()}", SNAPSHOT).commit()

    def by_us() -> None:
        table = ice.load_table(location)
        table.update_properties().set({"touched": str(time.monotonic_ns())}).commit()
        table.manage_snapshots().create_tag(SNAPSHOT, f"t{time.monotonic_ns()}").commit()

    return by_java if java else by_us


def measure_large_metadata(
    spark: SparkSession, folder: Path, rounds: int
) -> dict[str, dict[str, Measured]]:
    """Append to and plan tables of 10,000 snapshots, 2,000 columns, and 500 partitions.

    Each contender has a table of its own, which is loaded again in each round.
    """
    numbers = [f"cast({number} as int) AS c{number}" for number in range(1_999)]
    frames = {
        "2,000 columns": spark.range(1).selectExpr("id", *numbers),
        "500 partitions": spark.range(0, 500, 1, 2).selectExpr("id", "cast(id as int) AS p"),
        "10,000 snapshots": spark.range(1).selectExpr(
            "id", "current_timestamp() AS ts", "'a' AS name", "1.0D AS amount", "1 AS quantity",
            *(f"id AS n{number}" for number in range(6, 11)),
        ),
    }  # fmt: skip
    works: dict[str, dict[str, Measured]] = {}
    for shape, frame in frames.items():
        name = f"of_{shape.replace(',', '').replace(' ', '_')}"
        for who in ("java", "ours"):
            if shape == "10,000 snapshots":
                fabricate_history(folder / "db" / f"{name}_{who}", 10_000, 10_000, 100)
            else:
                writer = frame.limit(0).writeTo(f"java.db.{name}_{who}").using("iceberg")
                # Java opens a file for each partition of a task otherwise, and runs out of memory.
                writer = writer.tableProperty("write.spark.fanout.enabled", "false")
                (writer.partitionedBy("p") if "p" in frame.columns else writer).create()
        appends, plans = _large(spark, folder, name, frame)
        works[f"append to a table of {shape}"] = by_turns(appends, rounds)
        works[f"load and plan a table of {shape}"] = by_turns(plans, rounds)
    return works


def _large(
    spark: SparkSession, folder: Path, name: str, frame: DataFrame
) -> tuple[dict[str, Callable[[], object]], dict[str, Callable[[], object]]]:
    """Return an append and a plan of both contenders."""
    by_java, ours = f"java.db.{name}_java", str(folder / "db" / f"{name}_ours")

    def planned_by_java() -> int:
        spark.sql(f"REFRESH TABLE {by_java}")
        return spark.table(by_java).where("id = 7").rdd.getNumPartitions()

    return (
        {
            "java": lambda: frame.writeTo(by_java).append(),
            "ours": lambda: ice.load_table(ours).append(frame),
        },
        {
            "java": planned_by_java,
            "ours": lambda: len(ice.load_table(ours).scan("id = 7").plan_files()),
        },
    )


def measure_expiry(
    spark: SparkSession, folder: Path, rounds: int, snapshots: int, files: int
) -> dict[str, Measured]:
    """Expire the older half of the snapshots, whose files the newer ones have replaced."""
    jvm: Any = spark._jvm
    configuration = spark._jsparkSession.sessionState().newHadoopConf()
    middle = NOW_MS + snapshots // 2
    location, pristine = folder / "expire", folder / "expire-pristine"
    fabricate_history(location, snapshots, files, 20, replaces=True)
    shutil.copytree(location, pristine)

    def java() -> None:
        table = jvm.org.apache.iceberg.hadoop.HadoopTables(configuration).load(str(location))
        table.expireSnapshots().expireOlderThan(middle).commit()

    def ours() -> None:
        ice.load_table(str(location)).maintenance.expire_snapshots(middle)

    return by_turns({"java": java, "ours": ours}, rounds, before=lambda: anew(location, pristine))
