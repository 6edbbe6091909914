"""One data or delete file from its creation to its entry, and its removal when it fails."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, BinaryIO, TypeAlias, assert_never

import pyarrow as pa
import pyarrow.parquet as pq

from iceberg_spark.arrow.schema import to_arrow
from iceberg_spark.errors import IcebergError, StorageError, UnsupportedError
from iceberg_spark.formats.avro.data_writer import AvroFileWriter, avro_layout
from iceberg_spark.formats.file_writer import FileWriter, WriterProperties
from iceberg_spark.formats.metrics import Metrics
from iceberg_spark.formats.metrics_modes import MetricsMode, metrics_modes
from iceberg_spark.formats.orc_writer import OrcFileWriter, orc_layout
from iceberg_spark.formats.parquet_writer import (
    ParquetFileWriter,
    parquet_layout,
    row_group_offsets,
)
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.spec.data_file import DataFile, DataFileContent, FileFormat
from iceberg_spark.spec.partition import PartitionSpec
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.schema_json import schema_to_dict
from iceberg_spark.spec.transforms import IdentityTransform
from iceberg_spark.write.context import WriteContext

_Begin: TypeAlias = Callable[[BinaryIO, Callable[[], BinaryIO]], FileWriter]


@dataclass(frozen=True, slots=True)
class FileShape:
    """The values that all files of one writer share: content, format, spec, and how to open one."""

    content: DataFileContent
    file_format: FileFormat
    spec: PartitionSpec
    begin: _Begin


def data_shape(context: WriteContext) -> FileShape:
    """Return the shape of a write's data files. Raises InvalidOptionError for bad properties."""
    return file_shape(context, DataFileContent.DATA, context.file_format, context.schema)


def file_shape(
    context: WriteContext,
    content: DataFileContent,
    file_format: FileFormat,
    schema: Schema,
    modes: Mapping[int, MetricsMode] | None = None,
    key_values: Mapping[str, str] | None = None,
) -> FileShape:
    """Return the shape of files with the columns of `schema`.

    Metrics modes default to those of the table's properties; `key_values` are added to the
    footer. Raises InvalidOptionError for bad properties.
    """
    options = WriterProperties(context.properties, content is not DataFileContent.DATA)
    if modes is None:
        modes = metrics_modes(schema, context.properties)
    keys = {"iceberg.schema": json.dumps(schema_to_dict(schema)), **(key_values or {})}
    begin: _Begin
    match file_format:
        case FileFormat.PARQUET:
            parquet = parquet_layout(schema, options, modes, keys)
            begin = lambda sink, _: ParquetFileWriter(sink, parquet)  # noqa: E731
        case FileFormat.ORC:
            orc = orc_layout(schema, options, modes)
            begin = lambda sink, back: OrcFileWriter(sink, orc, back)  # noqa: E731
        case FileFormat.AVRO:
            avro = avro_layout(schema, to_arrow(schema), options, keys)
            begin = lambda sink, _: AvroFileWriter(sink, avro)  # noqa: E731
        case FileFormat.PUFFIN:
            raise UnsupportedError("Puffin files contain no rows")
        case _:
            assert_never(file_format)
    return FileShape(content, file_format, context.spec, begin)


class OpenFile:
    """A file that is being written; closing it gives its manifest entry's `DataFile`."""

    __slots__ = ("_entry", "_io", "_sink", "_spec", "_writer", "path", "rows")

    def __init__(self, io: FileIO, shape: FileShape, path: str, **entry: Any) -> None:
        self.path = path
        self.rows = 0
        self._io = io
        self._spec = shape.spec
        self._entry = {"content": shape.content, "file_format": shape.file_format, **entry}
        self._sink = io.create(path)
        self._writer = shape.begin(self._sink, partial(io.open, path))

    @property
    def bytes_written(self) -> int:
        """Bytes that are in the file so far."""
        return self._writer.bytes_written

    def write(self, table: pa.Table) -> None:
        """Encode rows. Raises StorageError when they can't be stored."""
        try:
            self._writer.write(table)
        except OSError as cause:
            raise StorageError(f"Can't write {self.path}: {cause}") from cause
        self.rows += table.num_rows

    def close(self) -> DataFile:
        """Finish the file durably and return its entry."""
        try:
            written = self._writer.close()
        except OSError as cause:
            raise StorageError(f"Can't write {self.path}: {cause}") from cause
        metrics = written.metrics
        return file_entry(
            metrics,
            self._spec,
            file_path=self.path,
            file_size_in_bytes=written.size,
            split_offsets=written.split_offsets,
            **self._entry,
        )

    def abort(self) -> None:
        """Close and delete the file, in any state."""
        with suppress(OSError, ValueError, IcebergError, pa.ArrowException):
            self._writer.abort()
        with suppress(OSError, ValueError, IcebergError):
            self._sink.close()
        with suppress(IcebergError):
            self._io.delete(self.path)


def file_entry(metrics: Metrics, spec: PartitionSpec, **entry: Any) -> DataFile:
    """Return a file's manifest entry; `entry` are the members that are not metrics."""
    file = DataFile(
        record_count=metrics.record_count,
        column_sizes=metrics.column_sizes,
        value_counts=metrics.value_counts,
        null_value_counts=metrics.null_value_counts,
        nan_value_counts=metrics.nan_value_counts,
        lower_bounds=metrics.lower_bounds,
        upper_bounds=metrics.upper_bounds,
        **entry,
    )
    return _with_partition_counts(file, spec)


def _with_partition_counts(file: DataFile, spec: PartitionSpec) -> DataFile:
    """Give a data file the counts of its identity partition columns where it lacks them.

    They follow from the partition: a file of the partition k=NULL with 10 rows has 10 nulls in k.
    Metrics mode `none` and files of `k=v` folders have none, and Trino then returns rows of the
    NULL partition for `k < 'b'`.
    """
    if file.content is not DataFileContent.DATA:
        return file
    values, nulls = file.value_counts or {}, file.null_value_counts or {}
    counts = {
        field.source_id: file.record_count if value is None else 0
        for field, value in zip(spec.fields, file.partition, strict=True)
        if isinstance(field.transform, IdentityTransform)
        and not (field.source_id in values and field.source_id in nulls)
    }
    if not counts:
        return file
    return replace(
        file,
        value_counts={**values, **dict.fromkeys(counts, file.record_count)},
        null_value_counts={**nulls, **counts},
    )


def parquet_entry(
    metrics: Metrics, footer: pq.FileMetaData, spec: PartitionSpec, **entry: Any
) -> DataFile:
    """Return the entry of a stored Parquet data file, by its footer."""
    return file_entry(
        metrics,
        spec,
        content=DataFileContent.DATA,
        file_format=FileFormat.PARQUET,
        split_offsets=row_group_offsets(footer),
        **entry,
    )
