"""The head of an Avro file: the schema and the number of its records.

`add_files` needs no more of a file. Blocks are skipped, whatever their size: only a header and the
start of a block are in memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import BinaryIO

import pyarrow as pa

from iceberg_spark.errors import CorruptFileError
from iceberg_spark.formats.avro.arrow_types import arrow_field
from iceberg_spark.formats.avro.container import (
    MAGIC,
    SYNC_BYTES,
    AvroHeader,
    check_codec,
    parse_header,
    read_long,
)
from iceberg_spark.formats.avro.counts import check_bytes
from iceberg_spark.formats.avro.types import AvroField, parse_record
from iceberg_spark.formats.data_file import reading
from iceberg_spark.io.decoding import decoding
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.io.limits import limits_of

_FIRST = 1 << 16
_MOST = 1 << 24
_TWO_NUMBERS = 20
_MOST_ROWS = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class AvroHead:
    """The columns and the rows of an Avro file of `file_size` bytes."""

    fields: tuple[AvroField, ...]
    schema: pa.Schema
    rows: int
    file_size: int


def avro_head(io: FileIO, path: str) -> AvroHead:
    """Read an Avro file's header and the starts of its blocks.

    Raises CorruptFileError, NoSuchFileError, StorageError, and UnsupportedError naming what could
    be added but not read.
    """
    with reading(path), io.open(path) as file:
        size = file.seek(0, 2)
        header = _header(file, size, path)
        check_codec(header.codec, path)
        fields = parse_record(header.schema, path, limits_of(io.properties))
        with decoding(path):
            schema = pa.schema([arrow_field(field) for field in fields])
        return AvroHead(fields, schema, _rows(file, header, fields, size, path), size)


def _header(file: BinaryIO, size: int, path: str) -> AvroHeader:
    """Return the header of a file, of which more is read while that ends too early."""
    taken = _FIRST
    while True:
        file.seek(0)
        start = file.read(taken)
        try:
            return parse_header(start, path)
        except CorruptFileError:
            if taken >= min(size, _MOST) or not start.startswith(MAGIC):
                raise
        taken *= 4


def _rows(
    file: BinaryIO, header: AvroHeader, fields: tuple[AvroField, ...], size: int, path: str
) -> int:
    types = [field.type for field in fields]
    rows, position = 0, header.end
    file.seek(position)
    start = file.read(_TWO_NUMBERS)
    while position < size:
        try:
            count, offset = read_long(start, 0)
            length, offset = read_long(start, offset)
        except (IndexError, ValueError) as broken:
            raise CorruptFileError(f"{path} is cut off at byte {position}") from broken
        end = position + offset + length
        if count < 0 or length < 0 or end + SYNC_BYTES > size:
            raise CorruptFileError(
                f"{path} is cut off or damaged: the block at byte {position} needs {length} "
                f"bytes, the file has {size}"
            )
        file.seek(end)
        after = file.read(SYNC_BYTES + _TWO_NUMBERS)
        if after[:SYNC_BYTES] != header.sync:
            raise CorruptFileError(f"{path} is damaged: no sync marker at byte {end}")
        if header.codec == "null":  # the size of other blocks is only known after reading
            check_bytes(types, count, length, path)
        rows += count
        if rows > _MOST_ROWS:
            raise CorruptFileError(f"{path} is damaged: it claims {rows:,} records")
        position, start = end + SYNC_BYTES, after[SYNC_BYTES:]
    return rows
