"""The facts that another writer's file provides without reading its rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow.parquet as pq

from iceberg_spark.arrow.file_fields import FileField, Path, file_fields
from iceberg_spark.errors import UnsupportedError
from iceberg_spark.formats.avro.head import avro_head
from iceberg_spark.formats.data_file import reading
from iceberg_spark.formats.footer_metrics import footer_metrics, single_leaves
from iceberg_spark.formats.metrics import Metrics
from iceberg_spark.formats.metrics_modes import MetricsMode
from iceberg_spark.formats.open_file import format_of
from iceberg_spark.formats.orc_reader import open_orc
from iceberg_spark.formats.orc_statistics import (
    OrcColumn,
    columns_by_id,
    orc_columns,
    orc_extremes,
    orc_metrics,
)
from iceberg_spark.formats.parquet_footer import read_footer
from iceberg_spark.formats.parquet_writer import row_group_offsets
from iceberg_spark.io.decoding import decoding
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.spec.data_file import FileFormat
from iceberg_spark.spec.partition import PartitionField
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.transforms import VoidTransform
from iceberg_spark.spec.types import IcebergType
from iceberg_spark.write.footer_partition import values_between, values_of_extremes

_DECIMAL_BYTES = 16
"""Bytes of a 128 bit decimal, the widest that Iceberg has."""


@dataclass(frozen=True, slots=True)
class ImportedFile:
    """A file's columns with their ids in the table, its bytes and rows.

    `footer` is a Parquet file's, `columns` are the statistics of an ORC file by field id. Avro
    files have none.
    """

    file_format: FileFormat
    fields: tuple[FileField, ...]
    size: int
    rows: int
    split_offsets: tuple[int, ...] | None = None
    footer: pq.FileMetaData | None = None
    columns: Mapping[int, OrcColumn] = field(default_factory=dict)

    def metrics(self, schema: Schema, modes: Mapping[int, MetricsMode]) -> Metrics:
        """Return the metrics that are surely true of its rows."""
        match self.file_format:
            case FileFormat.PARQUET:
                return footer_metrics(self.footer, self.fields, schema, modes)
            case FileFormat.ORC:
                return orc_metrics(self.rows, self.columns, schema, modes)
            case _:
                return Metrics(self.rows)

    def partition_values(
        self, part: PartitionField, source: IcebergType, kind: IcebergType
    ) -> list[Any] | None:
        """Return the distinct partition values of its rows; None if they are unknown.

        `source` is the column's type in the table, `kind` the partition field's.
        """
        leaf = single_leaves(self.fields).get(part.source_id)
        if leaf is None:
            return None
        if isinstance(part.transform, VoidTransform):
            return [None]
        if self.file_format is FileFormat.PARQUET:
            return values_of_extremes(self.footer, leaf, part, source, kind, is_one_partition=False)
        column = self.columns.get(part.source_id)
        return None if column is None else self._between(column, part, source, kind)

    def _between(
        self, column: OrcColumn, part: PartitionField, source: IcebergType, kind: IcebergType
    ) -> list[Any] | None:
        if column.values == 0:
            return [None]
        bounds = orc_extremes(column, source)
        if bounds is None:
            return None
        values = values_between(bounds, part, source, kind, is_one_partition=False)
        return values if values is None or column.values == self.rows else [*values, None]


def imported_file(io: FileIO, path: str, ids: Mapping[Path, int]) -> ImportedFile:
    """Look into a file. `ids` are those of columns, by names, in files without ids.

    Raises CorruptFileError, NoSuchFileError or StorageError naming it.
    """
    match format_of(io, path):
        case FileFormat.ORC:
            return _orc(io, path, ids)
        case FileFormat.AVRO:
            head = avro_head(io, path)
            fields = file_fields(head.schema, ids)
            return ImportedFile(FileFormat.AVRO, fields, head.file_size, head.rows)
        case _:
            return _parquet(io, path, ids)


def _parquet(io: FileIO, path: str, ids: Mapping[Path, int]) -> ImportedFile:
    with reading(path), io.open_arrow(path) as source:
        size = source.size()
        footer = read_footer(source, path)
        _check_decodable(footer, path)
        fields = file_fields(footer.schema.to_arrow_schema(), ids)
    return ImportedFile(
        FileFormat.PARQUET, fields, size, footer.num_rows, row_group_offsets(footer), footer
    )


def _check_decodable(footer: pq.FileMetaData, path: str) -> None:
    """Refuse what Arrow's reader does not support: LZO, and decimals of more than 16 bytes."""
    for number in range(footer.num_columns):
        column = footer.schema.column(number)
        is_wide = column.logical_type.type == "DECIMAL" and column.length > _DECIMAL_BYTES
        if is_wide:
            raise UnsupportedError(
                f"Column '{column.path}' of {path} stores decimals in {column.length} bytes, "
                f"which can't be read: write it with {_DECIMAL_BYTES} bytes or less"
            )
        if footer.num_row_groups and footer.row_group(0).column(number).compression == "LZO":
            raise UnsupportedError(
                f"Column '{column.path}' of {path} is compressed by LZO, which can't be read: "
                "write it with zstd"
            )


def _orc(io: FileIO, path: str, ids: Mapping[Path, int]) -> ImportedFile:
    reader = open_orc(io, path)
    try:
        fields = file_fields(reader.schema, ids)
        with decoding(path):
            statistics = orc_columns(reader.file.reader.serialized_file_tail())
        return ImportedFile(
            FileFormat.ORC,
            fields,
            reader.file_size,
            reader.rows,
            tuple(stripe.offset for stripe in reader.stripes),
            columns=columns_by_id(fields, statistics, reader.rows),
        )
    finally:
        reader.close()
