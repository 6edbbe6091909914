"""The format of another writer's file, by its name or by its first bytes."""

from __future__ import annotations

from iceberg_spark.formats.avro.container import MAGIC
from iceberg_spark.formats.data_file import reading
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.spec.data_file import FileFormat

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
