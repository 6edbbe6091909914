"""Manifests written anew: fewer, sorted, and each file as it was (Java: RewriteManifests)."""

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

import iceberg_spark as ice
from iceberg_spark import Table
from iceberg_spark.commits import rewrite_manifests
from iceberg_spark.commits.new_manifests import read_entries
from iceberg_spark.errors import InvalidInputError, InvalidTypeError
from iceberg_spark.manifest.manifest_list import read_manifest_list
from iceberg_spark.scan.limits import PLANNING
from iceberg_spark.spec.data_file import ManifestEntryStatus
from iceberg_spark.spec.manifest_file import ManifestContent, ManifestFile
from tests.unit.api.tables import ids, make, rows

KEPT = (
    "file_path",
    "snapshot_id",
    "data_sequence_number",
    "file_sequence_number",
    "first_row_id",
    "partition",
    "record_count",
    "lower_bounds",
    "upper_bounds",
    "column_sizes",
)
UNMERGED = {"commit.manifest-merge.enabled": "false"}


def manifests(table: Table) -> list[ManifestFile]:
    head = table.metadata.current_snapshot
    assert head is not None
    return list(read_manifest_list(table.io, head, table.metadata))


def entries(table: Table) -> dict[str, list[Any]]:
    """What is said of each live file, by path."""
    found = {}
    for manifest in manifests(table):
        read = read_entries(table.io, table.metadata, manifest)
        for row in read.select(("status", *KEPT)).to_pylist():
            if row.pop("status") != ManifestEntryStatus.DELETED:
                found[row["file_path"]] = [str(row[name]) for name in KEPT]
    return found


def many(partition_by: list[str], version: int = 2, **properties: str) -> Table:
    """Five appends, upserts and a delete, each with a manifest of its own."""
    table = make(
        partition_by=partition_by,
        **(UNMERGED | properties),
        **{"format-version": str(version)},
    )
    for number in range(5):
        table.append(rows(id=[number, number + 10, number + 20], k=["b", "a", None]))
    if version == 2:
        table.upsert(rows(id=[3, 4], k=["b", "b"]), ["id", "k"])
        table.delete("id = 21")  # a whole file: a manifest has a deleted entry
        table.upsert(rows(id=[4], k=["a"]), ["id", "k"])
    return table


@pytest.fixture(params=["in memory", "on disk"])
def where_entries_are(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Manifests are sorted in memory, or in runs on the disk with few rows in a batch."""
    if request.param == "on disk":
        limits = replace(PLANNING, sorted_entry_bytes=1)
        monkeypatch.setattr(rewrite_manifests, "PLANNING", limits)
        monkeypatch.setattr(rewrite_manifests, "_LEAST_ROWS", 2)
    return str(request.param)


@pytest.mark.usefixtures("where_entries_are")
@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize("partition_by", [[], ["k"], ["bucket(4, id)", "k"]])
def test_files_are_as_they_were_in_fewer_manifests(version: int, partition_by: list[str]) -> None:
    table = many(partition_by, version)
    before, said, count = entries(table), ids(table), len(manifests(table))
    result = table.maintenance.rewrite_manifests()
    assert result.rewritten_manifests_count == count
    assert result.added_manifests_count == len({one.content for one in manifests(table)})
    assert len(manifests(table)) == result.added_manifests_count
    assert entries(table) == before
    assert ids(ice.load_table(table.location())) == said
    summary = table.metadata.current_snapshot.summary  # type: ignore[union-attr]
    assert summary["operation"] == "replace"
    assert summary["manifests-replaced"] == str(count)
    assert summary["entries-processed"] == str(len(before))


def test_a_table_with_one_manifest_is_left_as_it_is() -> None:
    table = make()
    table.append(rows(id=[1]))
    head = table.current_snapshot()
    assert table.maintenance.rewrite_manifests().rewritten_manifests_count == 0
    assert table.current_snapshot() == head
    assert make().maintenance.rewrite_manifests().added_manifests_count == 0


@pytest.mark.usefixtures("where_entries_are")
def test_manifests_are_sorted_by_partition_and_cut_at_the_target_size() -> None:
    table = make(schema="id bigint, k string, v int", partition_by=["k", "v"], **UNMERGED)
    for number in range(12):
        table.append(
            rows(id=[number] * 4, k=["c", "a", "b", None], v=pa.array([number] * 4, pa.int32()))
        )
    table.maintenance.rewrite_manifests()
    (single,) = manifests(table)
    length = single.manifest_length
    table.update_properties().set(
        {"commit.manifest.target-size-bytes": str(length // 4 + 1)}
    ).commit()
    table.maintenance.rewrite_manifests()
    found = manifests(table)
    assert len(found) == 4
    assert [one.partitions[0].lower_bound for one in found] == [None, b"a", b"b", b"c"]  # type: ignore[index]
    table.maintenance.rewrite_manifests(sort_by=["v"])
    by_number = [one.partitions[1] for one in manifests(table)]  # type: ignore[index]
    ends = [(one.lower_bound, one.upper_bound) for one in by_number]
    assert ends == sorted(ends) and len(set(ends)) == len(ends)


def test_entries_above_a_bound_wait_on_the_local_disk(where_entries_are: str) -> None:
    table = many(["k"])
    read = [read_entries(table.io, table.metadata, manifest) for manifest in manifests(table)]
    entries_of_files = rewrite_manifests._SortedEntries.of(read, (0,), 3)
    runs = entries_of_files.runs
    assert bool(runs._held) == (where_entries_are == "in memory")
    assert len(runs._files) == (0 if where_entries_are == "in memory" else len(read))
    rows_of_all = entries_of_files.rows(0, entries_of_files.row_count).to_pylist()
    every = pa.concat_tables(read).to_pylist()
    key = [row["partition"]["1000"] or "" for row in every]
    assert rows_of_all == [every[index] for index in sorted(range(len(key)), key=key.__getitem__)]
    for start in range(len(every) - 2):
        assert entries_of_files.rows(start, start + 3).to_pylist() == rows_of_all[start : start + 3]


def test_small_manifests_become_as_few_as_their_entries_fill() -> None:
    """Each small manifest has a header of its own, so that their lengths say too much."""
    table = many(["k"])
    data = [each for each in manifests(table) if each.content is ManifestContent.DATA]
    total = sum(each.manifest_length for each in data)
    with table.update_properties() as update:
        update.set({"commit.manifest.target-size-bytes": str(int(total * 0.6))})
    table.maintenance.rewrite_manifests(sort_by=("k",))
    data = [each for each in manifests(table) if each.content is ManifestContent.DATA]
    assert len(data) == 1
    assert data[0].manifest_length <= total * 0.6


def test_only_manifests_of_the_chosen_spec_are_rewritten() -> None:
    table = many(["k"])
    table.update_spec().remove_field("k").commit()
    for number in range(3):
        table.append(rows(id=[100 + number], k=["z"]))
    assert table.maintenance.rewrite_manifests().rewritten_manifests_count == 3
    old = sum(one.partition_spec_id == 0 for one in manifests(table))
    assert table.maintenance.rewrite_manifests(spec_id=0).rewritten_manifests_count == old


def another_appends(where: str) -> None:
    ice.load_table(where).append(rows(id=[77], k=["q"]))


def another_deletes(where: str) -> None:
    ice.load_table(where).delete("k = 'a'")


@pytest.mark.parametrize(("another", "again"), [(another_appends, 0), (another_deletes, 1)])
def test_a_commit_in_between_is_kept_and_work_is_done_again_only_where_it_must(
    monkeypatch: pytest.MonkeyPatch, another: Any, again: int
) -> None:
    table = many(["k"])
    write, calls = rewrite_manifests.write_entries, []

    def disturbed(*given: Any) -> Any:
        calls.append(given)
        if len(calls) == 2:  # data and deletes are written: the list is not
            another(table.location())
        return write(*given)

    monkeypatch.setattr(rewrite_manifests, "write_entries", disturbed)
    table.maintenance.rewrite_manifests()
    monkeypatch.undo()
    newest = ice.load_table(table.location())
    assert (77 in ids(newest)) == (another is another_appends)
    assert (10 in ids(newest)) == (another is not another_deletes)
    assert len(calls) == 2 + again
    known = {
        one.manifest_path
        for snapshot in newest.metadata.snapshots.values()
        for one in read_manifest_list(newest.io, snapshot, newest.metadata)
    }
    stored = {
        info.path
        for info in newest.io.list(f"{newest.location()}/metadata")
        if info.path.endswith("avro") and "/snap-" not in info.path
    }
    assert stored == known


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"spec_id": 9}, InvalidInputError),
        ({"sort_by": ["id"]}, InvalidInputError),
        ({"sort_by": [1]}, InvalidTypeError),
        ({"spec_id": "a"}, InvalidTypeError),
        ({"use_caching": 1}, InvalidTypeError),
    ],
)
def test_wrong_arguments_are_refused(given: dict[str, Any], error: type[Exception]) -> None:
    table = many(["k"])
    with pytest.raises(error):
        table.maintenance.rewrite_manifests(**given)


def test_what_was_done_is_shown_by_counts() -> None:
    table = many(["k"])
    assert repr(table.maintenance.rewrite_manifests()).startswith(
        "ManifestRewrite(rewritten_manifests_count="
    )
