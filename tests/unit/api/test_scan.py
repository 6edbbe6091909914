"""Scans: rows, columns, snapshots, limits, counts, and the plan in words."""

from typing import Any

import pyarrow as pa
import pytest

import iceberg_spark as ice
from iceberg_spark import Table
from iceberg_spark.errors import (
    InvalidExpressionError,
    InvalidInputError,
    InvalidSchemaError,
    InvalidTypeError,
    NoSuchFileError,
    NoSuchSnapshotError,
)
from tests.unit.api.tables import data_files, ids, make, rows


@pytest.fixture(scope="module")
def table() -> Table:
    """Three appends: ids 1, 2 of region a; 3 of b; 4 of none."""
    made = make(schema="id bigint, k string, s struct<a: int, b: string>", partition_by=["k"])
    for numbers, region in (([1, 2], "a"), ([3], "b"), ([4], None)):
        made.append(
            rows(
                id=numbers,
                k=pa.array([region] * len(numbers), pa.string()),
                s=[{"a": pa.scalar(n, pa.int32()), "b": "x"} for n in numbers],
            )
        )
    return made


def test_without_arguments_all_columns_of_all_rows_are_read(table: Table):
    found = table.scan().to_arrow()
    assert found.column_names == ["id", "k", "s"]
    assert sorted(found["id"].to_pylist()) == [1, 2, 3, 4]


def test_a_filter_keeps_matching_rows_only(table: Table):
    assert ids(table, row_filter="id between 2 and 3") == [2, 3]
    assert ids(table, row_filter=ice.col("k").is_null() | (ice.col("id") == 1)) == [1, 4]


def test_columns_are_chosen_by_name_nested_ones_by_path(table: Table):
    found = table.scan(selected_fields=("s.b", "id")).to_arrow()
    assert [str(field.type) for field in found.schema] == ["int64", "struct<b: string>"]
    assert table.scan(selected_fields="k").to_arrow().column_names == ["k"]
    assert table.scan().select("id").to_arrow().column_names == ["id"]


def test_names_have_case_unless_told_otherwise(table: Table):
    assert ids(table, row_filter="ID = 1", case_sensitive=False) == [1]
    with pytest.raises(InvalidExpressionError, match="'ID'"):
        ids(table, row_filter="ID = 1")


def test_a_snapshot_is_chosen_by_id_or_time(table: Table):
    second = table.snapshots()[1]
    assert ids(table, snapshot_id=second.snapshot_id) == [1, 2, 3]
    assert ids(table, as_of_timestamp_ms=second.timestamp_ms) == [1, 2, 3]


def test_appends_between_two_snapshots_are_read_start_excluded(table: Table):
    first, second, _ = (snapshot.snapshot_id for snapshot in table.snapshots())
    assert ids(table, start_snapshot_id=first) == [3, 4]
    assert ids(table, start_snapshot_id=first, end_snapshot_id=second) == [3]


def test_a_scan_keeps_its_snapshot_when_the_table_moves_on():
    table = make()
    table.append(rows(id=[1]))
    scan = table.scan()
    table.append(rows(id=[2]))
    assert scan.to_arrow()["id"].to_pylist() == [1]
    assert ids(table) == [1, 2]


@pytest.mark.parametrize("limit", [0, 1, 3, 4, 100])
def test_a_limit_gives_that_many_rows_or_all(table: Table, limit: int):
    expected = min(limit, 4)
    assert table.scan(limit=limit).to_arrow().num_rows == expected
    assert table.scan(limit=limit).count() == expected


def test_a_reached_limit_opens_no_further_file():
    table = make()
    for number in range(3):
        table.append(rows(id=[number]))
    last = [task.file_path for task in table.scan().plan_files()][-1]
    table.io.delete(last)
    assert table.scan(limit=2).to_arrow().num_rows == 2
    with pytest.raises(NoSuchFileError, match=last):
        table.scan(limit=3).to_arrow()


def test_a_count_comes_from_metadata_and_opens_no_data_file():
    table = make(partition_by=["k"])
    table.append(rows(id=[1, 2, 3], k=["a", "a", "b"]))
    table.io.delete_many(data_files(table))
    assert table.scan().count() == 3
    assert table.scan(row_filter="k = 'a'").count() == 2


def test_a_count_reads_where_metadata_does_not_tell(table: Table):
    assert table.scan(row_filter="id > 1 and s.b = 'x'").count() == 3


def test_an_empty_table_has_its_columns_and_no_rows():
    table = make()
    assert table.scan().to_arrow().schema.names == ["id", "k"]
    assert table.scan().count() == 0
    assert len(table.scan().plan_files()) == 0


def test_a_reader_streams_batches(table: Table):
    reader = table.scan(selected_fields=("id",)).to_arrow_batch_reader()
    assert isinstance(reader, pa.RecordBatchReader)
    assert sum(batch.num_rows for batch in reader) == 4


def test_pandas_gets_the_rows(table: Table):
    frame = table.scan(row_filter="k = 'b'", selected_fields=("id", "k")).to_pandas()
    assert frame.to_dict("records") == [{"id": 3, "k": "b"}]


def test_a_plan_names_the_files_and_what_was_skipped(table: Table):
    plan = table.scan(row_filter="k = 'a'").plan_files()
    assert [(task.partition, task.record_count) for task in plan] == [(("a",), 2)]
    assert plan.metrics.skipped_data_manifests == 2


def test_explain_tells_a_person_what_is_opened(table: Table):
    text = table.scan(row_filter="k = 'a'", selected_fields=("id",)).explain()
    assert f"Scan of {table.location()}" in text
    assert "1 of 3 opened" in text
    assert "columns         id (1 read, the table has 3)" in text


def test_metadata_columns_come_last(table: Table):
    found = table.scan(selected_fields=("id",), metadata_columns=("_pos", "_file")).to_arrow()
    assert found.column_names == ["id", "_pos", "_file"]
    assert set(found["_file"].to_pylist()) == data_files(table)


def test_a_time_zone_says_what_a_literal_without_offset_means():
    table = make(schema="ts timestamp")
    moment = pa.array([1_700_000_000_000_000], pa.timestamp("us", "UTC"))
    table.append(pa.table({"ts": moment}))  # 2023-11-14 22:13:20 UTC
    zoned = table.scan(row_filter="ts = '2023-11-14 23:13:20'", time_zone="Europe/Berlin")
    assert zoned.count() == 1
    with pytest.raises(InvalidExpressionError, match=r"time zone|offset"):
        table.scan(row_filter="ts = '2023-11-14 23:13:20'").count()


@pytest.mark.parametrize(
    ("arguments", "error", "shown"),
    [
        ({"row_filter": "nope = 1"}, InvalidExpressionError, "'nope'.*id, k, s"),
        ({"row_filter": "id ="}, InvalidExpressionError, "id ="),
        ({"row_filter": "upper(k) = 'A'"}, InvalidExpressionError, "(?i)upper"),
        ({"row_filter": "id = 'x'"}, InvalidExpressionError, "'id'.*'x'"),
        ({"row_filter": 5}, InvalidTypeError, "5"),
        ({"selected_fields": ("nope",)}, InvalidSchemaError, "'nope'.*id, k, s"),
        ({"selected_fields": ("s.nope",)}, InvalidSchemaError, "'s.nope'"),
        ({"selected_fields": ()}, InvalidInputError, "column"),
        ({"metadata_columns": ("_nope",)}, InvalidInputError, "_nope.*_file"),
        ({"snapshot_id": 5}, NoSuchSnapshotError, "5"),
        ({"snapshot_id": "main"}, InvalidTypeError, "snapshot_id.*'main'"),
        ({"as_of_timestamp_ms": "now"}, InvalidTypeError, "as_of_timestamp_ms.*'now'"),
        ({"branch": "nope"}, NoSuchSnapshotError, "nope.*main"),
        ({"tag": "nope"}, NoSuchSnapshotError, "nope"),
        ({"as_of_timestamp_ms": 1}, NoSuchSnapshotError, "1"),
        ({"snapshot_id": 5, "branch": "main"}, InvalidInputError, "snapshot"),
        ({"start_snapshot_id": 5}, NoSuchSnapshotError, "5"),
        ({"limit": -1}, InvalidInputError, "limit.*-1"),
        ({"limit": "3"}, InvalidTypeError, "limit.*'3'"),
    ],
)
def test_what_can_not_be_read_is_named(
    table: Table, arguments: dict[str, Any], error: type[Exception], shown: str
):
    with pytest.raises(error, match=shown):
        table.scan(**arguments).to_arrow()


def test_a_scan_shows_its_table_and_what_was_asked_for_not_the_whole_metadata():
    table = make()
    assert repr(table.scan()) == f"TableScan({table.location()})"
    asked = table.scan("id > 5", ("id",), limit=3)
    shown = f"TableScan({table.location()}, row_filter='id > 5', selected_fields=('id',), limit=3)"
    assert repr(asked) == shown
