"""A table's metadata rewritten for another place (Java: RewriteTablePathSparkAction)."""

import os
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import iceberg_spark as ice
from iceberg_spark import Table
from iceberg_spark.errors import InvalidInputError, StorageError, ValidationException
from iceberg_spark.maintenance import table_path
from iceberg_spark.maintenance.moved_paths import Move
from iceberg_spark.maintenance.table_path import RewrittenPaths
from tests.unit.api.tables import files_below, ids, make, rows

MERGE_ON_READ = {"write.delete.mode": "merge-on-read"}


def lived_in(folder: Path, **properties: str) -> Table:
    """A table with all kinds of files: deletes of both kinds, statistics, a branch, a tag."""
    table = make(folder, partition_by=["k"], **(MERGE_ON_READ | properties))
    table.append(rows(id=[1, 2, 3, 4], k=["a", "a", "b", "b"]))
    table.delete("id = 1")
    if table.metadata.format_version == 2:
        table.upsert(rows(id=[3], k=["b"]), ["id", "k"])
    table.manage_snapshots().create_branch(None, "audit").create_tag(None, "done").commit()
    table.maintenance.compute_table_stats()
    table.maintenance.compute_partition_stats()
    table.append(rows(id=[9], k=["c"]))
    return table


def copied(table: Table, result: RewrittenPaths) -> None:
    """Copy what the list says."""
    listed = table.io.read_bytes(result.file_list_location).decode().splitlines()
    for line in listed:
        source, _, target = line.partition(",")
        table.io.replace(target, table.io.read_bytes(source))


def rows_of(table: Table) -> list[tuple[list[int], list[int]]]:
    """What each snapshot and the branch hold."""
    return [
        (ids(table, snapshot_id=one.snapshot_id), ids(table, branch="audit"))
        for one in table.snapshots()
    ]


@pytest.mark.parametrize(
    "properties",
    [
        {},
        {"format-version": "3"},
        {"write.delete.granularity": "partition"},
        {"write.format.default": "orc"},
        {"write.format.default": "avro"},
        {"write.metadata.compression-codec": "gzip"},
    ],
)
def test_a_copy_by_the_list_is_the_same_table_elsewhere(
    tmp_path: Path, properties: dict[str, str]
) -> None:
    source, target = tmp_path / "source", tmp_path / "a much longer target"
    table = lived_in(source, **properties)
    before = files_below(source)
    result = table.maintenance.rewrite_table_path(str(source), str(target))
    staged = files_below(source) - before
    assert all("copy-table-staging-" in one for one in staged)
    copied(table, result)
    expected = rows_of(table)
    source.rename(tmp_path / "gone")  # nothing of the copy may lead back
    moved = ice.load_table(str(target))
    assert moved.metadata_location == f"{target}/metadata/{result.latest_version}"
    assert moved.location() == str(target)
    assert rows_of(moved) == expected
    assert moved.metadata.statistics and moved.metadata.partition_statistics
    for one in (*moved.metadata.statistics, *moved.metadata.partition_statistics):
        assert moved.io.size(one["statistics-path"]) == one["file-size-in-bytes"]
    moved.delete("id = 2")
    assert ids(moved) == [each for each in expected[-1][0] if each != 2]


def test_the_counts_and_the_staging_folder_are_told(tmp_path: Path) -> None:
    table = lived_in(tmp_path / "s")
    staging = tmp_path / "staging"
    result = table.maintenance.rewrite_table_path(
        str(tmp_path / "s"), "s3://bucket/t", staging_location=str(staging)
    )
    assert result.staging_location == f"{staging}/"
    assert result.rewritten_delete_file_paths_count == 1
    assert result.rewritten_manifest_file_paths_count == len(
        [one for one in files_below(staging) if one.endswith(".avro") and "snap-" not in one]
    )
    listed = table.io.read_bytes(result.file_list_location).decode().splitlines()
    assert listed and len(listed) == len(set(listed))
    assert all(line.partition(",")[2].startswith("s3://bucket/t/") for line in listed)


def test_only_what_came_after_the_start_is_copied(tmp_path: Path) -> None:
    source, target = tmp_path / "s", tmp_path / "t"
    table = lived_in(source)
    first = table.maintenance.rewrite_table_path(str(source), str(target))
    copied(table, first)
    for number in (20, 21):
        table.append(rows(id=[number], k=["a"]))
    middle = Path(table.metadata_location).name
    table.append(rows(id=[22], k=["a"]))
    there = files_below(target)
    step = table.maintenance.rewrite_table_path(
        str(source), str(target), start_version=first.latest_version, end_version=middle
    )
    assert step.latest_version == middle
    copied(table, step)
    new = files_below(target) - there
    assert len([one for one in new if one.endswith(".parquet")]) == 2
    assert len([one for one in new if one.endswith(".json")]) == 2
    assert ids(ice.load_table(str(target))) == [2, 3, 4, 9, 20, 21]


def test_no_list_is_made_unless_it_is_asked_for(tmp_path: Path) -> None:
    table = lived_in(tmp_path / "s")
    result = table.maintenance.rewrite_table_path(str(tmp_path / "s"), "/t", create_file_list=False)
    assert result.file_list_location == "N/A"


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"source_prefix": ""}, InvalidInputError),
        ({"target_prefix": "SAME"}, InvalidInputError),
        ({"source_prefix": "/elsewhere"}, ValidationException),
        ({"end_version": "v99.metadata.json"}, InvalidInputError),
        ({"start_version": "nope"}, InvalidInputError),
    ],
)
def test_wrong_arguments_are_refused_and_nothing_is_staged(
    tmp_path: Path, given: dict[str, Any], error: type[Exception]
) -> None:
    table = lived_in(tmp_path)
    before = files_below(tmp_path)
    asked = {"source_prefix": str(tmp_path), "target_prefix": "/t", **given}
    if asked["target_prefix"] == "SAME":
        asked["target_prefix"] = str(tmp_path)
    with pytest.raises(error):
        table.maintenance.rewrite_table_path(**asked)
    assert files_below(tmp_path) == before


def test_what_was_staged_goes_when_it_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = lived_in(tmp_path)
    before = files_below(tmp_path)

    def broken(*_: Any, **__: Any) -> None:
        raise StorageError("no")

    monkeypatch.setattr(table_path, "write_manifest_list", broken)
    with pytest.raises(StorageError):
        table.maintenance.rewrite_table_path(str(tmp_path), "/t")
    assert files_below(tmp_path) == before


def test_what_was_staged_long_ago_is_an_orphan(tmp_path: Path) -> None:
    """Its metadata names another place, but no table lies there (Java takes it too)."""
    where = tmp_path / "t"
    table = lived_in(where)
    before = files_below(where)
    table.maintenance.rewrite_table_path(str(where), str(tmp_path / "copy"))
    staged = files_below(where) - before
    assert any(name.endswith(".metadata.json") for name in staged)
    assert table.maintenance.remove_orphan_files().orphan_files_count == 0
    for path in where.rglob("*"):
        os.utime(path, (0, 0))
    table.maintenance.remove_orphan_files()
    assert files_below(where) == before


def test_files_of_snapshots_that_are_expired_and_forgotten_are_copied(tmp_path: Path) -> None:
    """Java's list lacks them (apache/iceberg#14458): `snapshotIds.contains` of the entry's."""
    source, target = tmp_path / "s", tmp_path / "t"
    table = make(source, **{"write.metadata.previous-versions-max": "1"})
    table.append(rows(id=[1]))
    table.append(rows(id=[2]))
    table.maintenance.expire_snapshots(older_than=int(time.time() * 1000) + 1000)
    table.append(rows(id=[3]))
    table.append(rows(id=[4]))
    copied(table, table.maintenance.rewrite_table_path(str(source), str(target)))
    source.rename(tmp_path / "gone")
    assert ids(ice.load_table(str(target))) == [1, 2, 3, 4]


def test_a_staging_folder_with_files_is_refused_and_keeps_them(tmp_path: Path) -> None:
    """What fails is cleared up, and that had been the table's newest metadata file."""
    source = tmp_path / "s"
    table = make(source)
    table.append(rows(id=[1]))
    table.append(rows(id=[2]))
    before = files_below(tmp_path)
    for staging in (source, source / "metadata"):
        with pytest.raises(InvalidInputError, match="has files"):
            table.maintenance.rewrite_table_path(
                str(source), str(tmp_path / "t"), staging_location=str(staging)
            )
    assert files_below(tmp_path) == before
    assert ids(ice.load_table(str(source))) == [1, 2]


@pytest.mark.parametrize("path", ["/w/t/../../etc/passwd", "/w/t/data/..", "/w/t/.."])
def test_a_path_that_leads_out_of_its_folder_is_refused(path: str) -> None:
    """Metadata can name any path: what is staged must stay in the staging folder."""
    move = Move.of("/w/t", "/x/t")
    for refused in (
        lambda: move.path(path),
        lambda: move.staged(path, "/stage"),
        lambda: move.paths(pa.array(["/w/t/a", path])),
    ):
        with pytest.raises(ValidationException, match=r"leads out of its folder"):
            refused()
    assert move.path("/w/t/a..b/c") == "/x/t/a..b/c"
    assert move.paths(pa.array(["/w/t/..a", None])).to_pylist() == ["/x/t/..a", None]
