"""Open a data or delete file of any format, also of one that its name does not tell."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import assert_never

from iceberg_spark.errors import CorruptFileError
from iceberg_spark.formats.avro.container import MAGIC
from iceberg_spark.formats.data_file import DataFileReader, reading
from iceberg_spark.formats.parquet_reader import open_parquet
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.lazy import LazyFunction
from iceberg_spark.spec.data_file import FileFormat

open_avro = LazyFunction("iceberg_spark.formats.avro.data_reader", "open_avro")
open_orc = LazyFunction("iceberg_spark.formats.orc_reader", "open_orc")


@contextmanager
def open_data_file(io: FileIO, path: str, file_format: FileFormat) -> Iterator[DataFileReader]:
    """Open a Parquet, ORC or Avro file for a `with` block.

    Raises NoSuchFileError, StorageError or CorruptFileError naming the file, which a Puffin
    file is: it has no rows.
    """
    reader = _open(io, path, file_format)
    try:
        yield reader
    finally:
        reader.close()


def _open(io: FileIO, path: str, file_format: FileFormat) -> DataFileReader:
    match file_format:
        case FileFormat.PARQUET:
            return open_parquet(io, path)
        case FileFormat.ORC:
            orc: DataFileReader = open_orc(io, path)
            return orc
        case FileFormat.AVRO:
            avro: DataFileReader = open_avro(io, path)
            return avro
        case FileFormat.PUFFIN:
            raise CorruptFileError(f"{path} is listed as a file of rows, and is a Puffin file")
        case _:
            assert_never(file_format)


_ENDINGS = {
    ".parquet": FileFormat.PARQUET,
    ".parq": FileFormat.PARQUET,
    ".orc": FileFormat.ORC,
    ".avro": FileFormat.AVRO,
}
_BEGINNINGS = {b"ORC": FileFormat.ORC, MAGIC: FileFormat.AVRO}


def named_format(path: str) -> FileFormat | None:
    """Return the format that a file's name ends with; Hive's have no ending (`000000_0`)."""
    lower = path.lower()
    return next((kind for ending, kind in _ENDINGS.items() if lower.endswith(ending)), None)


def format_of(io: FileIO, path: str) -> FileFormat:
    """Return a file's format, Parquet if unknown: its reader reports what is wrong.

    Files without an extension are opened. Raises NoSuchFileError or StorageError naming the file.
    """
    named = named_format(path)
    if named is not None:
        return named
    with reading(path), io.open(path) as file:
        first = file.read(len(MAGIC))
    formats = (kind for start, kind in _BEGINNINGS.items() if first.startswith(start))
    return next(formats, FileFormat.PARQUET)
