"""What was appended between two snapshots (Java: BaseIncrementalAppendScan)."""

from pathlib import Path

from iceberg_spark.spec.metadata import TableMetadata
from tests.unit.scan.entries import bounds, data, position
from tests.unit.scan.tables import commit, new_table, paths, planned


def history(folder: Path) -> TableMetadata:
    """Append a; append b; overwrite with c; append d, rewriting all in one manifest; delete."""
    base = commit(new_table(folder), [data("a", 1, snapshot_id=1)])
    base = commit(base, [data("b", 2, snapshot_id=2, **bounds(id=(1, 5)))])
    base = commit(base, [data("c", 3, snapshot_id=3)], operation="overwrite")
    rewritten = [
        data("a", 1, snapshot_id=1, status=0),
        data("b", 2, snapshot_id=2, status=0),
        data("c", 3, snapshot_id=3, status=0),
        data("d", 4, snapshot_id=4, **bounds(id=(6, 9))),
    ]
    base = commit(base, rewritten, kept=False)
    return commit(base, [position("p", 5)], operation="delete")


def test_appends_after_the_start_up_to_the_end_are_read(tmp_path: Path) -> None:
    base = history(tmp_path)
    assert paths(planned(base, start_snapshot_id=1, end_snapshot_id=2)) == ["b"]
    assert paths(planned(base, start_snapshot_id=1)) == ["b", "d"]


def test_overwrites_show_nothing(tmp_path: Path) -> None:
    assert paths(planned(history(tmp_path), start_snapshot_id=2, end_snapshot_id=3)) == []


def test_files_that_a_later_commit_rewrote_the_manifest_of_are_seen_once(tmp_path: Path) -> None:
    assert paths(planned(history(tmp_path), start_snapshot_id=3)) == ["d"]


def test_nothing_was_appended_since_the_end(tmp_path: Path) -> None:
    assert paths(planned(history(tmp_path), start_snapshot_id=5)) == []


def test_deletes_do_not_count(tmp_path: Path) -> None:
    found = planned(history(tmp_path), start_snapshot_id=1)
    assert [task.delete_files for task in found] == [(), ()]
    assert found.record_count == 20


def test_filters_prune_appends(tmp_path: Path) -> None:
    assert paths(planned(history(tmp_path), "id = 7", start_snapshot_id=1)) == ["d"]
