"""Expiring snapshots (specification: "Snapshot Retention Policy"; Java: RemoveSnapshots)."""

import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import iceberg_spark as ice
from iceberg_spark import Table
from iceberg_spark.commits.action import ActionCommit
from iceberg_spark.commits.commit import commit
from iceberg_spark.commits.new_manifests import read_entries
from iceberg_spark.errors import (
    CommitStateUnknownException,
    InvalidInputError,
    InvalidTypeError,
    NoSuchSnapshotError,
    StorageError,
    ValidationException,
)
from iceberg_spark.maintenance import expire
from iceberg_spark.maintenance.reachable import statistics_paths
from iceberg_spark.manifest.manifest_list import read_manifest_list
from iceberg_spark.spec.data_file import ManifestEntryStatus
from iceberg_spark.spec.updates import SetPartitionStatistics, SetStatistics, TableUpdate
from tests.unit.api.tables import data_files, ids, make, rows

LATER = 1 << 60  # ms: everything is older


def snapshots(table: Table) -> list[int]:
    return [each.snapshot_id for each in table.snapshots()]


def stored(table: Table) -> set[str]:
    """Every file below the table but its metadata files and hint."""
    found = (info.path for info in table.io.list(table.location()))
    return {path for path in found if not path.endswith((".json", ".text"))}


def reachable(table: Table) -> set[str]:
    """Every file that a snapshot reaches, found one entry at a time."""
    metadata, found = table.metadata, set(statistics_paths(table.metadata))
    for snapshot in metadata.snapshots.values():
        found.add(str(snapshot.manifest_list))
        for manifest in read_manifest_list(table.io, snapshot, metadata):
            found.add(manifest.manifest_path)
            for entry in read_entries(table.io, metadata, manifest).to_pylist():
                if entry["status"] != ManifestEntryStatus.DELETED:
                    found.add(entry["file_path"])
    return found


def overwritten() -> Table:
    """Three snapshots: 1; 1 replaced by 2; 3 appended."""
    table = make()
    table.append(rows(id=[1]))
    table.overwrite(rows(id=[2]))
    table.append(rows(id=[3]))
    return table


def test_files_that_only_expired_snapshots_reach_are_deleted() -> None:
    table = overwritten()
    result = table.maintenance.expire_snapshots(older_than=LATER)
    assert len(table.snapshots()) == 1
    assert ids(table) == [2, 3]
    assert stored(table) == reachable(table)
    assert result.deleted_data_files_count == 1
    assert result.deleted_manifest_lists_count == 2
    assert len(result.snapshot_ids) == 2


def test_a_dry_run_lists_the_files_and_changes_nothing() -> None:
    table = overwritten()
    before, metadata = stored(table), table.metadata
    result = table.maintenance.expire_snapshots(older_than=LATER, dry_run=True)
    assert (stored(table), table.refresh().metadata) == (before, metadata)
    assert result.dry_run
    table.maintenance.expire_snapshots(older_than=LATER)
    assert set(result.files["file_path"].to_pylist()) == before - stored(table)


def test_a_dry_run_and_the_run_count_the_same() -> None:
    table = overwritten()
    dry = table.maintenance.expire_snapshots(older_than=LATER, dry_run=True)
    said = repr(dry)
    done = repr(table.maintenance.expire_snapshots(older_than=LATER))
    assert said.replace("would expire", "expired") == done
    assert done.startswith("expired 2 snapshots and 0 references; files: 1 data, 0 position")


def test_the_last_snapshots_are_kept() -> None:
    table = overwritten()
    kept = snapshots(table)[1:]
    table.maintenance.expire_snapshots(older_than=LATER, retain_last=2)
    assert snapshots(table) == kept
    assert stored(table) == reachable(table)


def test_young_snapshots_stay() -> None:
    table = overwritten()
    result = table.maintenance.expire_snapshots()
    assert len(table.snapshots()) == 3
    assert result.snapshot_ids == ()
    assert len(table.metadata.metadata_log) == 3  # nothing was committed


def test_the_properties_say_what_is_kept_without_arguments() -> None:
    table = overwritten()
    table.update_properties().set({"history.expire.max-snapshot-age-ms": "0"}).commit()
    table.update_properties().set({"history.expire.min-snapshots-to-keep": "2"}).commit()
    time.sleep(0.005)
    table.maintenance.expire_snapshots()
    assert len(table.snapshots()) == 2


def test_a_branch_keeps_what_its_own_retention_says() -> None:
    table = overwritten()
    first, second, _ = snapshots(table)
    with table.manage_snapshots() as manage:
        manage.create_branch(second, "b", min_snapshots_to_keep=2, max_snapshot_age_ms=1)
    time.sleep(0.005)
    table.maintenance.expire_snapshots(older_than=LATER)
    assert first in snapshots(table)
    assert stored(table) == reachable(table)


def test_a_tag_keeps_its_snapshot_only() -> None:
    table = overwritten()
    first, second, third = snapshots(table)
    table.manage_snapshots().create_tag(first, "t").commit()
    table.maintenance.expire_snapshots(older_than=LATER)
    assert snapshots(table) == [first, third]
    assert ids(table, tag="t") == [1]
    assert stored(table) == reachable(table)
    assert second not in snapshots(table)


def test_a_reference_that_is_too_old_goes_with_its_snapshot() -> None:
    table = overwritten()
    first, second, _ = snapshots(table)
    with table.manage_snapshots() as manage:
        manage.create_tag(first, "t", max_ref_age_ms=1).create_branch(second, "b", max_ref_age_ms=1)
        manage.set_max_ref_age_ms("main", 1)
    time.sleep(0.005)
    result = table.maintenance.expire_snapshots(older_than=LATER)
    assert result.refs == ("t", "b")
    assert set(table.refs()) == {"main"}
    assert len(table.snapshots()) == 1


def test_snapshots_of_no_branch_go_by_age() -> None:
    table = overwritten()
    table.manage_snapshots().rollback_to_snapshot(snapshots(table)[0]).commit()
    table.maintenance.expire_snapshots()
    assert len(table.snapshots()) == 3
    table.maintenance.expire_snapshots(older_than=LATER)
    assert len(table.snapshots()) == 1
    assert ids(table) == [1]
    assert stored(table) == reachable(table)


def test_snapshots_are_expired_by_id() -> None:
    table = overwritten()
    second = snapshots(table)[1]
    table.maintenance.expire_snapshots(snapshot_ids=[second])
    assert second not in snapshots(table)
    assert len(table.snapshots()) == 2
    assert stored(table) == reachable(table)
    assert ids(table, snapshot_id=snapshots(table)[0]) == [1]


def test_a_time_is_given_as_ms_or_with_a_zone() -> None:
    table = overwritten()
    table.maintenance.expire_snapshots(older_than=datetime(2000, 1, 1, tzinfo=UTC))
    assert len(table.snapshots()) == 3
    table.maintenance.expire_snapshots(older_than=datetime(2100, 1, 1, tzinfo=UTC))
    assert len(table.snapshots()) == 1


def test_statistics_of_expired_snapshots_are_deleted_and_others_kept() -> None:
    table = overwritten()
    first, _, third = snapshots(table)
    for number, kind in ((first, SetStatistics), (first, SetPartitionStatistics),
                         (third, SetStatistics)):  # fmt: skip
        path = f"{table.location()}/metadata/{number}-{kind.__name__}.puffin"
        with table.io.create(path) as out:
            out.write(b"x")
        _run(table, kind(_statistics(number, path)))
    result = table.maintenance.expire_snapshots(older_than=LATER)
    assert result.deleted_statistics_files_count == 2
    assert stored(table) == reachable(table)


def _statistics(snapshot_id: int, path: str) -> dict[str, Any]:
    return {
        "snapshot-id": snapshot_id,
        "statistics-path": path,
        "file-size-in-bytes": 1,
        "file-footer-size-in-bytes": 1,
        "blob-metadata": [],
    }


def _run(table: Table, *updates: TableUpdate) -> None:
    class Raw:
        def validate(self, base: Any, io: Any) -> None: ...
        def clean_up(self, io: Any, committed: Any) -> None: ...
        def prepare(self, base: Any, io: Any) -> ActionCommit:  # noqa: ARG002
            return ActionCommit(updates)

    commit(table._catalog, table.identifier, Raw(), table._loaded)
    table.refresh()


@pytest.mark.parametrize("scheme", ["", "file:", "file://"])
def test_a_file_that_was_added_again_stays(tmp_path: Path, scheme: str) -> None:
    table = make(tmp_path / "t")
    path = tmp_path / "outside.parquet"
    pq.write_table(pa.table({"id": [1], "k": ["a"]}), path)
    table.add_files([str(path)])
    table.overwrite(pa.table({"id": [2], "k": ["b"]}))
    table.add_files([f"{scheme}{path}"])
    table.maintenance.expire_snapshots(older_than=LATER)
    assert path.exists()
    assert ids(table) == [1, 2]


def test_a_merged_manifest_keeps_the_files_of_those_it_replaced() -> None:
    table = make(**{"commit.manifest.min-count-to-merge": "2"})
    for number in range(5):
        table.append(rows(id=[number]))
    files = data_files(table)
    result = table.maintenance.expire_snapshots(older_than=LATER)
    assert ids(table) == [0, 1, 2, 3, 4]
    assert data_files(table) == files
    assert result.deleted_manifest_files_count > 0
    assert stored(table) == reachable(table)


def test_what_another_commit_uses_meanwhile_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """A snapshot that lands between the expiry's commit and its deletions keeps its files."""
    table = overwritten()
    catalog = type(table._catalog)
    loads = []
    load = catalog.load

    def load_after_another_commit(self: Any, identifier: str) -> Any:
        loads.append(identifier)
        if len(loads) == 2:  # the look after the commit
            other = ice.Table(self, load(self, identifier))
            monkeypatch.setattr(catalog, "load", load)
            other.append(rows(id=[4]))
        return load(self, identifier)

    monkeypatch.setattr(catalog, "load", load_after_another_commit)
    table.maintenance.expire_snapshots(older_than=LATER)
    assert ids(table) == [2, 3, 4]
    assert stored(table) == reachable(table)


def test_a_commit_that_came_first_is_expired_with() -> None:
    table = overwritten()
    other = ice.load_table(table.identifier)
    other.append(rows(id=[9]))
    table.maintenance.expire_snapshots(older_than=LATER)
    assert ids(table) == [2, 3, 9]
    assert len(table.snapshots()) == 1


def test_a_v1_table_is_expired_too() -> None:
    table = make(**{"format-version": "1"})
    table.append(rows(id=[1]))
    table.overwrite(rows(id=[2]))
    table.maintenance.expire_snapshots(older_than=LATER)
    assert stored(table) == reachable(table)
    assert ids(table) == [2]


def test_an_empty_table_has_nothing_to_expire() -> None:
    assert make().maintenance.expire_snapshots(older_than=LATER).snapshot_ids == ()


def test_files_that_the_store_keeps_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    table = overwritten()
    io = type(table.io)
    delete = io.delete

    def refuse(self: Any, path: str) -> None:
        if path.endswith(".parquet"):
            raise StorageError("refused")
        delete(self, path)

    monkeypatch.setattr(io, "delete", refuse)
    result = table.maintenance.expire_snapshots(older_than=LATER)
    assert len(result.not_deleted) == 1
    assert result.not_deleted[0].endswith(".parquet")
    assert "1 could not be deleted" in repr(result)
    assert result.deleted_data_files_count == 0
    assert result.deleted_manifest_lists_count == 2


@pytest.mark.parametrize("error", [AssertionError(), TimeoutError(), StorageError("silent")])
def test_a_search_that_breaks_off_after_the_commit_says_so(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = overwritten()

    def broken(*_: Any) -> Any:
        raise error

    monkeypatch.setattr(expire, "left_behind", broken)
    result = table.maintenance.expire_snapshots(older_than=LATER)
    assert result.unfinished == (str(error) or type(error).__name__)
    assert "the search for files failed" in repr(result)


REFUSED: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "a snapshot that main needs": ({"snapshot_ids": ["main"]}, InvalidInputError, "main points to"),
    "an unknown snapshot": ({"snapshot_ids": [5]}, NoSuchSnapshotError, "no such snapshot"),
    "ids as text": ({"snapshot_ids": "5"}, InvalidTypeError, "list of ids"),
    "an id as text": ({"snapshot_ids": ["x"]}, InvalidTypeError, "integers, not 'x'"),
    "keeping none": ({"retain_last": 0}, InvalidInputError, "at least 1"),
    "a count as text": ({"retain_last": "1"}, InvalidTypeError, "retain_last must be an integer"),
    "a time as text": ({"older_than": "2020"}, InvalidTypeError, "ms since the epoch"),
    "a time without zone": ({"older_than": datetime(2020, 1, 1)}, InvalidInputError, "time zone"),  # noqa: DTZ001
}


@pytest.mark.parametrize("case", REFUSED)
@pytest.mark.parametrize("dry_run", [False, True])
def test_what_is_refused_leaves_everything(case: str, dry_run: bool) -> None:
    table = overwritten()
    arguments, error, message = REFUSED[case]
    if arguments.get("snapshot_ids") == ["main"]:
        arguments = {"snapshot_ids": [snapshots(table)[2]]}
    before = stored(table)
    with pytest.raises(error, match=message):
        table.maintenance.expire_snapshots(**arguments, dry_run=dry_run)
    assert stored(table) == before
    assert len(table.refresh().snapshots()) == 3


def test_a_table_whose_files_are_shared_is_refused() -> None:
    table = overwritten()
    table.update_properties().set({"gc.enabled": "false"}).commit()
    with pytest.raises(ValidationException, match=r"'gc\.enabled' is false"):
        table.maintenance.expire_snapshots(older_than=LATER)
    assert len(table.snapshots()) == 3


@pytest.mark.parametrize("fails", ["load", "read_bytes"])
@pytest.mark.parametrize("error", [StorageError("no answer"), RuntimeError("a job failed")])
def test_an_expiry_whose_search_for_files_fails_after_its_commit_has_expired(
    monkeypatch: pytest.MonkeyPatch, fails: str, error: Exception
) -> None:
    table = overwritten()
    before = stored(table)
    fail_after_commit(monkeypatch, table, fails, error)
    result = table.maintenance.expire_snapshots(older_than=LATER)
    monkeypatch.undo()
    assert len(result.snapshot_ids) == 2
    assert str(error) in result.unfinished and result.unfinished in repr(result)
    assert len(ice.load_table(table.identifier).snapshots()) == 1
    assert ids(table) == [2, 3]
    assert reachable(table.refresh()) < stored(table)
    assert stored(table) == before | reachable(table)


def test_an_expiry_that_is_interrupted_after_its_commit_says_that_it_landed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = overwritten()
    fail_after_commit(monkeypatch, table, "load", KeyboardInterrupt())
    with pytest.raises(CommitStateUnknownException, match="has landed"):
        table.maintenance.expire_snapshots(older_than=LATER)
    monkeypatch.undo()
    assert len(table.refresh().snapshots()) == 1
    assert ids(table) == [2, 3]


def fail_after_commit(
    monkeypatch: pytest.MonkeyPatch, table: Table, method: str, error: BaseException
) -> None:
    """Let a method of the catalog or its storage raise once a commit has landed."""
    catalog = type(table._catalog)
    broken = catalog if method == "load" else type(table.io)
    commit_to = catalog.commit

    def fail(*_: Any) -> Any:
        raise error

    def commit_then_break(self: Any, *args: Any) -> Any:
        committed = commit_to(self, *args)
        monkeypatch.setattr(broken, method, fail)
        return committed

    monkeypatch.setattr(catalog, "commit", commit_then_break)
