"""Bloom filters of Parquet files: which row groups may have the values of a filter.

Rules: Parquet's "Split block Bloom filters". A filter answers equality only, and only "no" is
certain. Only types that files store as the table has them are looked up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from functools import lru_cache
from typing import Any, TypeAlias
from uuid import UUID

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.types as pt
import xxhash

from iceberg_spark.arrow.file_fields import FileField
from iceberg_spark.arrow.schema import to_arrow_type
from iceberg_spark.expr.nodes import And, Bound, BoundReference, Comparison, Constant, In, Op, Or
from iceberg_spark.formats.limits import READING
from iceberg_spark.formats.thrift_compact import struct_at
from iceberg_spark.spec.values import to_unscaled

_BLOCK_BYTES = 32
_SALT = np.array([
    0x47B6137B, 0x44974D91, 0x8824AD5B, 0xA2B7289D,
    0x705495C7, 0x2DF1424B, 0x9EFC4947, 0x5C6BFB31,
], np.uint32)  # fmt: skip
_HALF = np.uint64(32)
_HEADER_BYTES = 32
_KINDS: dict[int, Any] = {2: {1: {}}, 3: {1: {}}, 4: {1: {}}}
"""The header's unions of algorithm, hash and compression: split blocks, XXH64, uncompressed."""

StoredAs: TypeAlias = tuple[str, int]
"""A column's physical type, and the bytes of a value if they are always as many."""


class BloomReader:
    """The Bloom filters of a file's row groups, read when a value is looked up."""

    def __init__(
        self, source: pa.NativeFile, metadata: pq.FileMetaData, leaves: Mapping[int, FileField]
    ) -> None:
        """`leaves` are the primitive columns that have one value in each row, by field id."""
        self._source = source
        self._metadata = metadata
        self._leaves = leaves
        self._filters: dict[tuple[int, int], bytes | None] = {}

    def may_match(self, group: int, bound: Bound, most_bytes: int) -> bool:
        """Return whether a row group may have a row that matches; filters above a size are left."""
        match bound:
            case Constant(value=value):
                return value
            case And(children=children):
                return all(self.may_match(group, child, most_bytes) for child in children)
            case Or(children=children):
                return any(self.may_match(group, child, most_bytes) for child in children)
            case Comparison(op=Op.EQ, term=BoundReference() as term, value=value):
                return self._may_have(group, term, (value,), most_bytes)
            case In(term=BoundReference() as term, values=values, negated=False):
                return self._may_have(group, term, values, most_bytes)
            case _:
                return True

    def _may_have(
        self, group: int, term: BoundReference, values: Sequence[Any], most_bytes: int
    ) -> bool:
        leaf = self._leaves.get(term.field_id)
        if leaf is None or len(values) > READING.bloom_values:
            return True
        chunk = self._metadata.row_group(group).column(leaf.leaves[0])
        offset = getattr(chunk, "bloom_filter_offset", None)  # older pyarrow lacks it
        if not offset:
            return True
        column = self._metadata.schema.column(leaf.leaves[0])
        stored_as = column.physical_type, column.length
        hashes = _hashes(tuple(values), term, leaf.kind, stored_as)
        if hashes is None:
            return True
        key = group, leaf.leaves[0]
        if key not in self._filters:
            self._filters[key] = self._read(int(offset), most_bytes)
        blocks = self._filters[key]
        return blocks is None or _has_any(blocks, hashes)

    def _read(self, offset: int, most_bytes: int) -> bytes | None:
        """Return the blocks of a filter, None if it is too large or of another kind."""
        try:
            header, begin = struct_at(self._source.read_at(_HEADER_BYTES, offset), 0)
        except ValueError:
            return None
        size, kinds = header.get(1), {number: header.get(number) for number in _KINDS}
        if kinds != _KINDS or not isinstance(size, int):
            return None
        if not 0 < size <= most_bytes or size % _BLOCK_BYTES:
            return None
        blocks: bytes = self._source.read_at(size, offset + begin)
        return blocks if len(blocks) == size else None


@lru_cache(maxsize=64)
def _hashes(
    values: tuple[Any, ...], term: BoundReference, kind: pa.DataType, stored_as: StoredAs
) -> npt.NDArray[np.uint64] | None:
    """Return the hashes of values that a column can hold; None if it may hold them otherwise."""
    stored = [_stored(value, term, kind, stored_as) for value in values]
    if None in stored:
        return None
    return np.array([xxhash.xxh64_intdigest(text) for text in stored if text], np.uint64)


def _stored(
    value: Any, term: BoundReference, kind: pa.DataType, stored_as: StoredAs
) -> bytes | None:
    """Return a value as a file's column stores it; b"" if it can't, None if that is uncertain."""
    number = _number(value, term, kind)
    if number is not None:
        return _number_bytes(number, stored_as)
    match stored_as[0]:
        case "BYTE_ARRAY" if isinstance(value, str) and value and _is_text(kind):
            return value.encode()
        case "BYTE_ARRAY" if isinstance(value, bytes) and value and pt.is_binary(kind):
            return value
        case "FIXED_LEN_BYTE_ARRAY" if isinstance(value, UUID):
            return value.bytes
        case _:
            return None


def _number_bytes(number: int, stored_as: StoredAs) -> bytes | None:
    try:
        match stored_as:
            case "INT32", _:
                return number.to_bytes(4, "little", signed=True)
            case "INT64", _:
                return number.to_bytes(8, "little", signed=True)
            case "FIXED_LEN_BYTE_ARRAY", length:
                return number.to_bytes(length, "big", signed=True)
            case _:
                return None
    except OverflowError:  # the column was narrower when the file was written
        return b""


def _number(value: Any, term: BoundReference, kind: pa.DataType) -> int | None:
    """Return the whole number that stands for a value, None if the file may store another."""
    target = to_arrow_type(term.field_type)
    if pt.is_decimal(target):
        same = pt.is_decimal(kind) and kind.scale == target.scale and isinstance(value, Decimal)
        return to_unscaled(value, target.scale) if same else None
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    is_promoted = pt.is_int32(kind) and pt.is_int64(target)
    return value if kind == target or is_promoted else None


def _is_text(kind: pa.DataType) -> bool:
    return bool(pt.is_string(kind) or pt.is_large_string(kind) or pt.is_string_view(kind))


def _has_any(blocks: bytes, hashes: npt.NDArray[np.uint64]) -> bool:
    """Return whether all bits of some hash are set: one in each of the eight words of its block."""
    words = np.frombuffer(blocks, "<u4").reshape(-1, len(_SALT))
    block = ((hashes >> _HALF) * np.uint64(len(words))) >> _HALF
    bits = np.uint32(1) << ((hashes.astype(np.uint32)[:, None] * _SALT) >> np.uint32(27))
    return bool(((words[block.astype(np.int64)] & bits) == bits).all(axis=1).any())
