"""A stream of changes is what a batch of changes is, commit by commit, in whatever batches."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import iceberg_spark as ice
from iceberg_spark.errors import InvalidOptionError, NoSuchSnapshotError, ValidationException
from iceberg_spark.streams import commit_changes
from iceberg_spark.streams.commit_changes import change_rows, for_tasks
from iceberg_spark.streams.limits import StreamingLimits
from tests.unit.streams.streamed import offsets, running_changes

SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), ("s", pa.string())])


def rows(**texts: str | None) -> pa.Table:
    """`rows(_1="a")`: a row of id 1 with the text a."""
    ids = [int(name[1:]) for name in texts]
    return pa.table({"id": ids, "s": list(texts.values())}, SCHEMA)


def busy_table(folder: Path, mode: str, version: int) -> ice.Table:
    """Appends, deletes, updates, upserts, an overwrite and a compaction."""
    modes = {f"write.{verb}.mode": mode for verb in ("delete", "update", "merge")}
    properties = {**modes, "format-version": version}
    table = ice.create_table(str(folder / "t"), SCHEMA, properties=properties)
    table.append(rows(_1="a", _2="b", _3=None))
    table.append(rows(_4="d", _5="e"))
    table.delete("id = 2")
    table.upsert(rows(_3="c", _6="f"), ["id"])
    table.maintenance.rewrite_data_files(options={"rewrite-all": "true"})
    table.delete("id in (1, 4)")
    table.upsert(rows(_5="e", _6=None), ["id"])
    table.overwrite(rows(_5="e", _7="g"))
    table.append(rows(_8="h"))
    return table


def streamed(table: ice.Table, **options: object) -> list[pa.Table]:
    """The changes of each batch."""
    run, request = running_changes(table, **options)
    found = []
    for start, end in offsets(run):
        again, _ = running_changes(table, **options)
        groups = for_tasks(again.plan(start, end).changes)
        parts = [
            batch for group in groups for batch in change_rows(request, request.context.io, group)
        ]
        found.append(pa.Table.from_batches(parts) if parts else None)
    return [one for one in found if one is not None]


def in_order(changes: pa.Table) -> list[dict[str, Any]]:
    return sorted(changes.to_pylist(), key=lambda row: str(tuple(row.values())))


TABLES = [("copy-on-write", 2), ("merge-on-read", 2), ("merge-on-read", 3)]


@pytest.mark.parametrize(("mode", "version"), TABLES)
def test_batches_together_are_the_changes_of_a_batch_scan(
    mode: str, version: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = busy_table(tmp_path, mode, version)
    expected = in_order(table.scan().changes().to_arrow())
    assert len(expected) > 15
    for most in (1_000_000, 2):  # rows that a task brings together
        limits = StreamingLimits(changes_together=most, changes_files=3)
        monkeypatch.setattr(commit_changes, "STREAMING", limits)
        for options in ({}, {"streaming_max_rows_per_micro_batch": 3},
                        {"streaming_max_files_per_micro_batch": 1}):  # fmt: skip
            batches = streamed(table, **options)
            assert in_order(pa.concat_tables(batches)) == expected
            commits = [set(one.column("_commit_snapshot_id").to_pylist()) for one in batches]
            assert sum(map(len, commits)) == len(set().union(*commits))  # none is split
            assert (len(batches) > 3) == bool(options)


def test_updates_are_recognised_by_identifier_columns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = busy_table(tmp_path, "copy-on-write", 2)
    monkeypatch.setattr(commit_changes, "STREAMING", StreamingLimits(changes_together=1))
    found = pa.concat_tables(streamed(table, identifier_columns="ID"))
    expected = table.scan().changes(identifier_columns=["id"]).to_arrow()
    assert in_order(found) == in_order(expected)
    assert "UPDATE_AFTER" in found.column("_change_type").to_pylist()


def test_columns_and_a_filter_are_those_of_the_options(tmp_path: Path) -> None:
    table = busy_table(tmp_path, "merge-on-read", 2)
    (found,) = streamed(table, columns="s", row_filter="id > 4")
    expected = table.scan(row_filter="id > 4", selected_fields=("s",)).changes().to_arrow()
    assert in_order(found) == in_order(expected)


def test_ordinals_count_on_over_batches_and_restarts(tmp_path: Path) -> None:
    table = ice.create_table(str(tmp_path / "t"), SCHEMA)
    table.append(rows(_1="a"))
    first = table.history()[0].snapshot_id
    table.append(rows(_2="b"))
    run, _ = running_changes(table, start_snapshot_id=first)
    ((start, end),) = offsets(run)
    table.append(rows(_3="c"))
    restarted, request = running_changes(table, start_snapshot_id=first)
    later = restarted.latest(end)
    both = [*run.plan(start, end).changes, *restarted.plan(end, later).changes]
    read = pa.Table.from_batches(change_rows(request, request.context.io, both))
    assert read.column("_change_ordinal").to_pylist() == [0, 1]
    assert in_order(read) == in_order(table.scan().changes(start=first).to_arrow())


def test_a_full_start_shows_the_table_as_inserts_and_then_its_changes(tmp_path: Path) -> None:
    table = busy_table(tmp_path, "merge-on-read", 2)
    run, request = running_changes(table, stream_from_snapshot="full")
    ((start, end),) = offsets(run)
    head = table.current_snapshot()
    assert head is not None
    table.delete("id = 7")
    (_, later), = offsets(run, end)  # fmt: skip
    changes = [*run.plan(start, end).changes, *run.plan(end, later).changes]
    read = pa.Table.from_batches(change_rows(request, request.context.io, changes)).to_pylist()
    inserted = [row for row in read if row["_change_ordinal"] == 0]
    assert sorted(row["id"] for row in inserted) == [5, 7, 8]
    assert {row["_commit_snapshot_id"] for row in inserted} == {head.snapshot_id}
    assert [(row["id"], row["_change_type"]) for row in read if row not in inserted] == [
        (7, "DELETE")
    ]


def test_changes_whose_parent_has_expired_are_an_error_but_not_at_the_start(
    tmp_path: Path,
) -> None:
    table = busy_table(tmp_path, "copy-on-write", 2)
    run, _ = running_changes(table)
    ((_, end),) = offsets(run)
    table.append(rows(_9="i"))
    table.delete("id = 9")
    removed = table.current_snapshot()
    assert removed is not None
    table.append(rows(_10="j"))
    table.maintenance.expire_snapshots(older_than=2**42, retain_last=2)
    with pytest.raises(NoSuchSnapshotError, match="has expired"):
        running_changes(table)[0].latest(end)
    (found,) = streamed(table)
    assert found.column("id").to_pylist() == [10]
    after = {"start_snapshot_id": removed.parent_snapshot_id}
    with pytest.raises(NoSuchSnapshotError, match=rf"{removed.snapshot_id} .* has expired"):
        running_changes(table, **after)[0].latest()


def test_a_rollback_is_an_error(tmp_path: Path) -> None:
    table = busy_table(tmp_path, "copy-on-write", 2)
    run, _ = running_changes(table)
    run.latest()
    table.manage_snapshots().rollback_to_snapshot(table.history()[2].snapshot_id).commit()
    with pytest.raises(ValidationException, match="rolled back"):
        run.latest()


def test_options_of_the_other_kind_of_stream_are_refused(tmp_path: Path) -> None:
    table = busy_table(tmp_path, "copy-on-write", 2)
    with pytest.raises(InvalidOptionError, match="metadata-columns"):
        running_changes(table, metadata_columns="_file")
    with pytest.raises(InvalidOptionError, match="exclude each other"):
        running_changes(table, start_snapshot_id=1, stream_from_snapshot="latest")
