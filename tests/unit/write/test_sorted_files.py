"""Rows in the table's sort order, and files that hold nothing out of order."""

import datetime as dt
import math
import random
import uuid
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import iceberg_spark as ice
from iceberg_spark.arrow.schema import to_arrow
from iceberg_spark.errors import StorageError
from iceberg_spark.io.fsspec_io import FsspecIO
from iceberg_spark.spec.data_file import DataFile
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.transform_text import parse_sort_order
from iceberg_spark.write import sorted_files
from iceberg_spark.write.new_write import write_context
from iceberg_spark.write.sorted_files import can_sort, sort_rows, write_sorted_files
from tests.builders import field, metadata, schema, struct

NAN = math.nan
COLUMNS = schema(
    ("id", "long"), ("s", "string"), ("d", "double"), ("f", "float"),
    ("st", struct(field(10, "x", "int"))),
)  # fmt: skip


def table(columns: Schema, **values: list[Any]) -> pa.Table:
    wanted = to_arrow(columns)
    count = len(next(iter(values.values())))
    missing = {name: [None] * count for name in wanted.names if name not in values}
    return pa.table({**values, **missing}, schema=None).select(wanted.names).cast(wanted)


def ordered(kind: str, text: str, values: list[Any]) -> list[Any]:
    columns = schema(("c", kind))
    rows = pa.table({"c": pa.array(values, to_arrow(columns).field("c").type)})
    found = sort_rows(rows, parse_sort_order([text], columns), columns)
    return found["c"].to_pylist()  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("c", [None, 1, 2, 3]),
        ("c asc nulls last", [1, 2, 3, None]),
        ("c desc", [3, 2, 1, None]),
        ("c desc nulls first", [None, 3, 2, 1]),
    ],
)
def test_nulls_come_where_the_order_says(text: str, expected: list[Any]):
    assert ordered("long", text, [2, None, 3, 1]) == expected


@pytest.mark.parametrize("kind", ["float", "double"])
def test_floats_have_a_total_order_with_nan_last(kind: str):
    values = [NAN, 1.5, -0.0, None, math.inf, 0.0, -math.inf, -2.5, NAN]
    shown = "[None, -inf, -2.5, -0.0, 0.0, 1.5, inf, nan, nan]"
    assert str(ordered(kind, "c", values)) == shown
    down = "[nan, nan, inf, 1.5, 0.0, -0.0, -2.5, -inf, None]"
    assert str(ordered(kind, "c desc", values)) == down


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("int", [-(2**31), -1, 0, 2**31 - 1]),
        ("boolean", [False, True]),
        ("date", [dt.date(1, 1, 1), dt.date(1969, 12, 31), dt.date(9999, 12, 31)]),
        ("timestamptz", [dt.datetime(1969, 12, 31, tzinfo=dt.UTC), dt.datetime.now(dt.UTC)]),
        ("time", [dt.time(0), dt.time(23, 59, 59, 999999)]),
        ("decimal(38, 2)", [Decimal("-12345678901234567890.12"), Decimal("-0.01"), Decimal(1)]),
        ("string", ["", "A", "a", "aa", "\ufffd", "\U0001f600"]),
        ("binary", [b"", b"\x00", b"\x7f", b"\x80", b"\xff"]),
        ("fixed[2]", [b"\x00\x00", b"\x7f\xff", b"\x80\x00"]),
        ("uuid", [uuid.UUID(int=1).bytes, uuid.UUID(int=2**127).bytes]),
    ],
)
def test_every_type_has_an_order(kind: str, values: list[Any]):
    mixed = [*values, None]
    random.Random(7).shuffle(mixed)
    assert ordered(kind, "c", mixed) == [None, *values]


def test_rows_are_sorted_by_transforms_and_stay_as_they_lie_where_those_are_equal():
    assert ordered("long", "truncate(10, c)", [25, 3, 21, 1]) == [3, 1, 25, 21]
    assert ordered("string", "truncate(1, c) desc", ["ab", "aa", "b", None]) == [
        "b", "ab", "aa", None,
    ]  # fmt: skip


def test_several_keys_and_nested_ones():
    rows = table(
        COLUMNS, id=[1, 2, 3, 4], s=["b", "a", "b", "a"],
        st=[{"x": 1}, None, {"x": None}, {"x": 5}],
    )  # fmt: skip
    by_text = parse_sort_order(["s", "st.x desc"], COLUMNS)
    assert sort_rows(rows, by_text, COLUMNS)["id"].to_pylist() == [4, 2, 1, 3]


def test_an_order_that_can_not_be_computed_is_none():
    order = parse_sort_order(["s"], COLUMNS)
    assert can_sort(order, COLUMNS)
    assert not can_sort(order, schema(("id", "long")))
    assert not can_sort(parse_sort_order([], COLUMNS), COLUMNS)


def written(
    folder: Path, order: list[str], rows: pa.Table, partition_by: tuple[str, ...] = (),
    **options: int,
) -> list[tuple[DataFile, list[Any]]]:  # fmt: skip
    made = metadata(COLUMNS, partition_by, order, location=str(folder))
    context = write_context(made)
    files = write_sorted_files(context, FsspecIO(), rows.to_batches(7), **options)
    return [(file, pq.read_table(file.file_path)["id"].to_pylist()) for file in files]


def some(count: int) -> pa.Table:
    ids = list(range(count))
    random.Random(3).shuffle(ids)
    return table(COLUMNS, id=ids, s=[f"k{one % 3}" for one in ids])


def test_a_table_with_an_order_gets_sorted_files_that_say_so(tmp_path: Path):
    ((file, ids),) = written(tmp_path, ["id desc"], some(100))
    assert ids == list(range(99, -1, -1))
    assert file.sort_order_id == 1


def test_a_table_without_an_order_gets_rows_as_they_lie(tmp_path: Path):
    rows = some(20)
    ((file, ids),) = written(tmp_path, [], rows)
    assert ids == rows["id"].to_pylist()
    assert file.sort_order_id == 0


def test_every_partition_and_every_run_is_in_order(tmp_path: Path):
    found = written(tmp_path, ["id"], some(200), ("s",), run_bytes=2000)
    assert len(found) > 6
    assert all(ids == sorted(ids) for _, ids in found)
    assert sorted(one for _, ids in found for one in ids) == list(range(200))


def test_what_runs_wrote_is_removed_when_a_later_one_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    real, calls = sorted_files.write_data_files, []

    def failing(*args: Any) -> tuple[DataFile, ...]:
        calls.append(args)
        if len(calls) == 3:
            raise StorageError("full")
        return real(*args)

    monkeypatch.setattr(sorted_files, "write_data_files", failing)
    with pytest.raises(StorageError, match="full"):
        written(tmp_path, ["id"], some(200), run_bytes=2000)
    assert list(tmp_path.rglob("*.parquet")) == []


def test_appends_of_arrow_rows_follow_the_order_of_the_table(tmp_path: Path):
    made = ice.create_table(str(tmp_path / "t"), "id bigint, k string", sort_order=["k", "id desc"])
    made.append(pa.table({"id": [1, 2, 3], "k": ["b", "a", "b"]}))
    (task,) = made.scan().plan_files()
    assert made.scan().to_arrow()["id"].to_pylist() == [2, 3, 1]
    made.overwrite(pa.table({"id": [9], "k": ["c"]}), "id = 2")
    assert [one for one in made.scan().to_arrow()["id"].to_pylist() if one != 9] == [3, 1]
    assert task.record_count == 3
