"""UUIDs as 16 bytes and as text, whole columns at a time."""

import uuid

import pyarrow as pa
import pytest

from iceberg_spark.arrow.uuid_text import uuid_bytes, uuid_text
from iceberg_spark.errors import InvalidInputError

SOME = [uuid.UUID(int=value) for value in (0, 1, 2**127 + 12345, 2**128 - 1)]


def as_bytes(values: list[uuid.UUID | None]) -> pa.Array:
    return pa.array([None if each is None else each.bytes for each in values], pa.binary(16))


def test_text_is_the_canonical_one_and_null_stays_null() -> None:
    assert uuid_text(as_bytes([*SOME, None])).to_pylist() == [*map(str, SOME), None]


def test_text_with_and_without_dashes_in_any_case_comes_back() -> None:
    texts = pa.array([str(SOME[2]), SOME[2].hex, str(SOME[2]).upper(), None])
    assert uuid_bytes(texts).equals(as_bytes([SOME[2], SOME[2], SOME[2], None]))


def test_slices_and_empty_columns() -> None:
    column = as_bytes([*SOME, None])
    assert uuid_text(column[1:3]).to_pylist() == [str(SOME[1]), str(SOME[2])]
    assert uuid_bytes(uuid_text(column)[2:]).equals(column[2:])
    assert uuid_text(column[:0]).to_pylist() == []
    assert uuid_bytes(pa.array([], pa.string())).to_pylist() == []


@pytest.mark.parametrize("text", ["", "f79c3e09", "zz9c3e09-677c-4bbd-a479-3f349cb785e7", "é" * 16])
def test_what_is_no_uuid_is_shown(text: str) -> None:
    with pytest.raises(InvalidInputError, match="is not a UUID"):
        uuid_bytes(pa.array([str(SOME[1]), text]))
