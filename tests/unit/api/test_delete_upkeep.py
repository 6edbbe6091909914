"""Dangling deletes, position delete files by Java's options, and what expiry cleans besides."""

from dataclasses import replace
from itertools import count
from typing import Any

import pytest

import iceberg_spark as ice
from iceberg_spark import Table
from iceberg_spark.api import maintenance
from iceberg_spark.commits.commit import commit
from iceberg_spark.commits.overwrite_files import OverwriteFiles
from iceberg_spark.commits.rewrite_files import RewriteFiles
from iceberg_spark.errors import (
    InvalidInputError,
    InvalidOptionError,
    InvalidTypeError,
    ValidationException,
)
from iceberg_spark.scan.planned_files import data_file
from tests.unit.api.tables import ids, make, rows

MERGE_ON_READ = {"write.delete.mode": "merge-on-read"}
ALL = {"rewrite-all": "true"}


def deletes(table: Table) -> list[dict[str, Any]]:
    """The live delete files of the newest version."""
    found = ice.load_table(table.location()).inspect.delete_files()
    return found.select(["file_path", "content", "record_count", "spec_id"]).to_pylist()


def remove_data_files(table: Table, row_filter: str) -> None:
    """Remove data files and leave their deletes, as writers do that only list data files."""
    files = [data_file(task) for task in table.refresh().scan(row_filter).plan_files()]
    loaded = table._catalog.load(table.identifier)
    commit(table._catalog, table.identifier, OverwriteFiles((), files), loaded)
    table.refresh()


def test_delete_files_that_no_data_file_needs_are_removed() -> None:
    table = make(partition_by=["k"], **MERGE_ON_READ)
    table.append(rows(id=[1, 2, 3, 4, 5], k=["a", "a", "b", "b", "old"]))
    table.delete("id = 1")
    table.upsert(rows(id=[3], k=["b"]), ["id", "k"])
    remove_data_files(table, "k = 'a'")  # the position deletes of 'a' dangle
    remove_data_files(table, "k = 'b'")  # and so do the equality deletes of 'b'
    table.append(rows(id=[8, 9], k=["b", "a"]))
    before = deletes(table)
    result = table.maintenance.remove_dangling_deletes()
    assert sorted(result.removed_delete_files) == sorted(one["file_path"] for one in before)
    assert str(result) == f"{len(before)} delete files removed"
    assert before and not deletes(table)
    assert ids(table) == [5, 8, 9]


def test_deletes_that_are_older_than_all_data_files_go_with_the_last_older_one() -> None:
    table = make(partition_by=["k"], **MERGE_ON_READ)
    table.append(rows(id=[1, 2, 3], k=["a", "a", "b"]))
    table.delete("id = 1")
    table.upsert(rows(id=[3], k=["b"]), ["id", "k"])
    table.append(rows(id=[7], k=["c"]))
    table.delete("k = 'a'")
    assert len(deletes(table)) == 2
    table.delete("k = 'b'")
    assert deletes(table) == []
    assert ids(table) == [7]
    summary = table.refresh().current_snapshot().summary  # type: ignore[union-attr]
    assert (summary["removed-delete-files"], summary["total-delete-files"]) == ("2", "0")


def test_deletes_stay_where_another_commit_brings_older_rows_between_two_tries() -> None:
    table = make(partition_by=["k"])
    table.append(rows(id=[1], k=["a"]))
    table.upsert(rows(id=[2], k=["b"]), ["id", "k"])
    table.append(rows(id=[3], k=["c"]))
    files = {task.partition[0]: data_file(task) for task in table.scan().plan_files()}
    mine = OverwriteFiles((), [files["a"], files["b"]])
    catalog, loaded = table._catalog, table._catalog.load(table.identifier)
    first = mine.prepare(loaded.metadata, loaded.io)
    assert first.updates
    other = replace(files["c"], file_path=files["c"].file_path.replace(".parquet", "-2.parquet"))
    loaded.io.replace(other.file_path, loaded.io.read_bytes(files["c"].file_path))
    others = RewriteFiles(
        [other],
        [files["c"]],
        planned_on=loaded.metadata.current_snapshot_id,
        data_sequence_number=1,
    )
    commit(catalog, table.identifier, others, loaded)
    commit(catalog, table.identifier, mine, catalog.load(table.identifier))
    assert len(deletes(table)) == 1
    assert ids(table.refresh()) == [3]


def test_deletes_that_apply_to_a_file_stay() -> None:
    table = make(partition_by=["k"], **MERGE_ON_READ)
    table.append(rows(id=[1, 2, 3], k=["a", "a", "b"]))
    table.delete("id = 1")
    table.upsert(rows(id=[3], k=["b"]), ["id", "k"])
    head = table.current_snapshot()
    assert table.maintenance.remove_dangling_deletes().removed_delete_files_count == 0
    assert table.current_snapshot() == head
    assert len(deletes(table)) == 2


def test_a_global_delete_lives_as_long_as_an_older_file_of_any_partition() -> None:
    """Java compares within the partition, finds no data file there, and the rows come back."""
    table = make(partition_by=["k"])
    table.append(rows(id=[1, 2], k=["a", "b"]))
    table.upsert(rows(id=[1], k=["a"]), ["id"], global_delete=True)
    assert {one["spec_id"] for one in deletes(table)} != {table.spec().spec_id}
    assert table.maintenance.remove_dangling_deletes().removed_delete_files_count == 0
    assert ids(table) == [1, 2]


def many_position_deletes(**properties: str) -> Table:
    """Two partitions, each of a file of 20 rows, of which six were deleted one by one."""
    table = make(partition_by=["k"], **(MERGE_ON_READ | properties))
    table.append(rows(id=list(range(40)), k=["a", "b"] * 20))
    for number in range(12):
        with table.transaction() as tx:
            tx.delete(f"id = {number}")
    return table


def test_small_files_are_rewritten_where_there_are_enough() -> None:
    table = many_position_deletes(**{"write.delete.granularity": "partition"})
    before, said = deletes(table), ids(table)
    assert len(before) == 12
    few = table.maintenance.rewrite_position_delete_files({"min-input-files": 7})
    assert (few.rewritten_delete_files_count, few.added_delete_files_count) == (0, 0)
    result = table.maintenance.rewrite_position_delete_files()
    assert (result.rewritten_delete_files_count, result.added_delete_files_count) == (12, 2)
    assert result.rewritten_bytes_count > result.added_bytes_count > 0
    assert [one["record_count"] for one in deletes(table)] == [6, 6]
    assert ids(ice.load_table(table.location())) == said


def test_only_partitions_that_may_match_are_rewritten() -> None:
    table = many_position_deletes(**{"write.delete.granularity": "partition"})
    result = table.maintenance.rewrite_position_delete_files(ALL, "k = 'a' and id > 3")
    assert (result.rewritten_delete_files_count, result.added_delete_files_count) == (6, 1)
    other = table.maintenance.rewrite_position_deletes(ALL, "k = 'b'")
    assert (other.rewritten_delete_files_count, other.added_delete_files_count) == (6, 1)


def test_positions_of_a_partition_go_to_one_file_where_the_table_says_so() -> None:
    table = make(**(MERGE_ON_READ | {"write.delete.granularity": "partition"}))
    for start in (0, 10, 20):
        table.append(rows(id=list(range(start, start + 10)), k=["a"] * 10))
    table.delete("id in (1, 11)")
    table.delete("id in (2, 22)")
    result = table.maintenance.rewrite_position_delete_files(ALL)
    assert (result.rewritten_delete_files_count, result.added_delete_files_count) == (2, 1)
    table.update_properties().set({"write.delete.granularity": "file"}).commit()
    result = table.maintenance.rewrite_position_delete_files(ALL)
    assert (result.rewritten_delete_files_count, result.added_delete_files_count) == (1, 3)
    assert len(ids(table)) == 26


def test_partial_progress_commits_some_groups_at_a_time() -> None:
    table = many_position_deletes(**{"write.delete.granularity": "partition"})
    before = len(table.snapshots())
    options = {**ALL, "partial-progress.enabled": True, "partial-progress.max-commits": 2}
    result = table.maintenance.rewrite_position_delete_files(options)
    assert result.rewritten_delete_files_count == 12
    assert len(table.snapshots()) == before + 2


@pytest.mark.parametrize("conflicts", [1, 2])
def test_parts_that_conflict_are_left_out_where_another_landed(
    conflicts: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    table = many_position_deletes(**{"write.delete.granularity": "partition"})
    options = {**ALL, "partial-progress.enabled": True, "partial-progress.max-commits": 2}
    real, turns = maintenance.commit, count(1)

    def conflicting(*given: Any, **named: Any) -> Any:
        if next(turns) <= conflicts:
            raise ValidationException("removed meanwhile")
        return real(*given, **named)

    monkeypatch.setattr(maintenance, "commit", conflicting)
    if conflicts == 1:
        result = table.maintenance.rewrite_position_delete_files(options)
        assert result.rewritten_delete_files_count == 6
        assert "removed meanwhile" in caplog.text
    else:
        with pytest.raises(ValidationException, match="removed meanwhile"):
            table.maintenance.rewrite_position_delete_files(options)


def test_deletes_of_files_that_are_gone_just_go() -> None:
    table = many_position_deletes(**{"write.delete.granularity": "partition"})
    remove_data_files(table, "k = 'a'")
    result = table.maintenance.rewrite_position_delete_files(ALL)
    assert (result.rewritten_delete_files_count, result.added_delete_files_count) == (12, 1)


@pytest.mark.parametrize(
    "options", [{"min-input-file": 2}, {"min-input-files": 0}, {"delete-file-threshold": 2}]
)
def test_wrong_options_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(InvalidOptionError):
        make().maintenance.rewrite_position_delete_files(options)


def evolved() -> Table:
    table = make(partition_by=["k"])
    table.append(rows(id=[1], k=["a"]))
    table.update_spec().remove_field("k").add_field("bucket(2, id)").commit()
    table.update_schema().add_column("v", "int").commit()
    table.update_schema().rename_column("v", "w").commit()
    return table


def test_specs_and_schemas_that_nothing_needs_go_with_the_snapshots() -> None:
    table = evolved()
    table.maintenance.expire_snapshots(older_than=1 << 60, clean_expired_metadata=True)
    assert len(table.metadata.partition_specs) == 2  # the only snapshot has files of both
    assert len(table.metadata.schemas) == 2
    table.overwrite(pa_rows(table))
    table.maintenance.expire_snapshots(older_than=1 << 60)
    assert len(table.metadata.schemas) == 2
    table.maintenance.expire_snapshots(older_than=1 << 60, clean_expired_metadata=True)
    assert list(table.metadata.schemas) == [table.metadata.current_schema_id]
    assert ids(ice.load_table(table.location())) == [2]


def pa_rows(table: Table) -> Any:
    return rows(id=[2], k=["a"], w=[None]).cast(table.scan().to_arrow().schema)


def test_schemas_stay_while_equality_deletes_may_be_about_their_columns() -> None:
    table = make()
    table.append(rows(id=[1, 2], k=["a", "b"]))
    table.upsert(rows(id=[5], k=["a"]), ["k"])
    table.update_schema().delete_column("k").commit()
    table.append(rows(id=[6]))
    table.maintenance.expire_snapshots(older_than=1 << 60, clean_expired_metadata=True)
    assert len(table.metadata.schemas) == 2
    assert ids(ice.load_table(table.location())) == [2, 5, 6]


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"max_concurrent_deletes": 0}, InvalidInputError),
        ({"stream_results": 1}, InvalidTypeError),
        ({"clean_expired_metadata": "yes"}, InvalidTypeError),
    ],
)
def test_wrong_arguments_of_expiry_are_refused(
    given: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error):
        make().maintenance.expire_snapshots(**given)


def test_position_delete_files_become_deletion_vectors_in_version_3() -> None:
    table = many_position_deletes(**{"write.delete.granularity": "partition"})
    said = ids(table)
    table.update_properties().set({"format-version": "3"}).commit()
    result = table.maintenance.rewrite_position_delete_files(ALL)
    assert (result.rewritten_delete_files_count, result.added_delete_files_count) == (12, 2)
    assert {one["file_path"].rpartition(".")[2] for one in deletes(table)} == {"puffin"}
    assert ids(ice.load_table(table.location())) == said
    again = table.maintenance.rewrite_position_delete_files(ALL)
    assert again.rewritten_delete_files_count == 0


def test_a_dangling_deletion_vector_goes_and_its_neighbour_in_the_file_stays() -> None:
    table = make(**(MERGE_ON_READ | {"format-version": "3"}))
    table.append(rows(id=[1, 2], k=["a", "a"]))
    table.append(rows(id=[3, 4], k=["b", "b"]))
    table.delete("id in (1, 3)")
    assert len(deletes(table)) == 2
    table.overwrite(rows(id=[9], k=["c"]), "id > 2")
    gone = table.maintenance.remove_dangling_deletes().removed_delete_files_count
    assert len(deletes(table)) == 1
    assert gone in (0, 1)  # the overwrite itself may have removed the vector
    assert ids(ice.load_table(table.location())) == [2, 9]


def test_former_schemas_go_once_the_last_delete_file_has_gone() -> None:
    table = make(**MERGE_ON_READ)
    table.append(rows(id=[1, 2, 3], k=["a", "b", "c"]))
    table.delete("id = 1")
    table.update_schema().add_column("note", "string").commit()
    table.update_schema().delete_column("note").commit()
    then = 1 << 42
    table.maintenance.expire_snapshots(older_than=then, clean_expired_metadata=True)
    assert len(table.metadata.schemas) == 2
    table.maintenance.rewrite_data_files(options=ALL)  # marks the delete file as deleted
    table.maintenance.remove_dangling_deletes()
    table.maintenance.expire_snapshots(older_than=then, clean_expired_metadata=True)
    assert len(table.metadata.schemas) == 1
    assert ids(table) == [2, 3]
