"""The head of a Parquet file's footer: its columns as stored, and its number of rows.

A footer is Thrift's compact form of `FileMetaData` (parquet.thrift): version, columns, number of
rows, then the part that grows with the file, which is only searched for rare codecs and encodings.
Files of one writer share the bytes of their columns, so these are parsed once for all of them.
"""

from __future__ import annotations

import re
import threading
from dataclasses import dataclass
from typing import BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from iceberg_spark.arrow.file_fields import FileField, file_fields
from iceberg_spark.errors import CorruptFileError
from iceberg_spark.formats.data_file import reading
from iceberg_spark.formats.limits import FOOTERS
from iceberg_spark.formats.thrift_compact import Struct, read_struct
from iceberg_spark.io.file_io import FileIO

_MAGIC, _TAIL = b"PAR1", 8

_VERSION, _SCHEMA, _ROWS = 0x15, 0x19, 0x16  # headers: field 1 i32, field 2 list, field 3 i64
_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _STRUCT = 1, 2, 3, 7, 8, 9, 10, 12
_INTEGERS = (4, 5, 6)
_REBASED = re.compile(
    rb"org\.apache\.spark\.(legacyDateTime|version\x18.[12]\.)", re.DOTALL
)  # DataSourceUtils.datetimeRebaseSpec
_NOTHING_MORE = b"\x16\x00\x19\x0c\x00"  # no rows, no row groups, the end


@dataclass(frozen=True, slots=True)
class StoredLeaf:
    """How a primitive column is stored: names as Parquet has them ("INT32", "DECIMAL", "NONE").

    `length` is the width of FIXED_LEN_BYTE_ARRAY in bytes, 0 for other types.
    """

    physical: str
    logical: str
    length: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class StoredColumns:
    """The columns of a file; equal bytes give one object. `leaves` are in the file's order."""

    arrow: pa.Schema
    fields: tuple[FileField, ...]
    leaves: tuple[StoredLeaf, ...]


@dataclass(frozen=True, slots=True)
class FooterHead:
    """The content of a footer's head, and the size of the file in bytes.

    `is_rebased`: a Spark before 3.0, or in its legacy mode, wrote days and times of the hybrid
    calendar, which Spark (not Iceberg) converts when it reads them.
    `rare_encodings`: see `page_encodings.rare_encodings`.
    """

    columns: StoredColumns
    rows: int
    file_size: int
    is_rebased: bool
    rare_encodings: tuple[str, ...] = ()


def read_footer_head(io: FileIO, path: str) -> FooterHead:
    """Return the columns, rows and size of a Parquet file.

    One read of its last 32 KiB, or two where the footer is longer. Raises CorruptFileError,
    NoSuchFileError or StorageError naming the file.
    """
    with reading(path), io.open(path) as file:
        size, footer = _footer(file, path)
    columns, end = _columns(footer, path)
    try:
        rare = rare_encodings(footer)
        return FooterHead(columns, _rows(footer, end), size, bool(_REBASED.search(footer)), rare)
    except (IndexError, ValueError) as cause:
        raise _corrupt(path) from cause


def _corrupt(path: str) -> CorruptFileError:
    return CorruptFileError(f"{path} has a Parquet footer that can't be read")


def _footer(file: BinaryIO, path: str) -> tuple[int, bytes]:
    """Return the file's size and its footer, or a part of it that certainly holds the columns."""
    size = file.seek(0, 2)
    file.seek(max(0, size - FOOTERS.head_bytes))
    tail = file.read(FOOTERS.head_bytes)
    length = int.from_bytes(tail[-_TAIL:-4], "little")
    if tail[-4:] != _MAGIC or length > size - _TAIL or length > FOOTERS.most_bytes:
        raise CorruptFileError(f"{path} is no Parquet file: it has no footer at its end")
    if length + _TAIL <= len(tail):
        return size, tail[-_TAIL - length : -_TAIL]
    file.seek(size - _TAIL - length)
    return size, file.read(length)


_columns_by_head: dict[bytes, StoredColumns] = {}
_lock = threading.Lock()


def _columns(footer: bytes, path: str) -> tuple[StoredColumns, int]:
    """Return the columns, and where their bytes end in the footer."""
    for head, columns in reversed(list(_columns_by_head.items())):
        if footer.startswith(head):
            return columns, len(head)
    try:
        end = _end_of_columns(footer)
    except (IndexError, ValueError, RecursionError) as cause:
        raise _corrupt(path) from cause
    try:
        with reading(path):
            columns = _taken_apart(footer[:end])
    except ValueError as cause:  # e.g. names that are no UTF-8
        raise _corrupt(path) from cause
    with _lock:
        if len(_columns_by_head) >= FOOTERS.kept_schemas:
            _columns_by_head.pop(next(iter(_columns_by_head)))
        return _columns_by_head.setdefault(footer[:end], columns), end


def _taken_apart(head: bytes) -> StoredColumns:
    """Read the columns by Arrow, from a file without rows."""
    footer = head + _NOTHING_MORE
    file_bytes = _MAGIC + footer + len(footer).to_bytes(4, "little") + _MAGIC
    file = pq.ParquetFile(pa.BufferReader(file_bytes))
    stored = [file.schema.column(number) for number in range(len(file.schema))]
    leaves = tuple(
        StoredLeaf(column.physical_type, column.logical_type.type, max(column.length, 0))
        for column in stored
    )
    return StoredColumns(file.schema_arrow, file_fields(file.schema_arrow), leaves)


def _end_of_columns(footer: bytes) -> int:
    """Return the end of the list of columns; the number of rows has to follow."""
    if footer[0] != _VERSION:
        raise ValueError("no version")
    _, offset = _varint(footer, 1)
    if footer[offset] != _SCHEMA:
        raise ValueError("no columns")
    offset = _after(footer, offset + 1, _LIST)
    _rows(footer, offset)
    return offset


def _rows(footer: bytes, offset: int) -> int:
    if footer[offset] != _ROWS:
        raise ValueError("no number of rows")
    value, _ = _varint(footer, offset + 1)
    return (value >> 1) ^ -(value & 1)


def _after(data: bytes, offset: int, kind: int, depth: int = 0) -> int:
    """Return the end of a value of a Thrift type. A footer's columns contain no maps."""
    if depth > FOOTERS.head_levels:
        raise ValueError("nested too deeply")
    match kind:
        case _ if kind in _INTEGERS:
            return _varint(data, offset)[1]
        case _ if kind in (_TRUE, _FALSE):
            return offset
        case _ if kind == _BYTE:
            return offset + 1
        case _ if kind == _DOUBLE:
            return offset + 8
        case _ if kind == _BINARY:
            length, offset = _varint(data, offset)
            return offset + length
        case _ if kind in (_LIST, _SET):
            return _after_list(data, offset, depth)
        case _ if kind == _STRUCT:
            return _after_struct(data, offset, depth)
        case _:
            raise ValueError("unknown type")


def _after_list(data: bytes, offset: int, depth: int) -> int:
    count, kind = data[offset] >> 4, data[offset] & 15
    offset += 1
    if count == 15:
        count, offset = _varint(data, offset)
    if kind in (_TRUE, _FALSE):
        return offset + count  # in lists a boolean takes a byte
    for _ in range(count):
        offset = _after(data, offset, kind, depth + 1)
    return offset


def _after_struct(data: bytes, offset: int, depth: int) -> int:
    while header := data[offset]:
        offset += 1
        if header < 16:  # the field's number follows unless it is close to the last
            offset = _varint(data, offset)[1]
        offset = _after(data, offset, header & 15, depth + 1)
    return offset + 1


def _varint(data: bytes, offset: int) -> tuple[int, int]:
    """Return a number of 7 bits per byte, and its end."""
    value = shift = 0
    while True:
        byte = data[offset]
        offset += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, offset
        shift += 7
        if shift > 63:
            raise ValueError("number too long")


# Codecs and encodings of Parquet pages that only some readers support, from a file's footer.
#
# Source: parquet.thrift, `ColumnMetaData`, `CompressionCodec`, `Encoding`.

_ROW_GROUPS, _CREATED_BY = 4, 6
_COLUMNS, _METADATA = 1, 3
_ENCODINGS, _CODEC = 2, 4
_CODECS = {3: "LZO", 4: "BROTLI", 5: "LZ4"}
_LZ4 = 5
_BYTE_STREAM_SPLIT = 9
_HADOOPS_WRITER = b"parquet-mr"

_LIKELY_CODEC = re.compile(rb"\x15[\x06\x08\x0a]\x16")
"""Field `codec` with one of these values and the head of field `num_values` that follows."""
_LIKELY_ENCODING = re.compile(rb"\x19[\x15\x25\x35\x45\x55\x65\x75\x85\x95][\x00-\x10]*\x12")
"""Field `encodings`, a list with BYTE_STREAM_SPLIT among its numbers."""


def rare_encodings(footer: bytes) -> tuple[str, ...]:
    """Return the rare codecs and encodings of a file's pages: LZO, BROTLI, LZ4, BYTE_STREAM_SPLIT.

    LZ4 is left out for files of parquet-mr, which frames its blocks as Hadoop does. Other writers
    have written blocks without that frame under the same name; Hadoop's codec can't read those.
    Raises ValueError for a footer that can't be parsed.
    """
    # To search bytes takes microseconds, to parse a footer milliseconds. Statistics may hold the
    # same bytes by chance, but no footer with a rare encoding lacks them.
    likely = _LIKELY_CODEC.search(footer) or _LIKELY_ENCODING.search(footer)
    return _rare_in(read_struct(footer)) if likely else ()


def _rare_in(footer: Struct) -> tuple[str, ...]:
    chunks = [
        chunk[_METADATA]
        for group in footer.get(_ROW_GROUPS, ())
        for chunk in group.get(_COLUMNS, ())
        if _METADATA in chunk
    ]
    codecs = {chunk.get(_CODEC) for chunk in chunks}
    if footer.get(_CREATED_BY, b"").startswith(_HADOOPS_WRITER):
        codecs.discard(_LZ4)
    names = [name for codec, name in _CODECS.items() if codec in codecs]
    if any(_BYTE_STREAM_SPLIT in chunk.get(_ENCODINGS, ()) for chunk in chunks):
        names.append("BYTE_STREAM_SPLIT")
    return tuple(names)
