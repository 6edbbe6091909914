"""Row ids of manifests and snapshots (specification: "Row Lineage", "First Row ID Inheritance")."""

import fastavro
import pytest

from iceberg_spark.catalog.catalog import LoadedTable
from iceberg_spark.commits.append import AppendFiles
from iceberg_spark.commits.commit import commit, stage
from iceberg_spark.commits.delete_files import DeleteFiles
from iceberg_spark.commits.manage_snapshots import CreateRef, ManageSnapshots
from iceberg_spark.commits.metadata_changes import UpdateProperties
from iceberg_spark.commits.row_delta import RowDelta
from iceberg_spark.errors import UnsupportedError, ValidationException
from iceberg_spark.spec.data_file import DataFile, ManifestEntryStatus
from iceberg_spark.spec.snapshot import Snapshot, SnapshotRefType
from tests.builders import equality_deletes, position_deletes
from tests.unit.commits.tables import CATALOG, IO, entries, file, make_table, manifests, run

NO_MERGE = {"commit.manifest-merge.enabled": "false"}
MERGE = {"commit.manifest.min-count-to-merge": "2"}


def head(table: LoadedTable) -> Snapshot:
    snapshot = table.metadata.current_snapshot
    assert snapshot is not None
    return snapshot


def row_ids(table: LoadedTable, branch: str = "main") -> dict[str, int | None]:
    """The first row ids of files, by their names; deleted ones too."""
    return {
        entry.data_file.file_path.rpartition("/")[2].removesuffix(".parquet"): (
            entry.data_file.first_row_id
        )
        for entry in entries(table.metadata, branch)
    }


def stored_row_ids(path: str) -> dict[int, int | None]:
    """What a manifest itself says, by the status of the entry."""
    with IO.open(path) as opened:
        rows = [dict(row) for row in fastavro.reader(opened)]  # type: ignore[arg-type]
    return {row["status"]: row["data_file"]["first_row_id"] for row in rows}


def appended(table: LoadedTable, *names: str, **rest: object) -> LoadedTable:
    return run(table, AppendFiles([file(table, name, **rest) for name in names]))


def upgraded(table: LoadedTable) -> LoadedTable:
    return run(table, UpdateProperties({"format-version": "3"}))


def test_an_append_takes_the_next_row_ids_of_the_table():
    table = appended(make_table(format_version=3, **NO_MERGE), "a", "b")
    table = appended(table, "c")
    ids = row_ids(table)
    assert sorted((ids["a"], ids["b"])) == [0, 10]
    assert ids["c"] == 20
    assert (head(table).first_row_id, head(table).added_rows) == (20, 10)
    assert table.metadata.next_row_id == 30
    newest = manifests(table.metadata)[0]
    assert newest.first_row_id == 20
    assert stored_row_ids(newest.manifest_path) == {ManifestEntryStatus.ADDED: None}


def test_a_snapshot_that_adds_no_row_has_its_row_ids_too():
    table = appended(make_table(format_version=3, **NO_MERGE), "a")
    table = run(table, DeleteFiles([file(table, "a").file_path]))
    assert (head(table).first_row_id, head(table).added_rows) == (10, 0)
    table = run(table, RowDelta(deletes=[equality_deletes([1], file(table, "e").file_path)]))
    assert (head(table).first_row_id, head(table).added_rows) == (10, 0)
    deletes = [one for one in manifests(table.metadata) if one.content]
    assert [one.first_row_id for one in deletes] == [None]


def test_existing_and_deleted_files_keep_the_row_ids_that_they_inherited():
    table = appended(make_table(format_version=3, **NO_MERGE), "a", "b")
    before = row_ids(table)
    table = run(table, DeleteFiles([file(table, "a").file_path]))
    assert row_ids(table) == before
    (rewritten,) = manifests(table.metadata)
    assert stored_row_ids(rewritten.manifest_path) == {
        ManifestEntryStatus.DELETED: before["a"],
        ManifestEntryStatus.EXISTING: before["b"],
    }


def test_a_manifest_that_is_filtered_and_merged_in_one_commit_keeps_row_ids():
    table = appended(make_table(format_version=3, **NO_MERGE), "a", "b")
    table = appended(table, "c")
    before = row_ids(table)
    table = run(table, UpdateProperties({**MERGE, "commit.manifest-merge.enabled": "true"}))
    table = run(table, DeleteFiles([file(table, "a").file_path]))
    assert len(manifests(table.metadata)) == 1
    assert row_ids(table) == before


@pytest.mark.parametrize("version", [1, 2])
def test_the_next_commit_after_an_upgrade_numbers_the_files_of_before(version: int):
    table = appended(make_table(format_version=version, **NO_MERGE), "a", "b")
    old = head(table)
    table = upgraded(table)
    assert table.metadata.next_row_id == 0
    assert set(row_ids(table).values()) == {None}
    table = appended(table, "c")
    ids = row_ids(table)
    assert sorted(ids.values(), key=str) == [0, 10, 20]
    assert (head(table).first_row_id, head(table).added_rows) == (0, 30)
    assert table.metadata.next_row_id == 30
    assert table.metadata.snapshots[old.snapshot_id] == old
    table = appended(table, "d")
    assert row_ids(table) == {**ids, "d": 30}


def test_a_rewritten_manifest_of_before_an_upgrade_is_numbered():
    table = upgraded(appended(make_table(**NO_MERGE), "a", "b"))
    table = run(table, DeleteFiles([file(table, "a").file_path]))
    assert row_ids(table) == {"a": None, "b": 0}
    assert table.metadata.next_row_id == 10


def test_branches_of_an_upgraded_table_take_disjoint_row_ids():
    table = appended(make_table(**NO_MERGE), "a")
    audit = ManageSnapshots((CreateRef(SnapshotRefType.BRANCH, "audit", None),))
    table = upgraded(run(table, audit))
    table = appended(table, "b")
    table = run(table, AppendFiles([file(table, "c")], branch="audit"))
    assert row_ids(table) == {"b": 0, "a": 10}
    assert row_ids(table, "audit") == {"c": 20, "a": 30}
    assert table.metadata.next_row_id == 40


def test_a_retry_takes_the_newest_row_ids_and_the_same_manifests():
    base = make_table(format_version=3, **NO_MERGE)
    tried = AppendFiles([file(base, "a")])
    first = tried.prepare(base.metadata, IO)
    other = appended(base, "b")
    table = commit(CATALOG, base.identifier, tried, base)
    assert row_ids(table) == {"b": 0, "a": 10}
    assert table.metadata.next_row_id == 20
    assert other.metadata.current_snapshot_id == head(table).parent_snapshot_id
    made = {one.manifest_path for one in manifests(table.metadata)}
    (snapshot,) = (one.snapshot for one in first.updates if hasattr(one, "snapshot"))
    assert snapshot.first_row_id == 0
    assert len(made) == 2
    assert all("-m0.avro" in path for path in made)


def test_a_retry_rewrites_manifests_filtered_before_files_had_row_ids():
    """The first try saw an upgraded table; the commit between the tries numbered its files."""
    base = upgraded(appended(make_table(**NO_MERGE), "a", "b"))
    tried = DeleteFiles([file(base, "a").file_path])
    tried.prepare(base.metadata, IO)
    between = row_ids(appended(base, "c"))
    table = commit(CATALOG, base.identifier, tried, base)
    assert row_ids(table) == between


def test_a_retried_transaction_writes_the_numbers_of_its_last_try_into_manifests():
    """Its second action takes a file out of a manifest that its first one makes."""
    base = make_table(format_version=3, **NO_MERGE)
    actions = (
        AppendFiles([file(base, "a"), file(base, "b")]),
        DeleteFiles([file(base, "a").file_path]),
    )
    stage(base.metadata, IO, actions)
    appended(appended(base, "c"), "d")
    table = commit(CATALOG, base.identifier, actions, base)
    found = {
        entry.data_file.file_path.rpartition("/")[2]: entry for entry in entries(table.metadata)
    }
    assert found["b.parquet"].data_sequence_number == 3
    assert sorted((row_ids(table)["a"] or 0, row_ids(table)["b"] or 0)) == [20, 30]


def test_a_file_of_another_snapshot_that_is_added_again_gets_new_row_ids():
    table = appended(make_table(format_version=3, **NO_MERGE), "a")
    table = appended(table, "b", first_row_id=3)
    assert row_ids(table) == {"a": 0, "b": 10}


@pytest.mark.parametrize("upgrade_meanwhile", [False, True])
def test_no_position_delete_file_is_added_from_version_3_on(upgrade_meanwhile: bool):
    table = appended(make_table(format_version=2), "a")
    delete: DataFile = position_deletes(file(table, "p").file_path)
    tried = RowDelta(deletes=[delete])
    if upgrade_meanwhile:
        tried.prepare(table.metadata, IO)
    newest = upgraded(table)
    with pytest.raises(UnsupportedError, match=r"p\.parquet.*deletion vectors"):
        commit(CATALOG, table.identifier, tried, table if upgrade_meanwhile else newest)


def test_a_table_does_not_go_back_to_a_version_without_lineage():
    table = make_table(format_version=3)
    with pytest.raises(ValidationException, match="from format-version 3 to 2"):
        run(table, UpdateProperties({"format-version": "2"}))


def test_updated_rows_are_refused_when_others_give_their_rows_ids_meanwhile():
    """An upgraded table assigns row ids from its next snapshot on: the change has not read them."""
    table = upgraded(appended(make_table(), "a"))
    delta = RowDelta([file(table, "b")], [], referenced=[file(table, "a").file_path])
    delta.prepare(table.metadata, IO)
    table = appended(table, "c")
    with pytest.raises(ValidationException, match="got row ids since"):
        delta.prepare(table.metadata, IO)


def test_updated_rows_go_with_commits_that_leave_row_ids():
    table = appended(make_table(format_version=3), "a")
    delta = RowDelta([file(table, "b")], [], referenced=[file(table, "a").file_path])
    delta.prepare(table.metadata, IO)
    table = run(appended(table, "c"), delta)
    assert row_ids(table)["b"] == 20
