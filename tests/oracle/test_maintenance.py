"""Maintenance by us and by Java: the same tables before, the same files and statistics after."""

import os
import time
from collections.abc import Mapping
from itertools import chain
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
    # Java counts them by the lengths of the old ones, each of which has a header of its own.
    assert 2 <= ours.added_manifests_count <= javas.added_manifests_count
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


POSITION_CASES: Mapping[str, dict[str, str]] = {
    "defaults": {},
    "all": {"rewrite-all": "true"},
    "fewer": {"min-input-files": "2"},
    "good ones stay": {"min-file-size-bytes": "1", "min-input-files": "2"},
    "large ones": {
        "target-file-size-bytes": "1000",
        "min-file-size-bytes": "1",
        "max-file-size-bytes": "1001",
    },
    "small groups": {"max-file-group-input-files": "2", "rewrite-all": "true"},
    "small groups in bytes": {"max-file-group-size-bytes": "3000", "rewrite-all": "true"},
    "in parts": {
        "partial-progress.enabled": "true",
        "partial-progress.max-commits": "2",
        "rewrite-all": "true",
        "rewrite-job-order": "files-desc",
    },
    "a partition": {"rewrite-all": "true", "where": "k = 'k1'"},
}


def ruined(where: str) -> Table:
    """Two partitions of six files, each file with a delete file of its own."""
    table = ice.create_table(
        where,
        "id bigint, k string",
        partition_by=["k"],
        properties={"write.delete.mode": "merge-on-read"},
    )
    for number in range(6):
        ids = range(number * 1000, number * 1000 + 1000)
        table.append(pa.table({"id": list(ids), "k": [f"k{n % 2}" for n in ids]}))
    table.delete("id % 10 = 1 or id % 1000 = 4")
    return table


def position_deletes_of(table: Table) -> list[tuple[str, int]]:
    found = table.refresh().inspect.delete_files().to_pylist()
    return sorted((str(row["partition"]), row["record_count"]) for row in found)


def test_position_deletes_are_rewritten_as_java_does_by_each_option(java: SparkSession) -> None:
    ours, javas = (ruined(location(java, name)) for name in ("positions_ours", "positions_java"))
    first = {table: table.metadata.current_snapshot_id for table in (ours, javas)}
    expected = ours.scan().to_arrow().sort_by("id").to_pylist()
    assert position_deletes_of(ours) == position_deletes_of(javas)
    for case, given in POSITION_CASES.items():
        options = {key: value for key, value in given.items() if key != "where"}
        where = given.get("where")
        more = f", options => map({str(list(chain(*options.items())))[1:-1]})" if options else ""
        more += f', where => "{where}"' if where else ""
        done = ours.maintenance.rewrite_position_delete_files(options, where)
        java.sql(f"REFRESH TABLE {identifier('positions_java')}")
        (theirs,) = call(java, "rewrite_position_delete_files", "positions_java", more)
        told = (done.rewritten_delete_files_count, done.added_delete_files_count)
        assert told == (theirs[0], theirs[1]), case
        assert position_deletes_of(ours) == position_deletes_of(javas), case
        assert read(java, ours.location()).sort_by("id").to_pylist() == expected, case
        for table, snapshot_id in first.items():
            assert snapshot_id is not None
            table.manage_snapshots().rollback_to_snapshot(snapshot_id).commit()


def kinds_of_deletes(table: Table) -> list[tuple[object, ...]]:
    found = table.refresh().inspect.delete_files().to_pylist()
    return sorted((row["content"], str(row["partition"]), row["record_count"]) for row in found)


def test_needless_deletes_and_unused_metadata_go_as_javas(java: SparkSession) -> None:
    names = ("needless_ours", "needless_java")
    for name in names:
        table = ruined(location(java, name))
        gone = pa.table({"id": [8, 10], "k": ["k0", "k0"], "_op": ["D", "D"]})
        table.upsert(gone, ["id", "k"])
        table.update_schema().add_column("note", "string").commit()
        table.append(pa.table({"id": [9_000], "k": ["k1"], "note": ["n"]}))
        table.update_schema().delete_column("note").commit()
        table.update_spec().add_field("bucket(2, id)").commit()
        table.update_spec().remove_field("id_bucket_2").commit()
    ours, javas = (ice.load_table(location(java, name)) for name in names)
    expected = ours.scan().to_arrow().sort_by("id").to_pylist()
    options = {"rewrite-all": "true", "remove-dangling-deletes": "true"}
    pairs = str(list(chain(*options.items())))[1:-1]
    where = "k = 'k0'"
    done = ours.maintenance.rewrite_data_files(options=options, where=where, spark=java)
    (theirs,) = call(
        java, "rewrite_data_files", names[1], f', options => map({pairs}), where => "{where}"'
    )
    assert done.removed_delete_files_count == theirs["removed_delete_files_count"] > 0
    assert kinds_of_deletes(ours) == kinds_of_deletes(javas)
    ours.maintenance.rewrite_data_files(options=options, spark=java)
    call(java, "rewrite_data_files", names[1], f", options => map({pairs})")
    assert kinds_of_deletes(ours) == kinds_of_deletes(javas) == []
    then = "older_than => TIMESTAMP '2100-01-01 00:00:00', clean_expired_metadata => true"
    ours.maintenance.expire_snapshots(older_than=1 << 42, clean_expired_metadata=True)
    call(java, "expire_snapshots", names[1], f", {then}")
    for table in (ours, javas):
        table.refresh()
        assert read(java, table.location()).sort_by("id").to_pylist() == expected
    assert set(ours.metadata.schemas) == set(javas.metadata.schemas)
    assert set(ours.metadata.partition_specs) == set(javas.metadata.partition_specs)
    assert len(ours.snapshots()) == len(javas.snapshots()) == 1
