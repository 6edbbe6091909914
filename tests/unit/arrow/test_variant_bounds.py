"""Bounds of variant columns (specification: "Bounds for Variant")."""

from typing import Any

import pyarrow as pa
import pytest

from iceberg_spark.arrow.variant.bounds import (
    BoundsReader,
    FieldBound,
    ValueKind,
    encoded_bounds,
    keys_of_path,
    path_of_keys,
)
from iceberg_spark.arrow.variant.encode import encode, object_of
from iceberg_spark.errors import CorruptFileError
from tests.unit.arrow.test_variant import SCALARS

PATHS = {
    "$": (),
    "$['event_type']": ("event_type",),
    "$['user.name']": ("user.name",),
    "$['location']['latitude']": ("location", "latitude"),
    "$['it\\'s']": ("it's",),
    "$['a\\\\b']": ("a\\b",),
    "$['\\n\\u000b\\u001f']": ("\n\x0b\x1f",),
    "$['']": ("",),
    "$['é\U0001f600']": ("é\U0001f600",),
    "$[']']": ("]",),
}


def value_of(kind: pa.DataType, value: Any) -> bytes:
    found: bytes = encode(pa.array([value], kind))[0].as_py()
    return found


def bounds_of(*fields: tuple[str, bytes]) -> bytes:
    """Bounds with paths as they are given, in that order."""
    paths = [path.encode() for path, _ in fields]
    ends = [sum(map(len, paths[:at])) for at in range(len(paths) + 1)]
    metadata = bytes((0x01, len(paths), *ends)) + b"".join(paths)
    return metadata + object_of(list(range(len(fields))), [value for _, value in fields])


@pytest.mark.parametrize("path", PATHS)
def test_normalized_paths_are_keys_of_objects(path: str) -> None:
    assert keys_of_path(path) == PATHS[path]
    assert path_of_keys(PATHS[path]) == path


@pytest.mark.parametrize(
    "path", ["", "a", "$.a", "$[0]", "$['a'][0]", "$['a'", "$['a']x", '$["a"]', "$['a'b']", "$[*]"]
)
def test_what_is_no_normalized_path_of_keys_names_no_field(path: str) -> None:
    assert keys_of_path(path) is None


@pytest.mark.parametrize("name", [name for name in SCALARS if name not in ("key", "bytes")])
def test_values_are_read_as_they_were_encoded(name: str) -> None:
    kind, values = SCALARS[name]
    array = pa.array(values, kind)
    if pa.types.is_temporal(kind):
        width = pa.int32() if pa.types.is_date32(kind) else pa.int64()
        values = array.cast(width).to_pylist()
    for one, value in zip(encode(array).to_pylist(), values, strict=True):
        found = BoundsReader().bound(bounds_of(("$['a']", one)), ("a",))
        assert found is not None
        assert found.value == value


@pytest.mark.parametrize("name", ["key", "bytes"])
def test_types_whose_bounds_are_not_used_have_none(name: str) -> None:
    kind, values = SCALARS[name]
    data = bounds_of(("$['a']", value_of(kind, values[0])))
    assert BoundsReader().bound(data, ("a",)) is None


def test_each_field_has_its_own_bound_and_others_have_none() -> None:
    one, two = value_of(pa.int8(), 1), value_of(pa.string(), "x")
    lower, upper = encoded_bounds({("b",): one, ("a", "c"): two}, {("b",): one}) or (b"", b"")
    reader = BoundsReader()
    assert reader.bound(lower, ("b",)) == FieldBound(ValueKind.INTEGER, 1)
    assert reader.bound(lower, ("a", "c")) == FieldBound(ValueKind.TEXT, "x")
    assert reader.bound(upper, ("b",)) == FieldBound(ValueKind.INTEGER, 1)
    for keys in ((), ("a",), ("c",), ("B",), ("a.c",)):
        assert reader.bound(lower, keys) is None
    assert reader.bound(upper, ("a", "c")) is None
    assert encoded_bounds({}, {}) is None


def test_a_field_that_is_named_twice_has_no_bound() -> None:
    one, other = value_of(pa.int8(), 1), value_of(pa.int8(), 2)
    twice = bounds_of(("$['\\n']", one), ("$['\\u000a']", other), ("$['b']", one))
    assert BoundsReader().bound(twice, ("\n",)) is None
    assert BoundsReader().bound(twice, ("b",)) == FieldBound(ValueKind.INTEGER, 1)
    whole = bounds_of(("$['a']", one))
    metadata = whole[: len(whole) - len(object_of([0], [one]))]
    assert BoundsReader().bound(metadata + object_of([0, 0], [one, other]), ("a",)) is None


BROKEN_VALUES = {
    "NaN": value_of(pa.float64(), float("nan")),
    "null": b"\x00",
    "a long that is cut": value_of(pa.int64(), 5)[:-1],
    "a long with more behind it": value_of(pa.int64(), 5) + b"\x00",
    "a text that is cut": value_of(pa.string(), "abc")[:-1],
    "a long text that is cut": value_of(pa.string(), "x" * 80)[:-1],
    "a text without its length": b"\x40\x00",
    "a text that is not UTF-8": b"\x05\xff",
    "a decimal of 39 digits behind the point": b"\x20\x27\x00\x00\x00\x00",
    "an object": object_of([], []),
    "a type that nobody knows": b"\xfc",
}


@pytest.mark.parametrize("case", BROKEN_VALUES)
def test_a_broken_value_is_no_bound(case: str) -> None:
    whole = value_of(pa.int8(), 1)
    data = bounds_of(("$['a']", BROKEN_VALUES[case]), ("$['b']", whole))
    assert BoundsReader().bound(data, ("a",)) is None
    assert BoundsReader().bound(data, ("b",)) == FieldBound(ValueKind.INTEGER, 1)


def test_bytes_that_are_cut_anywhere_raise_or_bound_nothing() -> None:
    data = bounds_of(("$['a']", value_of(pa.int64(), 5)), ("$['b']", value_of(pa.string(), "x")))
    for end in range(len(data)):
        try:
            assert BoundsReader().bound(data[:end], ("a",)) is None
        except CorruptFileError:
            continue


def test_bytes_that_are_changed_anywhere_raise_or_are_read() -> None:
    data = bounds_of(("$['a']", value_of(pa.int64(), 5)))
    for at in range(len(data)):
        for bit in range(8):
            broken = bytearray(data)
            broken[at] ^= 1 << bit
            try:
                BoundsReader().bound(bytes(broken), ("a",))
            except CorruptFileError:
                continue
