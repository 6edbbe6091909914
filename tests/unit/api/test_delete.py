"""Deleting rows without Spark: whole files, rewritten files, position deletes."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import iceberg_spark as ice
from iceberg_spark import Table
from iceberg_spark.commits.commit import commit
from iceberg_spark.commits.new_manifests import data_files_of, read_entries
from iceberg_spark.commits.row_delta import RowDelta
from iceberg_spark.errors import (
    InvalidExpressionError,
    InvalidInputError,
    NoSuchSnapshotError,
    UnsupportedError,
    ValidationException,
)
from iceberg_spark.io import fsspec_io
from iceberg_spark.manifest.manifest_list import read_manifest_list
from iceberg_spark.spec.data_file import DataFile
from iceberg_spark.spec.manifest_file import ManifestContent
from iceberg_spark.spec.reserved import DELETE_FILE_PATH_ID, DELETE_FILE_POS_ID
from iceberg_spark.write.context import TaskId
from iceberg_spark.write.new_write import write_context
from iceberg_spark.write.position_delete_writer import write_position_deletes
from tests.unit.api.tables import data_files, files_below, ids, make, rows

MODES = ("copy-on-write", "merge-on-read")
MERGE_ON_READ = {"write.delete.mode": "merge-on-read"}


def filled(where: Path | None = None, partition_by: tuple[str, ...] = (), **given: str) -> Table:
    """Ids 1 to 6 in one file where unpartitioned: k is a, a, b, b, null, c."""
    table = make(where, partition_by=partition_by, **given)
    table.append(rows(id=[1, 2, 3, 4, 5, 6], k=["a", "a", "b", "b", None, "c"]))
    return table


def live(table: Table, content: ManifestContent) -> list[DataFile]:
    """The live files of the current snapshot, as entries say."""
    base, found = table.metadata, []
    for manifest in read_manifest_list(table.io, table.current_snapshot(), base):
        if manifest.content is content:
            entries = read_entries(table.io, base, manifest)
            is_live = [status != 2 for status in entries.column("status").to_pylist()]
            found += data_files_of(base, manifest, entries.filter(is_live))
    return found


def delete_files(table: Table) -> list[DataFile]:
    return live(table, ManifestContent.DELETES)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("partition_by", [(), ("k",), ("bucket(2, id)",)])
def test_matching_rows_go_and_the_others_stay(mode: str, partition_by: tuple[str, ...]):
    table = filled(partition_by=partition_by, **{"write.delete.mode": mode})
    assert table.delete("id >= 5 or k = 'a' and id = 2").deleted == 3
    assert ids(table) == [1, 3, 4]
    assert table.delete(ice.col("k") == "b").deleted == 2
    assert ids(table) == [1]


@pytest.mark.parametrize("mode", MODES)
def test_rows_for_which_the_filter_is_null_stay(mode: str):
    table = filled(**{"write.delete.mode": mode})
    table.delete("k <> 'a'")
    assert ids(table) == [1, 2, 5]


@pytest.mark.parametrize("mode", MODES)
def test_nothing_is_committed_when_no_row_matches(mode: str):
    table = filled(**{"write.delete.mode": mode})
    before, files = table.current_snapshot(), data_files(table)
    assert table.delete("id = 3 and k = 'a'").deleted == 0
    assert table.current_snapshot() == before
    assert data_files(table) == files


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("where", ["k = 'a'", "id between 1 and 6", "true"])
def test_whole_files_go_by_metadata_alone(mode: str, where: str, monkeypatch: pytest.MonkeyPatch):
    table = filled(partition_by=("k",), **{"write.delete.mode": mode})
    opened = []
    for name in ("open", "read_bytes", "arrow"):
        known = getattr(fsspec_io.FsspecIO, name)

        def watched(io: Any, path: str, known: Any = known) -> Any:
            opened.append(path)
            return known(io, path)

        monkeypatch.setattr(fsspec_io.FsspecIO, name, watched)
    before = data_files(table)
    counts = table.delete(where)
    assert opened
    assert not [path for path in opened if path.endswith(".parquet")]
    assert data_files(table) == before  # nothing written, nothing removed
    assert counts.deleted == (2 if where == "k = 'a'" else 6)
    summary = table.current_snapshot().summary
    assert table.current_snapshot().operation == "delete"
    assert summary["deleted-records"] == str(counts.deleted)


def test_files_without_a_matching_row_are_not_rewritten():
    table = filled()
    table.append(rows(id=[1, 9], k=["x", "x"]))  # bounds overlap, no row matches
    stays = {f.file_path for f in live(table, ManifestContent.DATA) if f.record_count == 2}
    counts = table.delete("id = 3")
    assert ids(table) == [1, 1, 2, 4, 5, 6, 9]
    assert stays < {file.file_path for file in live(table, ManifestContent.DATA)}
    assert counts.metrics["deleted-data-files"] == "1"
    assert counts.metrics["added-data-files"] == "1"
    assert counts.metrics["total-records"] == "7"
    assert table.current_snapshot().operation == "overwrite"


def test_merge_on_read_adds_position_deletes_and_leaves_the_data():
    table = filled(**MERGE_ON_READ)
    (data,) = live(table, ManifestContent.DATA)
    counts = table.delete("k = 'b'")
    assert ids(table) == [1, 2, 5, 6]
    assert live(table, ManifestContent.DATA)[0].file_path == data.file_path
    assert table.current_snapshot().operation == "delete"
    assert counts.metrics["added-position-delete-files"] == "1"
    assert counts.metrics["added-position-deletes"] == "2"
    assert counts.metrics["total-position-deletes"] == "2"


def test_a_delete_file_says_which_data_file_and_positions_it_is_about(tmp_path: Path):
    table = filled(tmp_path / "t", **MERGE_ON_READ)
    (data,) = live(table, ManifestContent.DATA)
    table.delete("id in (5, 2)")
    (deletes,) = delete_files(table)
    assert deletes.referenced_data_file == data.file_path
    assert deletes.sort_order_id is None
    assert deletes.partition_spec_id == data.partition_spec_id
    assert deletes.lower_bounds[DELETE_FILE_PATH_ID] == data.file_path.encode()
    assert deletes.upper_bounds[DELETE_FILE_PATH_ID] == data.file_path.encode()
    assert deletes.lower_bounds[DELETE_FILE_POS_ID] == (1).to_bytes(8, "little")
    assert deletes.upper_bounds[DELETE_FILE_POS_ID] == (4).to_bytes(8, "little")
    written = pq.read_table(deletes.file_path.removeprefix("file:"))
    assert written["pos"].to_pylist() == [1, 4]
    assert set(written["file_path"].to_pylist()) == {data.file_path}


def test_with_granularity_file_older_deletes_are_merged():
    table = filled(**MERGE_ON_READ)
    table.delete("id = 2")
    counts = table.delete("id = 5")
    (deletes,) = delete_files(table)
    assert deletes.record_count == 2
    assert counts.deleted == 1
    assert counts.metrics["removed-position-delete-files"] == "1"
    assert ids(table) == [1, 3, 4, 6]


def test_with_granularity_partition_one_file_holds_all_deletes_of_a_partition():
    table = make(**MERGE_ON_READ, **{"write.delete.granularity": "partition"})
    table.append(rows(id=[1, 2]))
    table.append(rows(id=[1, 3]))
    table.delete("id = 1")
    (deletes,) = delete_files(table)
    assert deletes.record_count == 2
    assert deletes.referenced_data_file is None
    table.delete("id = 3")
    assert len(delete_files(table)) == 2
    assert ids(table) == [2]


def test_deletes_that_other_files_share_are_left_when_granularity_becomes_file():
    table = make(**MERGE_ON_READ, **{"write.delete.granularity": "partition"})
    table.append(rows(id=[1, 2]))
    table.append(rows(id=[1, 3, 4]))
    table.delete("id = 1")
    table.update_properties().set({"write.delete.granularity": "file"}).commit()
    table.delete("id = 3")
    assert sorted(file.record_count for file in delete_files(table)) == [1, 2]
    assert ids(table) == [2, 4]


@pytest.mark.parametrize("kind", ["parquet", "orc", "avro"])
def test_delete_files_have_the_format_that_the_table_says(kind: str):
    table = filled(**MERGE_ON_READ, **{"write.delete.format.default": kind})
    table.delete("id = 2")
    assert delete_files(table)[0].file_format.value.lower() == kind
    assert ids(table) == [1, 3, 4, 5, 6]


def test_deletes_take_the_spec_and_partition_of_the_data_file():
    table = filled(partition_by=("k",), **MERGE_ON_READ)
    table.delete("id = 1")
    (deletes,) = delete_files(table)
    assert deletes.partition == ("a",)
    assert ids(table) == [2, 3, 4, 5, 6]


def test_a_scan_of_deleted_rows_counts_them(tmp_path: Path):
    properties = {"format-version": "3", "write.delete.mode": "merge-on-read"}
    table = ice.create_table(str(tmp_path / "t"), "id bigint", properties=properties)
    table.append(pa.table({"id": range(10)}))
    table.delete("id = 3")
    scan = table.refresh().scan(metadata_columns=("_deleted",))
    assert (scan.count(), scan.to_arrow().num_rows, table.scan().count()) == (10, 10, 9)


def test_rows_that_are_deleted_already_are_not_deleted_again():
    table = filled(**MERGE_ON_READ)
    table.delete("id <= 2")
    assert table.delete("id <= 3").deleted == 1
    assert ids(table) == [4, 5, 6]
    table.update_properties().set({"write.delete.mode": "copy-on-write"}).commit()
    assert table.delete("id <= 4").deleted == 1
    assert ids(table) == [5, 6]


def test_dropping_a_file_counts_the_rows_that_were_left():
    table = filled(**MERGE_ON_READ)
    table.delete("id <= 2")
    assert table.delete("id <= 6").deleted == 4
    assert ids(table) == []


def test_positions_that_a_file_does_not_have_are_no_rows_that_were_deleted():
    table = filled()
    (task, *_) = table.scan().plan_files()
    deletes = write_position_deletes(
        write_context(table.metadata),
        table.io,
        pa.table({"file_path": [task.file_path] * 2, "pos": [0, 2**40]}),
        spec=table.spec(),
        partition=task.partition,
        task=TaskId(),
    )
    commit(table._catalog, table.identifier, RowDelta(deletes=deletes), table._loaded)
    table.refresh()
    left = table.scan().count()
    assert table.delete("true").deleted == left


def test_format_version_1_refuses_merge_on_read_and_upserts_by_name():
    table = filled(**MERGE_ON_READ, **{"format-version": "1"})
    for change in (
        lambda: table.delete("id = 1"),
        lambda: table.upsert(rows(id=[1], k=["z"]), ["id"]),
    ):
        with pytest.raises(UnsupportedError, match="format-version"):
            change()
    assert ids(table) == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("partition_by", [(), ("k",)])
def test_format_version_1_deletes_by_copy_on_write(partition_by: tuple[str, ...]):
    table = filled(partition_by=partition_by, **{"format-version": "1"})
    assert table.delete("id = 1 or k = 'b'").deleted == 3
    table.append(rows(id=[7], k=["a"]))
    assert table.delete("id > 5").deleted == 2
    assert ids(table) == [2, 5]
    assert table.metadata.format_version == 1
    assert not table.maintenance.check().problems


def test_a_delete_of_format_version_1_is_in_conflict_with_rows_added_meanwhile(tmp_path: Path):
    table = filled(tmp_path / "t", **{"format-version": "1"})
    tx = table.transaction()
    tx.delete("id = 1")
    ice.load_table(table.location()).append(rows(id=[1], k=["a"]))
    with pytest.raises(ValidationException, match="Conflict"):
        tx.commit_transaction()
    assert ids(table.refresh()) == [1, 1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize(
    ("predicate", "error"),
    [
        ("nothing = 1", InvalidExpressionError),
        ("rand() < 0.5", InvalidExpressionError),
        ("id", InvalidExpressionError),
        (None, InvalidInputError),
        (5, InvalidInputError),
    ],
)
def test_a_predicate_that_cannot_be_used_changes_nothing(predicate: Any, error: type, tmp_path):
    table = filled(tmp_path / "t")
    before = files_below(tmp_path)
    with pytest.raises(error):
        table.delete(predicate)
    assert files_below(tmp_path) == before


def test_a_delete_on_a_branch_leaves_main_alone():
    table = filled(**MERGE_ON_READ)
    with pytest.raises(NoSuchSnapshotError, match="audit"):
        table.delete("id = 1", branch="audit")


def test_a_transaction_deletes_rows_that_it_appended():
    table = filled(**MERGE_ON_READ)
    with table.transaction() as tx:
        tx.append(rows(id=[7, 8]))
        assert tx.delete("id in (1, 7)").deleted == 2
    assert ids(table) == [2, 3, 4, 5, 6, 8]


@pytest.mark.parametrize("mode", MODES)
def test_what_a_delete_wrote_is_removed_when_it_does_not_land(mode: str, tmp_path: Path):
    table = filled(tmp_path / "t", **{"write.delete.mode": mode})
    other = ice.load_table(table.location())
    tx = table.transaction()
    tx.delete("id = 1")
    other.append(rows(id=[1]))
    before = data_files(other)
    with pytest.raises(ValidationException, match="data file"):
        tx.commit_transaction()
    assert data_files(other) < before
    assert ids(other) == [1, 1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("mode", MODES)
def test_with_isolation_snapshot_an_append_meanwhile_wins_too(mode: str):
    table = filled(**{"write.delete.mode": mode, "write.delete.isolation-level": "snapshot"})
    other = ice.load_table(table.location())
    tx = table.transaction()
    tx.delete("id = 1")
    other.append(rows(id=[1]))
    tx.commit_transaction()
    assert ids(table) == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("mode", MODES)
def test_rows_added_outside_the_filter_are_no_conflict(mode: str):
    table = filled(partition_by=("k",), **{"write.delete.mode": mode})
    other = ice.load_table(table.location())
    tx = table.transaction()
    tx.delete("k = 'a' and id = 1")
    other.append(rows(id=[1], k=["z"]))
    tx.commit_transaction()
    assert ids(table) == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("mode", MODES)
def test_a_column_that_got_another_name_meanwhile_is_a_conflict(mode: str):
    table = filled(**{"write.delete.mode": mode})
    other = ice.load_table(table.location())
    transaction = table.transaction()
    transaction.delete("k = 'a' and id > 1")
    with other.update_schema() as update:
        update.rename_column("k", "j")
        update.add_column("unrelated", "int")
    with pytest.raises(ValidationException, match="changed the columns"):
        transaction.commit_transaction()
    assert ids(table.refresh()) == [1, 2, 3, 4, 5, 6]
    transaction = table.transaction()
    transaction.delete("j = 'a' and id > 1")
    with other.update_schema() as update:
        update.delete_column("unrelated")
    transaction.commit_transaction()
    assert ids(table) == [1, 3, 4, 5, 6]


@pytest.mark.parametrize("mode", MODES)
def test_a_data_file_that_was_rewritten_meanwhile_is_a_conflict(mode: str):
    table = filled(**{"write.delete.mode": mode, "write.delete.isolation-level": "snapshot"})
    other = ice.load_table(table.location())
    (task,) = table.scan().plan_files()
    tx = table.transaction()
    tx.delete("id = 1")
    with other.transaction() as compaction:
        (old,) = live(other, ManifestContent.DATA)
        new = replace(old, file_path=old.file_path.replace(".parquet", "-copy.parquet"))
        with other.io.create(new.file_path) as copy:
            copy.write(b"PAR1")
        compaction.overwrite_files(add=[new], delete=[old])
    with pytest.raises(ValidationException, match=Path(task.file_path).name):
        tx.commit_transaction()


def test_new_deletes_for_a_file_that_is_rewritten_are_a_conflict():
    table = filled()
    other = ice.load_table(table.location())
    tx = table.transaction()
    tx.delete("id = 1")
    other.update_properties().set(MERGE_ON_READ).commit()
    other.delete("id = 2")
    with pytest.raises(ValidationException, match="deletes"):
        tx.commit_transaction()
    assert ids(other) == [1, 3, 4, 5, 6]


def test_two_deletes_of_the_same_rows_by_position_agree():
    table = filled(**MERGE_ON_READ)
    other = ice.load_table(table.location())
    tx = table.transaction()
    tx.delete("id in (1, 2)")
    other.delete("id in (2, 3)")
    tx.commit_transaction()
    assert ids(table) == [4, 5, 6]


def test_rows_that_equality_deletes_removed_do_not_come_back_when_their_file_is_rewritten():
    table = filled()
    table.upsert(rows(id=[5], _op=["D"], k=["x"]), ["id"])  # bounds that the filter can't match
    table.delete("id = 1")
    assert ids(table) == [2, 3, 4, 6]
    table.overwrite(rows(id=[9]), "id = 2")
    assert ids(table) == [3, 4, 6, 9]


@pytest.mark.parametrize("mode", ["copy-on-write", "merge-on-read"])
def test_rows_of_two_specs_are_deleted_and_overwritten(mode: str) -> None:
    """Position deletes keep to the spec of their data file; a rewritten file takes the new one."""
    table = make(schema="id bigint, k string", partition_by=["k"], **{"write.delete.mode": mode})
    table.append(rows(id=[1, 2, 3], k=["a", "a", "b"]))
    table.update_spec().remove_field("k").add_field("bucket(1, id)", "b").commit()
    table.append(rows(id=[4, 5], k=["a", "b"]))
    table.delete("id = 1 or id = 4")
    assert ids(table) == [2, 3, 5]
    if mode == "merge-on-read":
        assert {file.partition_spec_id for file in delete_files(table)} == {0, 1}
    table.dynamic_partition_overwrite(rows(id=[6], k=["c"]))
    assert 5 not in ids(table) and 6 in ids(table) and 3 in ids(table)
