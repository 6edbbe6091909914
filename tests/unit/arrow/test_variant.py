"""Shredded variants put together, decoded by PySpark's own decoder."""

import datetime as dt
import uuid
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.types import VariantVal

from iceberg_spark.arrow.variant.encode import array_of, encode, object_of
from iceberg_spark.arrow.variant.reassemble import reassemble
from iceberg_spark.arrow.variant.shred import shred_column, shred_plan
from iceberg_spark.arrow.variant_layout import VARIANT
from iceberg_spark.errors import CorruptFileError

NOON = dt.datetime(2024, 2, 29, 12, 30, 1, 5, tzinfo=dt.UTC)
LATE = NOON.replace(tzinfo=None)
SCALARS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "flags": (pa.bool_(), [True, False]),
    "tiny": (pa.int8(), [-1, 127]),
    "small": (pa.int16(), [-300, 1]),
    "int": (pa.int32(), [-(1 << 31), 7]),
    "long": (pa.int64(), [-(1 << 63), 7]),
    "float": (pa.float32(), [0.5, -2.0]),
    "double": (pa.float64(), [0.1, -2.0]),
    "decimal4": (pa.decimal128(9, 2), [Decimal("-1.25"), Decimal("0.00")]),
    "decimal8": (pa.decimal128(18, 0), [Decimal(-(10**17)), Decimal(5)]),
    "decimal16": (pa.decimal128(38, 10), [Decimal("-1234567890123456789.5000000000"), Decimal(1)]),
    "date": (pa.date32(), [dt.date(1969, 12, 31), dt.date(2024, 2, 29)]),
    "instant": (pa.timestamp("us", "UTC"), [NOON, NOON]),
    "wall clock": (pa.timestamp("us"), [LATE, LATE]),
    "text": (pa.string(), ["", "é" * 40]),
    "short text": (pa.string(), ["", "x" * 63]),
    "bytes": (pa.binary(), [b"", b"\x00" * 300]),
    "key": (pa.binary(16), [uuid.UUID(int=1).bytes, uuid.UUID(int=1 << 127).bytes]),
}
METADATA = b"\x11\x03\x00\x01\x02\x03abc"
"""The keys a, b and c."""


def python(variant: dict[str, bytes] | None) -> Any:
    if variant is None:
        return None
    return VariantVal(variant["value"], variant["metadata"]).toPython()


def pair(kind: pa.DataType, values: list[Any], rest: list[bytes | None] | None = None) -> pa.Array:
    """A column of `value` and `typed_value`."""
    typed = pa.array(values, kind)
    none = pa.array(rest or [None] * len(values), pa.binary())
    return pa.StructArray.from_arrays([none, typed], names=["value", "typed_value"])


def top(inner: pa.StructArray, mask: list[bool] | None = None) -> pa.StructArray:
    parts = [pa.array([METADATA] * len(inner), pa.binary()), inner.field(0), inner.field(1)]
    names = ["metadata", "value", "typed_value"]
    return pa.StructArray.from_arrays(parts, names=names, mask=mask and pa.array(mask))


@pytest.mark.parametrize("name", [name for name in SCALARS if name != "key"])
def test_columns_of_values_are_values(name: str) -> None:
    kind, values = SCALARS[name]
    made = reassemble(top(pair(kind, [*values, None]), [False] * len(values) + [True]))
    assert made.type == VARIANT
    assert [python(one) for one in made.to_pylist()] == [*values, None]


def test_uuids_are_sixteen_bytes_behind_their_header() -> None:
    kind, values = SCALARS["key"]
    assert encode(pa.array(values, kind)).to_pylist() == [b"\x50" + value for value in values]


def test_what_is_not_typed_is_as_it_was_and_nothing_at_all_is_null() -> None:
    column = pair(pa.int64(), [1, None, None], [None, b"\x04", None])
    assert [python(one) for one in reassemble(top(column)).to_pylist()] == [1, True, None]


def test_objects_have_typed_and_other_fields_and_lack_missing_ones() -> None:
    fields = [pair(pa.int64(), [1, None, None]), pair(pa.string(), ["x", "y", None])]
    typed = pa.StructArray.from_arrays(
        fields, names=["c", "a"], mask=pa.array([False, False, True])
    )
    rest = pa.array([object_of([1], [b"\x04"]), None, b"\x08"], pa.binary())
    column = pa.StructArray.from_arrays([rest, typed], names=["value", "typed_value"])
    made = [python(one) for one in reassemble(top(column)).to_pylist()]
    assert made == [{"a": "x", "b": True, "c": 1}, {"a": "y"}, False]


def test_slices_lists_and_nulls_in_them_keep_their_places() -> None:
    items = pair(pa.int64(), [1, 2, None, 4], [None, None, b"\x08", None])
    typed = pa.ListArray.from_arrays(pa.array([0, 1, 1, 4]), items)
    rest = pa.array([None] * 3, pa.binary())
    column = pa.StructArray.from_arrays([rest, typed], names=["value", "typed_value"])
    whole = reassemble(top(column))
    assert [python(one) for one in whole.to_pylist()] == [[1], [], [2, False, 4]]
    assert reassemble(top(column).slice(2)).to_pylist() == whole.to_pylist()[2:]


def test_large_objects_and_arrays_have_wide_offsets() -> None:
    text = encode(pa.array(["t" * 70_000])).to_pylist()[0]
    parts = object_of([0, 2], [text, array_of([b"\x04"] * 300)])
    found = python({"metadata": METADATA, "value": parts})
    assert (len(found["a"]), found["c"]) == (70_000, [True] * 300)


BROKEN: dict[str, pa.StructArray] = {
    "unsigned numbers": top(pair(pa.uint32(), [1])),
    "items without parts": top(pair(pa.list_(pa.int64()), [[1]])),
    "fields without parts": top(pair(pa.struct([("a", pa.int64())]), [{"a": 1}])),
    "a key that the metadata lacks": top(
        pair(pa.struct([("z", pair(pa.int64(), [1]).type)]), [{"z": {"typed_value": 1}}])
    ),
    "an object and a number": top(
        pair(pa.struct([("a", pair(pa.int64(), [1]).type)]), [{"a": {"typed_value": 1}}], [b"\x04"])
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_what_shredding_can_not_have_made_is_refused(case: str) -> None:
    with pytest.raises(CorruptFileError, match="variant"):
        reassemble(BROKEN[case])


@pytest.mark.parametrize("metadata", [b"", b"\x02\x00\x00", b"\x11\x05\x00", b"\x01\x01\x00\x09a"])
def test_broken_metadata_is_refused(metadata: bytes) -> None:
    typed = pair(pa.struct([("a", pair(pa.int64(), [1]).type)]), [{"a": {"typed_value": 1}}])
    parts = [pa.array([metadata], pa.binary()), typed.field(0), typed.field(1)]
    broken = pa.StructArray.from_arrays(parts, names=["metadata", "value", "typed_value"])
    with pytest.raises(CorruptFileError, match="variant"):
        reassemble(broken)


def test_what_is_shredded_is_put_together_as_it_was() -> None:
    keys = [f"k{number:02}" for number in range(12)]
    metadata = b"\x11" + bytes((12, *range(0, 37, 3))) + "".join(keys).encode()
    kinds = {name: SCALARS[name] for name in SCALARS if name not in ("text", "key")}
    columns = [encode(pa.array(values, kind)).to_pylist() for kind, values in kinds.values()]
    rows: list[dict[str, bytes] | None] = []
    for row in range(2):
        for shift in range(len(columns)):
            chosen = [columns[(at + shift) % len(columns)][row] for at in range(12)]
            rows.append({"metadata": metadata, "value": object_of(list(range(12)), chosen)})
    same = [columns[at % len(columns)][0] for at in range(12)]
    rows += [{"metadata": metadata, "value": object_of(list(range(12)), same)}] * 30
    rows += [None, {"metadata": metadata, "value": b"\x00"}]
    column = pa.array(rows, VARIANT)
    plan = shred_plan(column.slice(2 * len(columns), 30))
    assert plan is not None
    made = shred_column(column, plan)
    assert made.type.field("typed_value").type.num_fields > 5
    again = reassemble(made)
    assert [python(one) for one in again.to_pylist()] == [python(one) for one in rows]


def objects(*values: bytes, key: int = 0) -> pa.StructArray:
    rows = [{"metadata": METADATA, "value": object_of([key], [value])} for value in values]
    return pa.array(rows, VARIANT)


SEVEN = b"\x0c\x07"


@pytest.mark.parametrize(
    "rows", [objects(SEVEN, key=9), objects(b"")], ids=["a key that is none", "no bytes"]
)
def test_a_broken_object_is_refused_before_it_is_shredded(rows: pa.StructArray) -> None:
    with pytest.raises(CorruptFileError, match="variant"):
        shred_plan(rows)
    plan = shred_plan(objects(SEVEN))
    assert plan is not None
    with pytest.raises(CorruptFileError, match="variant"):
        shred_column(rows, plan)


WRONG_LENGTHS: dict[str, tuple[bytes, bytes]] = {
    "a flag": (b"\x04", b"\x04\x00"),
    "a short number": (SEVEN, b"\x10\x07"),
    "a long number": (SEVEN, b"\x0c\x07\x01"),
    "a double": (b"\x1c" + bytes(8), b"\x1c" + bytes(7)),
    "a short text": (b"\x05a", b"\x09a"),
    "a long text": (b"\x40\x01\x00\x00\x00a", b"\x40\x02\x00\x00\x00a"),
}


@pytest.mark.parametrize("case", WRONG_LENGTHS)
def test_a_value_of_a_wrong_length_stays_what_it_was(case: str) -> None:
    sound, wrong = WRONG_LENGTHS[case]
    plan = shred_plan(objects(sound))
    assert plan is not None
    column = objects(sound, wrong)
    made = shred_column(column, plan)
    field = made.field("typed_value").field("a")
    assert field.field("value").to_pylist() == [None, wrong]
    assert reassemble(made).to_pylist()[1] == column.to_pylist()[1]
