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

from iceberg_spark.arrow.file_fields import FileField
from iceberg_spark.arrow.schema import to_arrow_type
from iceberg_spark.expr.nodes import And, Bound, BoundReference, Comparison, Constant, In, Op, Or
from iceberg_spark.formats.limits import READING

_BLOCK_BYTES = 32
_SALT = np.array([
    0x47B6137B, 0x44974D91, 0x8824AD5B, 0xA2B7289D,
    0x705495C7, 0x2DF1424B, 0x9EFC4947, 0x5C6BFB31,
], np.uint32)  # fmt: skip
_HALF = np.uint64(32)
_HEADER_BYTES = 32
_AFTER_SIZE = bytes.fromhex("1c1c0000" * 3 + "00")
"""The header after its size, in Thrift: split blocks, hashed by XXH64, not compressed."""

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
        header = self._source.read_at(_HEADER_BYTES, offset)
        size, end = _varint(header, 1) if header[:1] == b"\x15" else (0, 0)
        size >>= 1  # zigzag; a size is not negative
        begin = end + len(_AFTER_SIZE)
        if header[end:begin] != _AFTER_SIZE or not 0 < size <= most_bytes or size % _BLOCK_BYTES:
            return None
        blocks: bytes = self._source.read_at(size, offset + begin)
        return blocks if len(blocks) == size else None


def _varint(data: bytes, position: int) -> tuple[int, int]:
    """Return a number and the position after it."""
    number = shift = 0
    while position < len(data):
        byte = data[position]
        number |= (byte & 0x7F) << shift
        position, shift = position + 1, shift + 7
        if byte < 0x80:
            break
    return number, position


@lru_cache(maxsize=64)
def _hashes(
    values: tuple[Any, ...], term: BoundReference, kind: pa.DataType, stored_as: StoredAs
) -> npt.NDArray[np.uint64] | None:
    """Return the hashes of values that a column can hold; None if it may hold them otherwise."""
    stored = [_stored(value, term, kind, stored_as) for value in values]
    if None in stored:
        return None
    return np.array([xxh64(text) for text in stored if text], np.uint64)


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
        return int(value.scaleb(target.scale)) if same else None
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


_P1, _P2, _P3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
_P4, _P5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5
_ALL = (1 << 64) - 1


def xxh64(data: bytes) -> int:
    """Return the hash XXH64 with seed 0.

    Example:
        >>> hex(xxh64(b"abc"))
        '0x44bc2cf5ad770999'
    """
    position, length = 0, len(data)
    if length >= 32:
        lanes = [(_P1 + _P2) & _ALL, _P2, 0, -_P1 & _ALL]
        while position + 32 <= length:
            lanes = [_round(lane, _word(data, position + 8 * i)) for i, lane in enumerate(lanes)]
            position += 32
        turns = zip(lanes, (1, 7, 12, 18), strict=True)
        number = sum(_turned(lane, bits) for lane, bits in turns) & _ALL
        for lane in lanes:
            number = ((number ^ _round(0, lane)) * _P1 + _P4) & _ALL
    else:
        number = _P5
    number = (number + length) & _ALL
    while position + 8 <= length:
        number = (_turned(number ^ _round(0, _word(data, position)), 27) * _P1 + _P4) & _ALL
        position += 8
    if position + 4 <= length:
        half = int.from_bytes(data[position : position + 4], "little")
        number = (_turned(number ^ (half * _P1 & _ALL), 23) * _P2 + _P3) & _ALL
        position += 4
    for byte in data[position:]:
        number = _turned(number ^ (byte * _P5 & _ALL), 11) * _P1 & _ALL
    number = ((number ^ (number >> 33)) * _P2) & _ALL
    number = ((number ^ (number >> 29)) * _P3) & _ALL
    return number ^ (number >> 32)


def _word(data: bytes, position: int) -> int:
    return int.from_bytes(data[position : position + 8], "little")


def _turned(number: int, bits: int) -> int:
    return ((number << bits) | (number >> (64 - bits))) & _ALL


def _round(lane: int, word: int) -> int:
    return _turned((lane + word * _P2) & _ALL, 31) * _P1 & _ALL
