"""The footer of a Parquet file, checked before Arrow's accessors see it.

Arrow's C++ raises for a column chunk that contradicts the schema. Inside a reader that is an
ordinary error; but if Python accesses the chunk (`RowGroupMetaData.column`) or its statistics,
nothing catches it, and the process ends. One flipped bit is enough: 40 of 4,821 changed footers
ended it, 13 at `column`, 27 at `statistics`. So the bytes that those two rely on are compared
here first. Source: parquet.thrift.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from iceberg_spark.errors import CorruptFileError, UnsupportedError
from iceberg_spark.formats.limits import FOOTERS
from iceberg_spark.formats.thrift_compact import Struct, read_struct

_MAGIC = b"PAR1"
_ENCRYPTED = b"PARE"
DecodedBytes = Mapping[tuple[int, int], int]
"""The decoded size of a column, by row group and column."""
_SOUND: dict[bytes, DecodedBytes] = {}

# Field ids of parquet.thrift.
_SCHEMA, _NUM_ROWS, _ROW_GROUPS = 2, 3, 4
_TYPE, _TYPE_LENGTH, _REPETITION, _CHILDREN = 1, 2, 3, 5
_COLUMNS, _GROUP_ROWS = 1, 3
_CHUNK_METADATA, _CHUNK_CRYPTO = 3, 8
_CHUNK_TYPE, _CHUNK_STATISTICS, _CHUNK_SIZES = 1, 12, 16
_CHUNK_NUMBERS = (5, 6, 7, 9)  # values, uncompressed bytes, compressed bytes, first data page
_CHUNK_UNCOMPRESSED = 6
_BOUNDS = (1, 2, 5, 6)
_UNENCODED, _REPETITIONS, _DEFINITIONS = 1, 2, 3
_OPTIONAL, _REPEATED = 1, 2
_NAME, _CONVERTED, _LOGICAL = 4, 6, 10
_MAPS, _MAP = (1, 2), 2  # converted types MAP and MAP_KEY_VALUE, logical type MAP
_BYTE_ARRAY = 6
_WIDTHS = {0: 1, 1: 4, 2: 8, 3: 12, 4: 4, 5: 8}  # bytes of a bound by physical type


@dataclass(frozen=True, slots=True)
class _Leaf:
    """A column as the schema has it: its physical type and highest levels."""

    type: int
    repetitions: int
    definitions: int


def read_footer(source: pa.NativeFile, path: str) -> pq.FileMetaData:
    """Return the footer of an open Parquet file; raises as `read_footer_sizes`."""
    return read_footer_sizes(source, path)[0]


def read_footer_sizes(source: pa.NativeFile, path: str) -> tuple[pq.FileMetaData, DecodedBytes]:
    """Return the footer of an open Parquet file, and the sizes of columns that decoding expands.

    A dictionary stores once a value that a thousand rows repeat. Its writer records the size of
    the texts without it (parquet.thrift, SizeStatistics); older writers don't, and their columns
    are missing in the sizes. Raises CorruptFileError naming `path` for a footer that contradicts
    itself, UnsupportedError for an encrypted file and for a map with optional keys.
    """
    footer = _footer_bytes(source, path)
    try:
        decoded = _check_once(footer)
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as broken:
        raise CorruptFileError(f"{path} has a damaged Parquet footer: {broken}") from broken
    except UnsupportedError as refused:
        raise UnsupportedError(f"{path}: {refused}") from refused
    end = len(footer).to_bytes(4, "little") + _MAGIC
    try:
        return pq.read_metadata(pa.BufferReader(_MAGIC + footer + end)), decoded
    except pa.ArrowInvalid as cause:
        column = _map_with_optional_keys(read_struct(footer)[_SCHEMA])
        if column is None:
            raise
        raise UnsupportedError(
            f"Column '{column}' of {path} is a map with optional keys, which can't be read: write "
            "it with required keys"
        ) from cause


def _map_with_optional_keys(elements: list[Any]) -> str | None:
    """Return the name of a map whose key may be null, which Arrow refuses with the whole file."""
    for group, entries, key in zip(elements, elements[1:], elements[2:], strict=False):
        is_map = group.get(_CONVERTED) in _MAPS or _MAP in group.get(_LOGICAL, {})
        is_pair = entries.get(_REPETITION) == _REPEATED and _children(entries) > 0
        if is_map and is_pair and key.get(_REPETITION) == _OPTIONAL:
            return str(group[_NAME], "utf-8", "replace")
    return None


def _footer_bytes(source: pa.NativeFile, path: str) -> bytes:
    size = source.size()
    read = min(size, FOOTERS.tail_bytes)
    tail: bytes = source.read_at(read, size - read)
    if len(tail) < 12 or tail[-4:] not in (_MAGIC, _ENCRYPTED):
        raise CorruptFileError(f"{path} is truncated or no Parquet file: it does not end in PAR1")
    if tail[-4:] == _ENCRYPTED:
        raise UnsupportedError(f"{path} is encrypted, which this version can't read")
    length = int.from_bytes(tail[-8:-4], "little")
    if length + 12 > size:
        raise CorruptFileError(
            f"{path} is truncated or damaged: its footer of {length} bytes does not fit into {size}"
        )
    if length + 8 > len(tail):
        tail = source.read_at(length + 8, size - length - 8)
    return tail[-8 - length : -8]


def _check_once(footer: bytes) -> DecodedBytes:
    """Check a footer unless it is cached: each split of a file reads it again."""
    digest = blake2b(footer, digest_size=16).digest()
    checked = _SOUND.get(digest)
    if checked is not None:
        return checked
    decoded = _check(read_struct(footer))
    if len(_SOUND) >= FOOTERS.kept_footers:
        _SOUND.clear()
    _SOUND[digest] = decoded
    return decoded


def _check(footer: Struct) -> DecodedBytes:
    leaves = tuple(_leaves(footer[_SCHEMA]))
    decoded: dict[tuple[int, int], int] = {}
    rows = 0
    for group_number, group in enumerate(footer[_ROW_GROUPS]):
        chunks = group[_COLUMNS]
        if len(chunks) != len(leaves):
            raise ValueError(f"a row group has {len(chunks)} columns, the schema {len(leaves)}")
        if group[_GROUP_ROWS] < 0:
            raise ValueError(f"a row group has {group[_GROUP_ROWS]} rows")
        rows += group[_GROUP_ROWS]
        for number, (chunk, leaf) in enumerate(zip(chunks, leaves, strict=True)):
            _check_chunk(chunk, leaf, number)
            metadata = chunk[_CHUNK_METADATA]
            texts = int(metadata.get(_CHUNK_SIZES, {}).get(_UNENCODED, 0))
            if texts > metadata[_CHUNK_UNCOMPRESSED] + FOOTERS.least_growth:
                decoded[group_number, number] = texts
    if rows != footer[_NUM_ROWS]:
        raise ValueError(f"it says {footer[_NUM_ROWS]} rows, its row groups have {rows}")
    return decoded


def _check_chunk(chunk: Struct, leaf: _Leaf, number: int) -> None:
    if _CHUNK_CRYPTO in chunk:
        raise UnsupportedError("it has encrypted columns, which this version can't read")
    metadata = chunk[_CHUNK_METADATA]
    if metadata[_CHUNK_TYPE] != leaf.type:
        raise ValueError(
            f"column {number} is of type {metadata[_CHUNK_TYPE]}, in the schema of {leaf.type}"
        )
    for field_id in _CHUNK_NUMBERS:
        if metadata[field_id] < 0:
            raise ValueError(
                f"column {number} has the number {metadata[field_id]} in field {field_id}"
            )
    if _CHUNK_STATISTICS in metadata:
        _check_bounds(metadata[_CHUNK_STATISTICS], leaf, number)
    if _CHUNK_SIZES in metadata:
        _check_sizes(metadata[_CHUNK_SIZES], leaf, number)


def _check_bounds(statistics: Struct, leaf: _Leaf, number: int) -> None:
    width = _WIDTHS.get(leaf.type, 0)
    for field_id in _BOUNDS:
        bound = statistics.get(field_id)
        if bound is not None and len(bound) < width:
            raise ValueError(f"column {number} has a bound of {len(bound)} bytes, not {width}")


def _check_sizes(sizes: Struct, leaf: _Leaf, number: int) -> None:
    if _UNENCODED in sizes and leaf.type != _BYTE_ARRAY:
        raise ValueError(f"column {number} has a size of texts, but holds none")
    for field_id, most in ((_REPETITIONS, leaf.repetitions), (_DEFINITIONS, leaf.definitions)):
        counts = sizes.get(field_id)
        if counts and len(counts) != most + 1:
            raise ValueError(f"column {number} counts {len(counts)} levels, it has {most + 1}")


def _leaves(elements: list[Any]) -> Iterator[_Leaf]:
    """Yield the primitive columns of a schema, which lists each group before its children."""
    if not elements:
        raise ValueError("its schema is empty")
    waiting = [[_children(elements[0]), 0, 0]]  # remaining children, levels of their parent
    for element in elements[1:]:
        while waiting and not waiting[-1][0]:
            waiting.pop()
        if not waiting:
            raise ValueError("its schema has columns outside its groups")
        waiting[-1][0] -= 1
        repetitions, definitions = waiting[-1][1:]
        kind = element.get(_REPETITION, 0)
        repetitions += kind == _REPEATED
        definitions += kind in (_OPTIONAL, _REPEATED)
        children = _children(element)
        if children or _TYPE not in element:
            waiting.append([children, repetitions, definitions])
        else:
            yield _Leaf(element[_TYPE], repetitions, definitions)
    if any(left for left, *_ in waiting):
        raise ValueError("its schema ends inside a group")


def _children(element: Struct) -> int:
    children = int(element.get(_CHILDREN, 0))
    if children < 0:
        raise ValueError(f"a group of its schema has {children} children")
    return children
