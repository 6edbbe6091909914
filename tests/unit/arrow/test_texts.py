"""Texts that are not UTF-8 are found in every layout, and only where a column shows them."""

import pyarrow as pa
import pytest

from iceberg_spark.arrow.texts import has_texts, wrong_text

VALUES = (b"plain", b"\xff\xfe", None, "ä".encode())
WRONG = 1
"""The place of the text that is none."""


def texts(kind: pa.DataType = pa.string()) -> pa.Array:  # noqa: B008 (a constant)
    bytes_kind = pa.large_binary() if kind == pa.large_string() else pa.binary()
    if kind == pa.string_view():
        return pa.array(VALUES, pa.binary_view()).view(kind)
    return pa.Array.from_buffers(kind, len(VALUES), pa.array(VALUES, bytes_kind).buffers())


def structs(**options) -> pa.Array:
    return pa.StructArray.from_arrays([pa.array(range(4)), texts()], ["n", "t"], **options)


def offsets(kind: pa.DataType = pa.int32()) -> pa.Array:  # noqa: B008 (a constant)
    return pa.array([0, 1, 2, 3, 4], kind)


HIDDEN = pa.array([False, True, False, False])
LAYOUTS = {
    "text": (texts(), ""),
    "large text": (texts(pa.large_string()), ""),
    "text view": (texts(pa.string_view()), ""),
    "dictionary": (pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 3]), texts()), ""),
    "struct": (structs(), ".t"),
    "list": (pa.ListArray.from_arrays(offsets(), texts()), ".element"),
    "list of structs": (pa.ListArray.from_arrays(offsets(), structs()), ".element.t"),
    "large list": (
        pa.LargeListArray.from_arrays(offsets(pa.int64()), structs()),
        ".element.t",
    ),
    "list of one": (pa.FixedSizeListArray.from_arrays(structs(), 1), ".element.t"),
    "keys": (pa.MapArray.from_arrays(offsets(), texts().fill_null(""), structs()), ".key"),
    "values": (
        pa.MapArray.from_arrays(offsets(), pa.array(range(4)), structs()),
        ".value.t",
    ),
    "list of lists": (
        pa.ListArray.from_arrays(offsets(), pa.ListArray.from_arrays(offsets(), texts())),
        ".element.element",
    ),
}
MASKED = {
    "struct": structs(mask=HIDDEN),
    "list": pa.ListArray.from_arrays(offsets(), structs(), mask=HIDDEN),
    "map": pa.MapArray.from_arrays(offsets(), pa.array(range(4)), structs(), mask=HIDDEN),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_the_field_with_such_a_text_is_named(name: str):
    column, path = LAYOUTS[name]
    assert has_texts(column.type)
    assert wrong_text(column, "c") == f"c{path}"


@pytest.mark.parametrize("name", LAYOUTS)
def test_rows_outside_a_slice_are_not_looked_at(name: str):
    column, path = LAYOUTS[name]
    assert wrong_text(column.slice(WRONG + 1), "c") is None
    assert wrong_text(column.slice(0, WRONG), "c") is None
    assert wrong_text(column.slice(WRONG, 1), "c") == f"c{path}"


@pytest.mark.parametrize("name", MASKED)
def test_what_lies_below_a_null_is_not_looked_at(name: str):
    assert wrong_text(MASKED[name], "c") is None


def test_types_without_texts_are_known():
    assert not has_texts(pa.list_(pa.struct([("a", pa.binary()), ("b", pa.int64())])))
    assert has_texts(pa.map_(pa.int32(), pa.list_(pa.dictionary(pa.int8(), pa.string()))))
