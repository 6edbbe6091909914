"""Overwriting: all rows, by filter with partly matching files, by partition."""

import datetime as dt
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

import iceberg_spark as ice
from iceberg_spark import DataFile, Table
from iceberg_spark.arrow.schema import to_arrow
from iceberg_spark.commits.commit import commit
from iceberg_spark.commits.row_delta import RowDelta
from iceberg_spark.errors import (
    InvalidExpressionError,
    InvalidInputError,
    InvalidTypeError,
    ValidationException,
)
from iceberg_spark.write.context import TaskId
from iceberg_spark.write.equality_delete_writer import equality_schema, write_equality_deletes
from iceberg_spark.write.new_write import write_context
from tests.unit.api.tables import data_files, files_below, ids, make, rows


def filled(partition_by: tuple[str, ...] = (), **properties: str) -> Table:
    """Ids 1 to 4 in one file, where unpartitioned: k is a, a, b, null."""
    table = make(partition_by=partition_by, **properties)
    table.append(rows(id=[1, 2, 3, 4], k=["a", "a", "b", None]))
    return table


def test_without_a_filter_all_rows_are_replaced():
    table = filled()
    table.append(rows(id=[5]))
    table.overwrite(rows(id=[9]))
    assert ids(table) == [9]
    assert table.current_snapshot().operation == "overwrite"
    assert table.current_snapshot().summary["deleted-records"] == "5"


def test_an_overwrite_of_an_empty_table_appends():
    table = make()
    table.overwrite(rows(id=[1]))
    assert ids(table) == [1]


def test_files_that_match_whole_are_dropped_without_a_rewrite():
    table = filled(("k",))
    kept = {task.file_path for task in table.scan(row_filter="k = 'b' or k is null").plan_files()}
    table.overwrite(rows(id=[9], k=["a"]), "k = 'a'")
    assert ids(table) == [3, 4, 9]
    assert kept < {task.file_path for task in table.scan().plan_files()}
    assert table.current_snapshot().summary["added-data-files"] == "1"


def test_rows_of_partly_matching_files_that_do_not_match_are_kept():
    table = filled()
    table.overwrite(rows(id=[9]), "id >= 3")
    assert ids(table) == [1, 2, 9]


def test_rows_for_which_the_filter_is_null_are_kept():
    table = filled()
    table.overwrite(rows(id=[9], k=["z"]), "k = 'a'")
    assert ids(table) == [3, 4, 9]
    table.overwrite(rows(id=[8], k=["y"]), "k <> 'z'")
    assert ids(table) == [4, 8, 9]


def test_deleted_rows_of_rewritten_files_stay_deleted():
    table = filled()
    (task,) = table.scan().plan_files()
    # A second overwrite must start from the live rows of the first.
    table.overwrite(rows(id=[9]), "id = 1")
    assert task.file_path not in {each.file_path for each in table.scan().plan_files()}
    table.overwrite(rows(id=[8]), "id = 2")
    assert ids(table) == [3, 4, 8, 9]


def test_the_filter_may_be_built_in_python():
    table = filled()
    table.overwrite(rows(id=[9]), ice.col("id").is_in([1, 2]))
    assert ids(table) == [3, 4, 9]


def test_a_filter_that_matches_nothing_only_adds():
    table = filled()
    table.overwrite(rows(id=[9]), "id > 100")
    assert ids(table) == [1, 2, 3, 4, 9]


def test_without_rewrites_a_partly_matching_file_is_named_and_nothing_changes(tmp_path: Path):
    table = make(tmp_path / "t")
    table.append(rows(id=[1, 2]))
    (task,) = table.scan().plan_files()
    before = files_below(tmp_path)
    with pytest.raises(ValidationException, match=task.file_path):
        table.overwrite(rows(id=[9]), "id = 1", allow_rewrite=False)
    assert ids(table.refresh()) == [1, 2]
    assert files_below(tmp_path) == before


def test_without_rewrites_whole_files_are_replaced():
    table = filled(("k",))
    table.overwrite(rows(id=[9], k=["a"]), "k = 'a'", allow_rewrite=False)
    assert ids(table) == [3, 4, 9]


def test_rows_that_came_since_the_plan_and_match_are_a_conflict(tmp_path: Path):
    table = make(tmp_path / "t")
    table.append(rows(id=[1, 2]))
    other = ice.load_table(table.location())
    transaction = table.transaction()
    transaction.overwrite(rows(id=[9]), "id = 1")
    other.append(rows(id=[1]))
    written = files_below(tmp_path / "t" / "data")
    with pytest.raises(ValidationException):
        transaction.commit_transaction()
    assert ids(table.refresh()) == [1, 1, 2]
    assert len(files_below(tmp_path / "t" / "data")) == len(written) - 2


def test_rows_that_came_since_the_plan_and_do_not_match_stay():
    table = filled()
    other = ice.load_table(table.location())
    transaction = table.transaction()
    transaction.overwrite(rows(id=[9]), "id = 1")
    other.append(rows(id=[100]))
    transaction.commit_transaction()
    assert ids(table) == [2, 3, 4, 9, 100]


@pytest.mark.parametrize("allow_rewrite", [True, False])
@pytest.mark.parametrize("taken_over", [True, False])
def test_names_that_another_commit_gave_to_other_columns_are_a_conflict(
    allow_rewrite: bool, taken_over: bool, tmp_path: Path
):
    """The filter would be about the values of another column, or of none."""
    table = make(tmp_path / "t", schema="a bigint, b bigint")
    table.append(rows(a=[1, 1], b=[2, 2]))
    late = table.transaction()
    late.overwrite(rows(a=[9], b=[9]), "a = 1", allow_rewrite=allow_rewrite)
    other = ice.load_table(table.location())
    with other.update_schema() as update:
        update.rename_column("a", "c")
    if taken_over:
        with other.update_schema() as update:
            update.rename_column("b", "a")
        other.append(rows(c=[5], a=[1]))
    before = other.scan().to_arrow()
    written = files_below(tmp_path / "t" / "data")
    with pytest.raises(ValidationException, match="changed the columns"):
        late.commit_transaction()
    assert table.refresh().scan().to_arrow() == before
    assert len(files_below(tmp_path / "t" / "data")) < len(written)


def test_partly_matching_files_of_an_evolved_partition_are_rewritten_by_the_current_spec():
    moments = [dt.datetime(2024, month, 1, tzinfo=dt.UTC) for month in (1, 2, 3)]
    table = make(schema="id bigint, ts timestamp", partition_by=["years(ts)"])
    table.append(pa.table({"id": [1, 2, 3], "ts": pa.array(moments, pa.timestamp("us", "UTC"))}))
    table.overwrite(rows(id=[9]), "ts < '2024-02-01T00:00:00+00:00'")
    assert ids(table) == [2, 3, 9]


@pytest.mark.parametrize(
    ("given", "error", "shown"),
    [
        (None, InvalidInputError, "overwrite_filter"),
        (5, InvalidTypeError, "5"),
        ("nope = 1", InvalidExpressionError, "'nope'"),
        ("id = ", InvalidExpressionError, "id ="),
    ],
)
def test_a_bad_filter_is_refused_and_leaves_nothing(given, error, shown, tmp_path: Path):
    table = make(tmp_path / "t")
    table.append(rows(id=[1]))
    before = files_below(tmp_path)
    with pytest.raises(error, match=shown):
        table.overwrite(rows(id=[9]), given)
    assert files_below(tmp_path) == before


def test_a_dynamic_overwrite_replaces_the_partitions_that_get_rows():
    table = filled(("k",))
    table.dynamic_partition_overwrite(rows(id=[8, 9], k=["a", None]))
    assert ids(table) == [3, 8, 9]


def test_a_dynamic_overwrite_of_an_unpartitioned_table_replaces_all_rows():
    table = filled()
    table.dynamic_partition_overwrite(rows(id=[9]))
    assert ids(table) == [9]


def test_a_dynamic_overwrite_with_no_rows_replaces_nothing():
    table = filled(("k",))
    table.dynamic_partition_overwrite(rows(id=pa.array([], pa.int64())))
    assert ids(table) == [1, 2, 3, 4]


def test_snapshot_properties_are_written_to_the_summary():
    table = filled(("k",))
    table.overwrite(rows(id=[9], k=["a"]), "k = 'a'", snapshot_properties={"job": "o"})
    assert table.current_snapshot().summary["job"] == "o"
    table.dynamic_partition_overwrite(rows(id=[9], k=["a"]), snapshot_properties={"job": "d"})
    assert table.current_snapshot().summary["job"] == "d"


@pytest.mark.parametrize("allow_rewrite", [True, False])
def test_an_equality_delete_goes_by_the_columns_that_it_compares(allow_rewrite: bool) -> None:
    table = make()
    table.append(rows(id=[1], k=["b"]))
    table.append(rows(id=[2], k=["a"]))
    delete = equality_delete(table, id=1, k="a")
    commit(table._catalog, table.identifier, RowDelta((), [delete], planned=None), table._loaded)
    table.refresh()
    table.overwrite(rows(id=[9], k=["a"]), "k = 'a'", allow_rewrite=allow_rewrite)
    assert ids(table) == [9]


def test_a_deleted_row_stays_deleted_in_a_file_without_other_matching_rows() -> None:
    table = make()
    table.append(rows(id=[2, 3], k=["b", "b"]))
    table.upsert(rows(id=[2], k=["b"]), ["id"])
    table.overwrite(rows(id=[9], k=["a"]), "id < 3")  # the first file has no live row to replace
    assert ids(table) == [3, 9]


def equality_delete(table: Table, **row: object) -> DataFile:
    """Write a delete file with a whole row, of which the id is compared, as Flink does."""
    kind = to_arrow(equality_schema(table.schema(), [1, 2]))
    batch = pa.RecordBatch.from_pylist([row], schema=kind)
    [file] = write_equality_deletes(
        write_context(table.metadata),
        table.io,
        [batch],
        equality_ids=[1, 2],
        spec=table.spec(),
        partition=(),
        task=TaskId(),
    )
    return replace(file, equality_ids=(1,))


def test_replaced_files_stay_for_time_travel():
    table = filled()
    before = table.current_snapshot().snapshot_id
    files = data_files(table)
    table.overwrite(rows(id=[9]))
    assert files < data_files(table)
    assert ids(table, snapshot_id=before) == [1, 2, 3, 4]
