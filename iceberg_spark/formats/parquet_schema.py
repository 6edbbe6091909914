"""The columns that a Parquet file's footer tells, as they are stored."""

from __future__ import annotations

import pyarrow as pa

from iceberg_spark.formats.data_file import reading
from iceberg_spark.formats.parquet_footer import read_footer
from iceberg_spark.io.file_io import FileIO


def parquet_schema(io: FileIO, path: str) -> pa.Schema:
    """Return the columns of a Parquet file; INT96 timestamps show as nanoseconds.

    Raises CorruptFileError, NoSuchFileError or StorageError naming the file.
    """
    files, at = io.arrow(path)
    with reading(path), files.open_input_file(at) as source:
        return read_footer(source, path).schema.to_arrow_schema()
