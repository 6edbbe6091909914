"""Several changes in one commit, and what is left when they don't land."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import iceberg_spark as ice
from iceberg_spark.api import staged_changes
from iceberg_spark.errors import (
    CommitStateUnknownException,
    InvalidInputError,
    InvalidSchemaError,
    ValidationException,
)
from iceberg_spark.spec.data_file import DataFile, DataFileContent
from tests.unit.api.tables import data_files, files_below, ids, make, rows


def described(task: Any) -> DataFile:
    return DataFile(
        content=DataFileContent.DATA,
        file_path=task.file_path,
        file_format=task.file_format,
        partition=task.partition,
        record_count=task.record_count,
        file_size_in_bytes=task.file_size_in_bytes,
        partition_spec_id=task.spec_id,
    )


def test_several_changes_are_one_commit():
    table = make(partition_by=["k"])
    with table.transaction() as tx:
        tx.append(rows(id=[1], k=["a"]))
        tx.append(rows(id=[2], k=["b"]))
        tx.set_properties({"owner": "me"})
        assert ice.load_table(table.location()).snapshots() == []
    assert ids(table) == [1, 2]
    assert table.properties["owner"] == "me"
    assert len(table.metadata.metadata_log) == 1
    assert len(table.snapshots()) == 2


def test_an_overwrite_replaces_matching_rows_appended_before_it():
    table = make()
    with table.transaction() as tx:
        tx.append(rows(id=[1, 2]))
        tx.overwrite(rows(id=[9]), "id = 1")
    assert ids(table) == [2, 9]


def test_an_overwrite_of_all_replaces_what_was_appended_before_it():
    table = make()
    table.append(rows(id=[0]))
    with table.transaction() as tx:
        tx.append(rows(id=[1, 2]))
        tx.overwrite(rows(id=[9]))
    assert ids(table) == [9]


def test_a_write_follows_properties_set_before_it():
    table = make()
    with table.transaction() as tx:
        tx.set_properties({"write.format.default": "avro"})
        tx.append(rows(id=[1]))
    assert [task.file_path.rpartition(".")[2] for task in table.scan().plan_files()] == ["avro"]


def test_files_of_a_landed_transaction_are_exactly_those_in_use(tmp_path: Path):
    table = make(tmp_path / "t")
    with table.transaction() as tx:
        tx.append(rows(id=[1, 2]))
        tx.overwrite(rows(id=[9]), "id = 1")
    manifests = {name for name in files_below(tmp_path / "t" / "metadata") if "-m" in name}
    lists = {name for name in files_below(tmp_path / "t" / "metadata") if "snap-" in name}
    assert (len(lists), len(manifests)) == (2, 3)  # appended; removed and added by the overwrite


def test_an_error_in_the_block_removes_what_was_written(tmp_path: Path):
    table = make(tmp_path / "t")
    before = files_below(tmp_path)
    transaction = table.transaction()
    transaction.append(rows(id=[1]))
    transaction.overwrite(rows(id=[2]), "id = 1")
    assert files_below(tmp_path) > before
    with pytest.raises(KeyError), transaction:
        raise KeyError("mine")
    assert files_below(tmp_path) == before
    assert table.refresh().snapshots() == []


def test_a_refused_change_removes_what_those_before_it_wrote(tmp_path: Path):
    table = make(tmp_path / "t")
    before = files_below(tmp_path)
    transaction = table.transaction()
    transaction.append(rows(id=[1]))
    with pytest.raises(InvalidSchemaError), transaction:
        transaction.append(rows(nope=[1]))
    assert files_below(tmp_path) == before


def test_nothing_is_removed_when_the_commit_may_have_landed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    table = make(tmp_path / "t")

    def unknown(*_: Any, **__: Any) -> None:
        raise CommitStateUnknownException("the line went dead")

    monkeypatch.setattr(staged_changes, "commit", unknown)
    with pytest.raises(CommitStateUnknownException):
        table.append(rows(id=[1]))
    assert len(data_files(table)) == 1


def test_without_changes_nothing_is_committed():
    table = make()
    with table.transaction():
        pass
    assert table.refresh().metadata.metadata_log == ()


def test_a_transaction_goes_on_after_its_commit():
    table = make()
    tx = table.transaction()
    tx.append(rows(id=[1]))
    tx.commit_transaction()
    tx.append(rows(id=[2]))
    tx.commit_transaction()
    assert ids(table) == [1, 2]


def test_files_are_replaced_by_their_descriptions():
    table = make()
    table.append(rows(id=[1]))
    table.append(rows(id=[2]))
    first = next(task for task in table.scan(row_filter="id = 1").plan_files())
    with table.transaction() as tx:
        tx.overwrite_files(delete=[described(first)])
    assert ids(table) == [2]
    with table.transaction() as tx:
        tx.overwrite_files(add=[described(first)], snapshot_properties={"job": "back"})
    assert ids(table) == [1, 2]
    assert table.current_snapshot().summary["job"] == "back"


def test_a_file_to_delete_that_is_gone_is_named():
    table = make()
    table.append(rows(id=[1]))
    (task,) = table.scan().plan_files()
    table.overwrite(rows(id=[2]))
    with pytest.raises(ValidationException, match=task.file_path), table.transaction() as tx:
        tx.overwrite_files(delete=[described(task)])
    assert ids(table) == [2]


def test_delete_files_are_not_added_as_data():
    table = make()
    file = DataFile(
        content=DataFileContent.POSITION_DELETES,
        file_path="memory://api/d.parquet",
        file_format=ice.FileFormat.PARQUET,
        partition=(),
        record_count=1,
        file_size_in_bytes=1,
    )
    with pytest.raises(InvalidInputError, match=r"d\.parquet"), table.transaction() as tx:
        tx.overwrite_files(add=[file])


def test_a_change_after_the_with_block_is_refused_and_the_block_can_begin_anew():
    table = make()
    with table.transaction() as tx:
        tx.append(rows(id=[1]))
    with pytest.raises(InvalidInputError, match="has ended"):
        tx.append(rows(id=[2]))
    with tx:
        tx.append(rows(id=[3]))
    assert ids(table) == [1, 3]
    assert "ended" in repr(tx)


def test_a_branch_is_made_and_appended_to_in_one_commit(tmp_path: Path) -> None:
    table = ice.create_table(str(tmp_path / "t"), pa.schema([("id", pa.int64())]))
    table.append(pa.table({"id": [1]}))
    before = table.metadata_location
    tx = table.transaction()
    tx.manage_snapshots().create_branch(None, "audit").commit()
    tx.append(pa.table({"id": [4]}), branch="audit")
    assert table.refresh().metadata_location == before
    tx.commit_transaction()
    assert sorted(table.scan(branch="audit").to_arrow().column("id").to_pylist()) == [1, 4]
    assert table.scan().count() == 1


MODES = ["copy-on-write", "merge-on-read"]


def of_three(mode: str) -> ice.Table:
    table = make(write_delete_mode=mode)
    table.append(rows(id=[1, 2, 3]))
    return table


@pytest.mark.parametrize("mode", MODES)
def test_rows_of_a_branch_change_in_the_commit_that_makes_it(mode: str) -> None:
    table = of_three(mode)
    with table.transaction() as tx:
        tx.manage_snapshots().create_branch(None, "audit").commit()
        tx.delete("id = 1", branch="audit")
        tx.append(rows(id=[4, 5]), branch="audit")
        tx.delete("id = 4", branch="audit")
        tx.overwrite(rows(id=[20]), overwrite_filter="id = 2", branch="audit")
    assert ids(table, branch="audit") == [3, 5, 20]
    assert ids(table) == [1, 2, 3]


@pytest.mark.parametrize("mode", MODES)
def test_rows_of_an_empty_tables_branch_change_in_the_commit_that_makes_it(mode: str) -> None:
    table = make(write_delete_mode=mode)
    with table.transaction() as tx:
        tx.manage_snapshots().create_branch(None, "audit").commit()
        tx.append(rows(id=[1, 2]), branch="audit")
        tx.delete("id = 1", branch="audit")
    assert ids(table, branch="audit") == [2]
    assert ids(table) == []


@pytest.mark.parametrize("mode", MODES)
def test_rows_change_in_the_commit_that_moves_their_branch(mode: str) -> None:
    table = of_three(mode)
    first = table.current_snapshot().snapshot_id
    table.manage_snapshots().create_branch(first, "audit").commit()
    table.append(rows(id=[4]), branch="audit")
    table.append(rows(id=[5]))
    with table.transaction() as tx:
        tx.manage_snapshots().replace_branch(first, "audit").commit()
        tx.delete("id = 1", branch="audit")
        tx.manage_snapshots().rollback_to_snapshot(first).commit()
        tx.delete("id = 2")
    assert ids(table, branch="audit") == [2, 3]
    assert ids(table) == [1, 3]


@pytest.mark.parametrize("mode", MODES)
def test_a_change_of_a_new_branch_conflicts_with_rows_that_came_to_where_it_begins(
    mode: str,
) -> None:
    """The branch begins at the newest snapshot: rows that came there were not looked at."""
    table = of_three(mode)
    tx = ice.load_table(table.location()).transaction()
    tx.manage_snapshots().create_branch(None, "audit").commit()
    tx.delete("id = 1", branch="audit")
    table.append(rows(id=[1]))
    with pytest.raises(ValidationException):
        tx.commit_transaction()
    assert set(table.refresh().refs()) == {"main"}


@pytest.mark.parametrize("mode", MODES)
def test_a_change_of_a_new_branch_at_a_snapshot_conflicts_with_nothing(mode: str) -> None:
    table = of_three(mode)
    tx = ice.load_table(table.location()).transaction()
    tx.manage_snapshots().create_branch(table.current_snapshot().snapshot_id, "audit").commit()
    tx.delete("id = 1", branch="audit")
    table.append(rows(id=[1]))
    tx.commit_transaction()
    assert ids(table.refresh(), branch="audit") == [2, 3]
    assert ids(table) == [1, 1, 2, 3]


def test_a_branch_that_another_writer_made_meanwhile_is_not_changed() -> None:
    table = of_three("copy-on-write")
    tx = ice.load_table(table.location()).transaction()
    tx.manage_snapshots().create_branch(None, "audit").commit()
    tx.delete("id = 1", branch="audit")
    table.manage_snapshots().create_branch(None, "audit").commit()
    with pytest.raises(InvalidInputError, match="already"):
        tx.commit_transaction()
    assert ids(table.refresh(), branch="audit") == [1, 2, 3]
