"""Every Arrow layout of the caller's data, nested and sliced, becomes the table's columns."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import polars as pl
import pyarrow as pa
import pytest

from iceberg_spark.arrow.from_arrow import from_arrow
from iceberg_spark.arrow.input_rows import input_batches
from iceberg_spark.arrow.schema import to_arrow
from iceberg_spark.errors import InvalidInputError, InvalidSchemaError
from iceberg_spark.write.align_columns import AlignOptions, align_batches

_TEXTS = ["a", None, "longer than twelve bytes", "é", "e"]
_BYTES = [b"a", None, b"longer than twelve bytes", b"d", b"e"]
_UUIDS = pa.array([bytes(16), None, b"a" * 16, b"b" * 16, b"c" * 16], pa.binary(16))
_LEAVES = [
    pa.array(_TEXTS),
    pa.array(_TEXTS, pa.large_string()),
    pa.array(_TEXTS, pa.string_view()),
    pa.array(_BYTES, pa.binary_view()),
    pa.array([1, None, 3, 4, 5], pa.int32()),
    pa.array([True, None, False, True, False]),
    pa.array([1, None, 3, 4, 5], pa.timestamp("us", "UTC")),
    pa.array([Decimal(1), None, Decimal(3), Decimal(4), Decimal(5)], pa.decimal256(20, 2)),
    pa.ExtensionArray.from_storage(pa.uuid(), _UUIDS),
]
_MASK = pa.array([False, False, True, False])


def _encoded(leaf: pa.Array) -> Iterator[pa.Array]:
    yield leaf
    yield pa.DictionaryArray.from_arrays(pa.array([4, None, 0, 2, 1], pa.int8()), leaf)
    yield pa.RunEndEncodedArray.from_arrays(pa.array([1, 3, 4, 6, 8], pa.int32()), leaf)


def _nested(values: pa.Array) -> Iterator[pa.Array]:
    """Yield the values below each nested layout; views overlap and are out of order."""
    rows = len(values)
    offsets = [0, 2, 2, 3, rows]
    for kind, number in ((pa.ListArray, pa.int32()), (pa.LargeListArray, pa.int64())):
        yield kind.from_arrays(pa.array(offsets, number), values, mask=_MASK)
    for kind, number in ((pa.ListViewArray, pa.int32()), (pa.LargeListViewArray, pa.int64())):
        starts, sizes = pa.array([3, 0, 1, 0], number), pa.array([2, 0, 2, 3], number)
        yield kind.from_arrays(starts, sizes, values, mask=_MASK)
    yield pa.FixedSizeListArray.from_arrays(values.slice(1, 4), 2, mask=pa.array([False, True]))
    yield pa.FixedSizeListArray.from_arrays(values.slice(1, 4), 1, mask=_MASK)
    mask = pa.array([row == 2 for row in range(rows)])
    yield pa.StructArray.from_arrays([values, pa.array(range(rows))], ["x", "y"], mask=mask)
    keys = pa.array([f"k{row}" for row in range(rows)])
    yield pa.MapArray.from_arrays(pa.array([0, 2, None, 3, rows], pa.int32()), keys, values)


def _five_rows(array: pa.Array) -> pa.Array:
    return pa.concat_arrays([array] * 3).slice(0, 5)


def _slices(array: pa.Array) -> Iterator[pa.Array]:
    yield from (array, array.slice(1), array.slice(1, 1), array.slice(len(array) - 1))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(child) for key, child in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(child) for child in value]
    return getattr(value, "bytes", value)


def _check(array: pa.Array) -> None:
    batch_schema = pa.schema([pa.field("c", array.type)])
    schema = from_arrow(batch_schema)
    for part in _slices(array):
        batch = pa.RecordBatch.from_arrays([part], schema=batch_schema)
        (rows,) = align_batches(schema, [batch], AlignOptions())
        rows.validate(full=True)
        assert rows.schema == to_arrow(schema)
        assert _plain(rows.column(0).to_pylist()) == _plain(part.to_pylist()), array.type


@pytest.mark.parametrize("leaf", _LEAVES, ids=lambda leaf: str(leaf.type))
def test_values_of_each_layout_are_those_of_the_input(leaf: pa.Array) -> None:
    for encoded in _encoded(leaf):
        for array in itertools.chain([encoded], _nested(encoded)):
            _check(array)


def test_layouts_below_each_other_keep_their_values() -> None:
    for outer in _nested(pa.array(_TEXTS, pa.string_view())):
        values = _five_rows(outer)
        for array in itertools.chain(_nested(values), itertools.islice(_encoded(values), 1, None)):
            _check(array)


def test_a_null_key_behind_run_ends_is_refused_and_does_not_end_the_process() -> None:
    keys = pa.RunEndEncodedArray.from_arrays(pa.array([1, 2], pa.int32()), pa.array(["a", None]))
    maps = pa.MapArray.from_arrays(pa.array([0, 2], pa.int32()), keys, pa.array([1, 2]))
    batch = pa.RecordBatch.from_arrays([maps], ["c"])
    with pytest.raises(InvalidInputError, match=r"'c\.key' is required"):
        list(align_batches(from_arrow(batch.schema), [batch], AlignOptions()))


@pytest.mark.parametrize(
    ("kind", "values", "rows"),
    [
        (pl.Categorical, ["a", None], ["a", None]),
        (pl.Enum(["b", "a"]), ["a", None], ["a", None]),
        (pl.List(pl.Categorical), [["a", None], None], [["a", None], None]),
        (pl.Array(pl.Enum(["b", "a"]), 1), [["a"], None], [["a"], None]),
        (pl.Struct({"x": pl.Categorical}), [{"x": "a"}, None], [{"x": "a"}, None]),
    ],
    ids=str,
)
def test_polars_categories_are_texts(kind: Any, values: list[Any], rows: list[Any]) -> None:
    schema, batches = input_batches(pl.DataFrame({"c": pl.Series(values, dtype=kind)}))
    (made,) = align_batches(from_arrow(schema), batches, AlignOptions())
    assert made.column(0).to_pylist() == rows


@pytest.mark.parametrize(
    ("kind", "value"),
    [(pl.Int128, 1), (pl.List(pl.Int128), [1]), (pl.Object, object())],
    ids=["Int128", "List(Int128)", "Object"],
)
def test_polars_types_without_an_arrow_type_are_refused_by_column(kind: Any, value: Any) -> None:
    frame = pl.DataFrame({"a": [1], "c": pl.Series([value], dtype=kind)})
    with pytest.raises(InvalidSchemaError, match=r"Column 'c' has polars' type"):
        input_batches(frame)


def test_bytes_of_no_length_are_refused_by_column() -> None:
    with pytest.raises(InvalidSchemaError, match=r"Column 'c' has Arrow type"):
        from_arrow(pa.schema([pa.field("c", pa.binary(0))]))
