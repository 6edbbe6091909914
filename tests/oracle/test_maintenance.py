"""Maintenance by us and by Java: the same tables before, the same files and statistics after."""

import os
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

import iceberg_spark as ice
from iceberg_spark import Table
from iceberg_spark.formats.puffin.read_puffin import read_blob, read_footer
from iceberg_spark.inspect.partition_statistics import partition_statistics
from tests.oracle import rows
from tests.oracle.java_api import delete_equal, identifier, location, read
from tests.oracle.java_tables import append, create

WEEK_S = 7 * 24 * 3600


def call(java: SparkSession, procedure: str, name: str, more: str = "") -> list[Any]:
    return java.sql(f"CALL j.system.{procedure}(table => 'db.{name}'{more})").collect()


def sketches(table: Table) -> dict[tuple[int, ...], tuple[str, bytes]]:
    """The estimate and the plain bytes of each column's sketch, as the newest metadata has it."""
    (file,) = ice.load_table(table.location()).metadata.statistics
    footer = read_footer(table.io, file["statistics-path"])
    return {
        one.fields: (one.properties["ndv"], read_blob(table.io, footer.path, one))
        for one in footer.blobs
    }


def test_sketches_are_javas_byte_for_byte(java: SparkSession) -> None:
    create(java, "sketched", rows.DDL, "", format__version="2")
    append(java, "sketched", 0, 40)
    append(java, "sketched", 20, 60)
    java.sql(f"DELETE FROM {identifier('sketched')} WHERE id % 7 = 0")
    call(java, "compute_table_stats", "sketched")
    table = ice.load_table(location(java, "sketched"))
    javas = sketches(table)
    table.maintenance.compute_table_stats()
    assert sketches(table) == javas
    assert len(javas) > 10


def partition_rows(table: Table, path: str) -> list[dict[str, Any]]:
    """The rows of a partition statistics file, those of emptied partitions left out."""
    read_ = pq.read_table(pa.BufferReader(table.io.read_bytes(path))).to_pylist()
    return [row for row in read_ if row["data_file_count"]]


def test_partition_statistics_are_added_to_by_turns(java: SparkSession) -> None:
    name = "counted"
    create(
        java, name, rows.DDL, "bucket(4, id), flag, truncate(2, s), days(ts)", format__version="2"
    )
    where = location(java, name)
    for turn in range(4):
        append(java, name, 10 * turn, 10 * turn + 12)
        if turn == 1:
            delete_equal(java, name, "SELECT 7L AS id, 'a' AS s", ["id"])
        if turn == 2:
            java.sql(f"DELETE FROM {identifier(name)} WHERE flag")
        if turn % 2:
            ice.load_table(where).maintenance.compute_partition_stats()
        else:
            call(java, "compute_partition_stats", name)
        table = ice.load_table(where)
        head = table.metadata.current_snapshot
        assert head is not None
        newest = next(
            one["statistics-path"]
            for one in table.metadata.partition_statistics
            if one["snapshot-id"] == head.snapshot_id
        )
        whole = partition_statistics(table.metadata, table.io, head, None)
        expected = [row for row in whole.to_pylist() if row["data_file_count"]]
        assert partition_rows(table, newest) == expected


def told(java: SparkSession, name: str) -> list[tuple[Any, ...]]:
    """What the manifests say of each file, but for where it is."""
    found = read(java, f"{location(java, name)}#entries").to_pylist()
    return sorted(
        (
            row["status"],
            row["sequence_number"],
            row["file_sequence_number"],
            row["data_file"]["content"],
            row["data_file"]["record_count"],
            str(row["data_file"]["partition"]),
        )
        for row in found
    )


def shape(java: SparkSession, name: str) -> list[tuple[Any, ...]]:
    found = read(java, f"{location(java, name)}#manifests").to_pylist()
    return sorted(
        (
            row["content"],
            row["partition_spec_id"],
            row["existing_data_files_count"],
            row["existing_delete_files_count"],
            row["added_data_files_count"],
        )
        for row in found
    )


def test_manifests_are_rewritten_as_java_does(java: SparkSession) -> None:
    names = ["manifests_ours", "manifests_java"]
    for name in names:
        create(
            java,
            name,
            rows.DDL,
            "bucket(4, id), flag",
            format__version="2",
            commit_manifest__merge_enabled="false",
        )
        for turn in range(4):
            append(java, name, 10 * turn, 10 * turn + 12)
        delete_equal(java, name, "SELECT 7L AS id, 'a' AS s", ["id"])
        delete_equal(java, name, "SELECT 8L AS id, 'a' AS s", ["id"])
        java.sql(
            f"ALTER TABLE {identifier(name)} SET TBLPROPERTIES "
            "('commit.manifest.target-size-bytes'='20000')"
        )
    ours = ice.load_table(location(java, names[0])).maintenance.rewrite_manifests()
    (javas,) = call(java, "rewrite_manifests", names[1])
    assert ours.rewritten_manifests_count == javas.rewritten_manifests_count
    assert told(java, names[0]) == told(java, names[1])
    assert abs(ours.added_manifests_count - javas.added_manifests_count) <= 1
    count = "SELECT count(*), sum(id) FROM "
    assert (
        java.sql(count + identifier(names[0])).collect()
        == java.sql(count + identifier(names[1])).collect()
    )


def test_the_orphans_of_a_table_are_those_that_java_finds(java: SparkSession) -> None:
    name = "strays"
    create(java, name, rows.DDL, "flag", format__version="2")
    append(java, name, 0, 10)
    where = Path(location(java, name).removeprefix("file:"))
    for stray in (
        "data/flag=true/x.parquet",
        "metadata/x-m0.avro",
        "a b/c%20d.orc",
        "_tmp/y",
        ".hidden",
        "data/_SUCCESS",
    ):
        (where / stray).parent.mkdir(exist_ok=True)
        (where / stray).write_bytes(b"x")
    then = time.time() - WEEK_S
    for path in where.rglob("*"):
        os.utime(path, (then, then))
    javas = call(java, "remove_orphan_files", name, ", dry_run => true")
    ours = ice.load_table(str(where)).maintenance.remove_orphan_files(dry_run=True)
    plain = {row.orphan_file_location.removeprefix("file:") for row in javas}
    assert {one.removeprefix("file:") for one in ours.orphan_file_locations} == plain
    assert len(plain) == 3


def test_java_reads_a_table_after_all_our_care_and_its_copy_elsewhere(java: SparkSession) -> None:
    name, copy = "cared", "cared_copy"
    create(java, name, rows.DDL, "bucket(4, id), flag", format__version="2")
    for turn in range(3):
        append(java, name, 10 * turn, 10 * turn + 12)
        java.sql(f"DELETE FROM {identifier(name)} WHERE id % 9 = {turn}")
    delete_equal(java, name, "SELECT 7L AS id, 'a' AS s", ["id"])
    where = location(java, name)
    expected = read(java, where).sort_by("id").to_pylist()
    care = ice.load_table(where).maintenance
    care.rewrite_position_delete_files({"rewrite-all": True})
    care.convert_equality_deletes()
    care.remove_dangling_deletes()
    care.rewrite_manifests()
    care.expire_snapshots(older_than=1 << 60, clean_expired_metadata=True)
    care.compute_table_stats()
    care.compute_partition_stats()
    java.sql(f"REFRESH TABLE {identifier(name)}")
    assert str(read(java, where).sort_by("id").to_pylist()) == str(expected)

    target = location(java, copy)
    result = care.rewrite_table_path(where, target)
    io = ice.load_table(where).io
    for line in io.read_bytes(result.file_list_location).decode().splitlines():
        source, _, to = line.partition(",")
        io.replace(to, io.read_bytes(source))
    Path(where).rename(f"{where}-away")
    try:
        assert str(read(java, target).sort_by("id").to_pylist()) == str(expected)
    finally:
        Path(f"{where}-away").rename(where)
