"""A batch of an application lands once, whatever became of the table since."""

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import iceberg_spark as ice
from iceberg_spark import Table
from iceberg_spark.catalog.catalog import LoadedTable
from iceberg_spark.catalog.filesystem import FileSystemCatalog
from iceberg_spark.commits import batch_token
from iceberg_spark.commits.batch_token import TokenLimits
from iceberg_spark.errors import (
    AlreadyCommittedException,
    CommitStateUnknownException,
    StorageError,
)
from iceberg_spark.io.fsspec_io import FsspecIO
from iceberg_spark.spec.txn import records_in
from tests.unit.api.tables import data_files, ids, make, rows
from tests.unit.commits.batches import CATALOG, ROW, append, expired_by_others, head, is_committed


def test_a_batch_lands_once_and_a_later_one_lands() -> None:
    table = make()
    for version in (3, 3, 2, 4):
        append(table, "a", version)
    append(table, "b", 3)
    assert len(ids(table)) == 3


def test_each_branch_has_batches_of_its_own() -> None:
    table = make()
    table.append(ROW)
    table.manage_snapshots().create_branch(head(table), "dev").commit()
    append(table, "a", 1)
    append(table, "a", 1, "dev")
    append(table, "a", 1, "dev")
    assert (len(ids(table)), len(ids(table, branch="dev"))) == (2, 2)


def test_a_branch_created_later_has_the_batches_of_its_ancestors() -> None:
    table = make()
    append(table, "a", 1)
    table.manage_snapshots().create_branch(head(table), "dev").commit()
    append(table, "a", 1, "dev")
    assert len(ids(table, branch="dev")) == 1


def test_a_batch_that_was_rolled_back_lands_again() -> None:
    table = make()
    append(table, "a", 1)
    first = head(table)
    append(table, "a", 2)
    table.manage_snapshots().rollback_to_snapshot(first).commit()
    append(table, "a", 1)
    assert len(ids(table)) == 1
    append(table, "a", 2)
    assert len(ids(table)) == 2


def test_a_batch_whose_snapshot_we_expired_is_known() -> None:
    table = make()
    append(table, "a", 1)
    for _ in range(3):
        table.append(ROW)
    table.maintenance.expire_snapshots(older_than=1 << 60)
    assert len(table.refresh().snapshots()) == 1
    append(table, "a", 1)
    assert len(ids(table)) == 4


@pytest.mark.parametrize("log", ["100", "1"])
def test_a_batch_whose_snapshot_others_expired_is_known(log: str) -> None:
    table = make(**{"write.metadata.previous-versions-max": log})
    append(table, "a", 1)
    made = head(table)
    for _ in range(3):
        table.append(ROW)
    gone = [each.snapshot_id for each in table.refresh().snapshots()[:-1]]
    expired_by_others(table, *gone)
    assert made in gone
    assert is_committed(table, "a", 1)
    assert not is_committed(table, "a", 2)


def with_a_batch_rolled_back() -> Table:
    """A table whose batch a1, the second of four commits, was rolled back."""
    table = make()
    table.append(ROW)
    first = head(table)
    append(table, "a", 1)
    table.manage_snapshots().rollback_to_snapshot(first).commit()
    table.append(ROW)
    table.append(ROW)
    return table


def test_a_batch_that_was_rolled_back_and_expired_lands_again() -> None:
    table = make()
    table.append(ROW)
    first = head(table)
    append(table, "a", 1)
    rolled_back = head(table)
    table.manage_snapshots().rollback_to_snapshot(first).commit()
    table.append(ROW)
    table.append(ROW)
    gone = [each.snapshot_id for each in table.refresh().snapshots()[:-1]]
    assert rolled_back in gone
    expired_by_others(table, *gone)
    append(table, "a", 1)
    assert len(ids(table)) == 4


def silent_about(table: Table, patch: pytest.MonkeyPatch) -> None:
    """From now on the store fails where a former metadata file of the table is read."""
    former = {entry.metadata_file for entry in table.refresh().metadata.metadata_log}
    real = FsspecIO.read_bytes

    def read_bytes(io: FsspecIO, path: str) -> bytes:
        if path in former:
            raise StorageError("no answer")
        return real(io, path)

    patch.setattr(FsspecIO, "read_bytes", read_bytes)


def test_a_rolled_back_batch_is_not_taken_for_landed_while_the_store_is_silent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = with_a_batch_rolled_back()
    expired_by_others(table, *[each.snapshot_id for each in table.snapshots()[:-1]])
    silent_about(table, monkeypatch)
    with pytest.raises(StorageError, match="no answer"):
        append(table, "a", 1)
    monkeypatch.undo()
    append(table, "a", 1)
    assert len(ids(table)) == 4


def test_a_batch_does_not_land_twice_while_the_store_is_silent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = make()
    append(table, "a", 1)
    landed = head(table)
    table.append(ROW)
    before = head(table)
    append(table, "a", 2)
    rolled_back = head(table)
    table.manage_snapshots().rollback_to_snapshot(before).commit()
    table.append(ROW)
    expired_by_others(table, landed, rolled_back)
    silent_about(table, monkeypatch)
    with pytest.raises(StorageError, match="no answer"):
        append(table, "a", 1)
    assert len(ids(table)) == 3
    monkeypatch.undo()
    append(table, "a", 1)
    assert len(ids(table)) == 3


def test_our_expiry_forgets_what_was_rolled_back() -> None:
    table = with_a_batch_rolled_back()
    table.maintenance.expire_snapshots(older_than=1 << 60)
    assert not list(records_in(table.refresh().properties))
    assert not is_committed(table, "a", 1)


def test_notes_are_bounded_and_the_newest_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_token, "TOKENS", TokenLimits(records=3))
    table = make()
    for number in range(5):
        append(table, f"app {number}", 1)
    noted = {record.app_id for record in records_in(table.refresh().properties)}
    assert noted == {"app 2", "app 3", "app 4"}


@pytest.mark.parametrize(
    ("app", "branch"),
    [("a@main", "a@b"), ("a.b", "dev.1"), ("ü €", "main"), ("{}", "%40"), ("x" * 128, "main")],
)
def test_odd_names_of_apps_and_branches_are_distinguished(app: str, branch: str) -> None:
    table = make()
    table.append(ROW)
    if branch != "main":
        table.manage_snapshots().create_branch(head(table), branch).commit()
    append(table, app, 1, branch)
    found = list(records_in(table.refresh().properties))
    assert [(one.app_id, one.branch, one.version) for one in found] == [(app, branch, 1)]


def test_properties_that_are_no_notes_are_passed_over() -> None:
    table = make()
    odd = {"txn.a@main": "[1]", "txn.b@main": "{", "txn.": "x", "txn.c": "{}", "txn.d@main": ""}
    table.update_properties().set(odd).commit()
    append(table, "a", 1)
    append(table, "a", 1)
    assert len(ids(table)) == 1
    left = table.refresh().properties
    assert all(left[name] == text for name, text in odd.items() if name != "txn.a@main")


def test_epochs_of_a_stream_that_java_wrote_are_known() -> None:
    table = make()
    told = {"spark.sql.streaming.queryId": "q", "spark.sql.streaming.epochId": "7"}
    table.append(ROW, snapshot_properties=told)
    assert is_committed(table, "q", 7)
    assert not is_committed(table, "q", 8)
    table.append(ROW)
    table.maintenance.expire_snapshots(older_than=1 << 60)
    assert is_committed(table, "q", 7)


def test_verbs_of_a_batch_that_is_there_change_nothing() -> None:
    table = make()
    append(table, "a", 5)
    before = table.refresh().metadata_location
    batch = {"txn_app_id": "a", "txn_version": 5}
    table.overwrite(rows(id=[9], k=["z"]), **batch)
    table.dynamic_partition_overwrite(rows(id=[9], k=["z"]), **batch)
    assert table.delete("id = 1", **batch).deleted == 0
    assert table.upsert(rows(id=[1], k=["z"]), ["id"], **batch).added_records == 0
    with table.transaction(**batch) as tx:
        tx.append(ROW)
        tx.delete("id = 1")
    with table.transaction() as tx:
        tx.append(ROW, **batch)
    assert table.refresh().metadata_location == before
    assert ice.load_table(table.location()).scan().to_arrow() == pa.table(
        {"id": [1], "k": ["a"]}, schema=table.scan().to_arrow().schema
    )


def test_verbs_of_a_batch_that_is_new_land_with_its_note() -> None:
    table = make()
    table.append(rows(id=[1, 2, 3], k=["a", "b", "c"]), txn_app_id="a", txn_version=0)
    assert table.delete("id = 1", txn_app_id="a", txn_version=1).deleted == 1
    table.upsert(rows(id=[2], k=["z"]), ["id"], txn_app_id="a", txn_version=2)
    table.overwrite(rows(id=[4], k=["d"]), "id = 3", txn_app_id="a", txn_version=3)
    with table.transaction(txn_app_id="a", txn_version=4) as tx:
        tx.append(rows(id=[5], k=["e"]))
        tx.delete("id = 4")
    assert ids(table) == [2, 5]
    assert [record.version for record in records_in(table.refresh().properties)] == [4]
    said = [each.summary.get("txn.version") for each in table.snapshots()]
    assert said[:4] == ["0", "1", "2", "3"]


def test_a_batch_that_changes_nothing_is_noted() -> None:
    table = make()
    table.append(ROW)
    table.delete("id = 7", txn_app_id="a", txn_version=1)
    table.append(rows(id=[7], k=["x"]))
    assert table.delete("id = 7", txn_app_id="a", txn_version=1).deleted == 0
    assert ids(table) == [1, 7]


@pytest.mark.parametrize(
    ("app", "version", "said"),
    [
        ("a", None, "txn_version"),
        (None, 1, "txn_app_id"),
        ("", 1, "1 to 128"),
        ("x" * 129, 1, "1 to 128"),
        ("a", -1, "0 to 2"),
        ("a", 1 << 63, "0 to 2"),
        ("a", "1", "integer"),
        (7, 1, "text"),
    ],
)
def test_half_a_batch_or_an_odd_one_is_refused(app: object, version: object, said: str) -> None:
    with (
        pytest.raises(ValueError, match=said)
        if said not in ("integer", "text")
        else (pytest.raises(TypeError, match=said))
    ):
        make().append(ROW, txn_app_id=app, txn_version=version)  # type: ignore[arg-type]


class Raced(FileSystemCatalog):
    """A catalog where another writer is quicker, once."""

    __slots__ = ("quicker",)

    def __init__(self, quicker: Callable[[], object]) -> None:
        super().__init__("raced")
        self.quicker: Callable[[], object] | None = quicker

    def commit(self, *args: Any) -> LoadedTable:
        quicker, self.quicker = self.quicker, None
        if quicker is not None:
            quicker()
        return super().commit(*args)


@pytest.mark.parametrize("rival", ["a", "b"])
@pytest.mark.parametrize("verb", ["append", "upsert", "delete", "transaction"])
def test_a_batch_that_another_driver_commits_meanwhile_lands_once(verb: str, rival: str) -> None:
    table = make()
    table.append(rows(id=[7], k=["x"]))
    other = ice.load_table(table.location())
    raced = Table(Raced(lambda: append(other, rival, 1)), CATALOG.load(table.location()))
    batch: dict[str, Any] = {"txn_app_id": "a", "txn_version": 1}
    if verb == "append":
        raced.append(rows(id=[2], k=["b"]), **batch)
    elif verb == "upsert":
        raced.upsert(rows(id=[2], k=["b"]), ["id"], **batch)
    elif verb == "delete":
        assert raced.delete("id = 7", **batch).deleted == (0 if rival == "a" else 1)
    else:
        with raced.transaction(**batch) as tx:
            tx.append(rows(id=[2], k=["b"]))
            tx.delete("id = 7")
    mine = {"append": [2, 7], "upsert": [2, 7], "delete": [], "transaction": [2]}[verb]
    expected = [1, 7] if rival == "a" else [1, *mine]
    assert ids(table.refresh()) == expected
    assert ids(raced) == expected
    if rival == "a":  # what was written for nothing is gone
        there = set(table.inspect.files()["file_path"].to_pylist())
        assert data_files(table) == there


@pytest.mark.parametrize("mode", ["copy-on-write", "merge-on-read"])
def test_the_same_change_by_another_driver_is_no_conflict(mode: str) -> None:
    table = make(**{"write.delete.mode": mode})
    table.append(rows(id=[1, 2], k=["a", "b"]))
    batch: dict[str, Any] = {"txn_app_id": "a", "txn_version": 1}
    other = ice.load_table(table.location())
    raced = Table(Raced(lambda: other.delete("id = 1", **batch)), CATALOG.load(table.location()))
    assert raced.delete("id = 1", **batch).deleted == 0
    assert ids(table.refresh()) == [2]


def test_a_transaction_with_more_in_it_than_the_batch_is_refused() -> None:
    table = make()
    other = ice.load_table(table.location())
    raced = Table(Raced(lambda: append(other, "a", 1)), CATALOG.load(table.location()))
    tx = raced.transaction()
    tx.append(rows(id=[2], k=["b"]), txn_app_id="a", txn_version=1)
    tx.append(rows(id=[3], k=["b"]))
    with pytest.raises(AlreadyCommittedException, match="'a'"):
        tx.commit_transaction()
    assert ids(table.refresh()) == [1]
    with raced.refresh().transaction() as tx:
        tx.append(rows(id=[2], k=["b"]), txn_app_id="a", txn_version=1)
        tx.append(rows(id=[3], k=["b"]))
    assert ids(table.refresh()) == [1, 3]


class Lost(FileSystemCatalog):
    """A catalog whose answer to a commit is lost, and that can't be asked for a while."""

    __slots__ = ("silent",)

    def commit(self, *args: Any) -> LoadedTable:
        super().commit(*args)
        self.silent = True
        raise CommitStateUnknownException("no answer")

    def load(self, identifier: str) -> LoadedTable:
        if getattr(self, "silent", False):
            raise StorageError("no answer")
        return super().load(identifier)


def test_a_batch_whose_answer_was_lost_is_not_written_again() -> None:
    table = make()
    lost = Table(Lost("lost"), CATALOG.load(table.location()))
    with pytest.raises(CommitStateUnknownException):
        append(lost, "a", 1)
    append(table, "a", 1)
    assert len(ids(table.refresh())) == 1
