"""Parquet data and delete files (specification, Appendix A: "Parquet")."""

from __future__ import annotations

import inspect
import math
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from iceberg_spark.arrow.schema import child_fields, field_id, is_list, to_arrow
from iceberg_spark.arrow.stored import stored_schema, to_stored
from iceberg_spark.errors import InvalidOptionError, UnsupportedError
from iceberg_spark.formats.file_writer import WriterProperties, WrittenFile
from iceberg_spark.formats.limits import WRITING
from iceberg_spark.formats.metrics import Metrics, MetricsCollector
from iceberg_spark.formats.metrics_modes import MetricsMode
from iceberg_spark.formats.parquet_annotations import FooterHold, Path, logical_types
from iceberg_spark.formats.shredded_bounds import ShreddedBounds, ShreddedColumns, shredded_columns
from iceberg_spark.spec.data_file import FileFormat
from iceberg_spark.spec.properties import (
    PARQUET_BLOOM_FILTER_COLUMN_PREFIX,
    PARQUET_BLOOM_FILTER_FPP_PREFIX,
)
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.types import IcebergType, ListType, MapType, StructType, UUIDType

_HASHES = 8  # bits that a value sets in its block (Parquet's split block bloom filter)


@dataclass(frozen=True, slots=True)
class BloomFilters:
    """The false-positive probability of each column with a filter, and a filter's most bytes."""

    columns: Mapping[str, float]
    max_bytes: int = WRITING.bloom_bytes

    def of_row_group(self, rows: int, paths: Collection[str]) -> dict[str, dict[str, float]]:
        """Return pyarrow's `bloom_filter_options` for row groups of so many rows.

        `paths` are the file's leaf columns; a name that is none of them gets no filter, as in
        Java.
        """
        return {
            name: {"ndv": max(1, min(rows, values_held(self.max_bytes, fpp))), "fpp": fpp}
            for name, fpp in self.columns.items()
            if name in paths
        }


NO_BLOOM_FILTERS = BloomFilters({})


def values_held(size: int, fpp: float) -> int:
    """Return how many distinct values a filter of `size` bytes holds at a false-positive rate."""
    bits = size * 8
    return int(bits / _HASHES * -math.log(1 - fpp ** (1 / _HASHES)))


def bloom_filters(properties: WriterProperties) -> BloomFilters:
    """Return the filters that `write.parquet.bloom-filter-*` configure.

    Raises InvalidOptionError naming the property, UnsupportedError if the installed pyarrow
    can't write any.
    """
    columns = {}
    for key, value in properties.properties.items():
        if properties.deletes or not key.startswith(PARQUET_BLOOM_FILTER_COLUMN_PREFIX):
            continue
        if value.strip().lower() == "true":
            name = key.removeprefix(PARQUET_BLOOM_FILTER_COLUMN_PREFIX)
            columns[name] = _probability(properties, name)
    parameters = inspect.signature(pq.ParquetWriter.__init__).parameters
    if columns and "bloom_filter_options" not in parameters:
        raise UnsupportedError(
            f"{PARQUET_BLOOM_FILTER_COLUMN_PREFIX}*: the installed pyarrow can't write bloom "
            "filters; install a newer one"
        )
    return BloomFilters(
        columns, properties.positive_int("parquet.bloom-filter-max-bytes", WRITING.bloom_bytes)
    )


def _probability(properties: WriterProperties, name: str) -> float:
    key = f"{PARQUET_BLOOM_FILTER_FPP_PREFIX}{name}"
    text = properties.properties.get(key)
    if text is None:
        return WRITING.bloom_share
    try:
        probability = float(text)
    except ValueError:
        probability = math.nan
    if not 0 < probability < 1:
        raise InvalidOptionError(f"{key}: '{text}' is not a number between 0 and 1")
    return probability


_CODECS = {
    "uncompressed": "none",
    "none": "none",
    "snappy": "snappy",
    "gzip": "gzip",
    "brotli": "brotli",
    "lz4": "lz4",
    "lz4_raw": "lz4",
    "zstd": "zstd",
}


@dataclass(frozen=True, slots=True)
class ParquetOptions:
    """How pages are encoded; sizes in bytes."""

    codec: str = "zstd"
    level: int | None = None
    page_bytes: int = WRITING.page_bytes
    dictionary_bytes: int = WRITING.dictionary_bytes
    blooms: BloomFilters = NO_BLOOM_FILTERS
    shreds_variants: bool = False
    variant_rows: int = WRITING.variant_rows


def parquet_options(properties: WriterProperties) -> ParquetOptions:
    """Return the options of `write.parquet.*` (or `write.delete.parquet.*`).

    Raises InvalidOptionError naming the property.
    """
    codec = properties.codec("parquet", "zstd", _CODECS)
    level = properties.optional_int("parquet.compression-level")
    if level is not None and (problem := _level_problem(codec, level)):
        raise InvalidOptionError(f"{properties.name('parquet.compression-level')}: {problem}")
    return ParquetOptions(
        codec,
        level if codec in ("gzip", "brotli", "zstd") else None,
        properties.positive_int("parquet.page-size-bytes", WRITING.page_bytes),
        properties.positive_int("parquet.dict-size-bytes", WRITING.dictionary_bytes),
        bloom_filters(properties),
        properties.is_on("parquet.shred-variants"),
        properties.positive_int("parquet.variant-inference-buffer-size", WRITING.variant_rows),
    )


def _level_problem(codec: str, level: int) -> str | None:
    if codec not in ("gzip", "brotli", "zstd"):
        return None
    low, high = pa.Codec.minimum_compression_level(codec), pa.Codec.maximum_compression_level(codec)
    return None if low <= level <= high else f"{codec} has levels {low} to {high}, not {level}"


@dataclass(frozen=True, slots=True)
class ParquetLayout:
    """The layout of all files of one writer, computed once: there may be thousands of files."""

    schema: Schema
    stored: Schema
    target: pa.Schema
    options: ParquetOptions
    modes: Mapping[int, MetricsMode]
    key_values: Mapping[str, str]
    leaves: tuple[int, ...]  # field ids of the leaf columns in the file's order
    logical_types: Mapping[Path, bytes]  # types that Arrow can't write


def parquet_layout(
    schema: Schema,
    properties: WriterProperties,
    modes: Mapping[int, MetricsMode],
    key_values: Mapping[str, str],
) -> ParquetLayout:
    """Return the layout of files of a schema; `key_values` are stored in their footers."""
    stored = stored_schema(schema)
    target = _with_uuids(to_arrow(stored), stored.as_struct())
    leaves = tuple(_leaf_ids(target))
    options, marks = parquet_options(properties), logical_types(stored)
    return ParquetLayout(schema, stored, target, options, modes, key_values, leaves, marks)


class ParquetFileWriter:
    """Writes one Parquet file to an open sink; every table that it gets is a row group."""

    __slots__ = (
        "_bounds",
        "_columns",
        "_footer",
        "_hold",
        "_layout",
        "_metrics",
        "_sink",
        "_writer",
    )

    def __init__(self, sink: BinaryIO, layout: ParquetLayout) -> None:
        self._sink = sink
        self._hold = FooterHold(sink) if layout.logical_types else None
        self._layout = layout
        self._columns = ShreddedColumns(layout.target, {})
        self._bounds = ShreddedBounds(self._columns, layout.stored, layout.modes)
        self._metrics = MetricsCollector(layout.schema, layout.modes, FileFormat.PARQUET)
        self._footer: list[Any] = []  # where pyarrow puts the footer
        self._writer: Any = None  # pyarrow's writer, once the first rows are seen

    @property
    def bytes_written(self) -> int:
        """Bytes that are in the file so far."""
        return self._sink.tell()

    def write(self, table: pa.Table) -> None:
        """Encode a table as one row group."""
        if not table.num_rows:
            return
        self._metrics.add(table)
        table = to_stored(table, self._layout.schema, self._layout.stored)
        if self._writer is None and self._layout.options.shreds_variants:
            sample = self._layout.options.variant_rows
            stored, target = self._layout.stored, self._layout.target
            self._columns = shredded_columns(table, stored, target, sample)
            self._bounds = replace(self._bounds, columns=self._columns)
        table = self._columns.apply(table)
        self._bounds.add(table)
        if self._writer is None:
            more = {**_blooms(self._layout, table), "write_batch_size": self._page_rows(table)}
            self._writer = self._open(dictionary_columns(table), more)
        if table.schema != self._columns.target:
            table = table.cast(self._columns.target)
        self._writer.write_table(table, row_group_size=table.num_rows)

    def close(self) -> WrittenFile:
        """Finish the file and close the sink."""
        if self._writer is None:
            self._writer = self._open([], {})
        self._writer.add_key_value_metadata(dict(self._layout.key_values))
        if self._hold is not None:
            self._hold.hold()
        self._writer.close()
        if self._hold is not None:
            self._hold.release(self._layout.logical_types)
        size = self._sink.tell()
        self._sink.close()
        footer = self._footer[0]
        leaves = self._layout.leaves
        if self._columns.plans:
            leaves = tuple(_leaf_ids(self._columns.target))
        sizes = _column_sizes(footer, leaves, self._layout.modes)
        metrics = _with_bounds(self._metrics.finish(sizes), *self._bounds.finish())
        return WrittenFile(size, metrics, row_group_offsets(footer))

    def abort(self) -> None:
        """Abandon the file; written data stays until it is deleted."""
        if self._writer is not None:
            # After a failed write pyarrow can't close: the first error is already being raised.
            with suppress(RuntimeError, pa.ArrowException):
                self._writer.close()

    def _page_rows(self, table: pa.Table) -> int:
        """Return after how many rows Arrow looks whether a page is full: 1,024 of 10 MB are not."""
        widest = max(column.nbytes for column in table.columns) // table.num_rows
        page_rows: int = self._layout.options.page_bytes // max(widest, 1)
        return max(1, min(WRITING.page_check_rows, page_rows))

    def _open(self, dictionaries: list[str], more: Mapping[str, Any]) -> Any:
        options = self._layout.options
        return pq.ParquetWriter(
            self._sink if self._hold is None else self._hold,
            self._columns.target,
            version="2.6",
            compression=options.codec,
            compression_level=options.level,
            use_dictionary=dictionaries or False,
            data_page_size=options.page_bytes,
            dictionary_pagesize_limit=options.dictionary_bytes,
            store_schema=False,  # Arrow's own copy of the schema is of no use to Iceberg's readers
            store_decimal_as_integer=True,
            metadata_collector=self._footer,
            **more,
        )


def _with_bounds(
    metrics: Metrics, lower: Mapping[int, bytes], upper: Mapping[int, bytes]
) -> Metrics:
    if not lower:
        return metrics
    merged = {**(metrics.lower_bounds or {}), **lower}, {**(metrics.upper_bounds or {}), **upper}
    return replace(metrics, lower_bounds=merged[0], upper_bounds=merged[1])


def _blooms(layout: ParquetLayout, table: pa.Table) -> dict[str, Any]:
    """Return pyarrow's argument for bloom filters, {} if none are configured."""
    blooms = layout.options.blooms
    if not blooms.columns:
        return {}
    paths = {path for field in table.schema for path in _leaf_paths(field.name, field.type)}
    return {"bloom_filter_options": blooms.of_row_group(table.num_rows, paths)}


def _leaf_paths(path: str, kind: pa.DataType) -> Iterator[str]:
    """Yield the dotted names of leaves that are not in a list or map."""
    if pa.types.is_struct(kind):
        for child in kind:
            yield from _leaf_paths(f"{path}.{child.name}", child.type)
    elif not pa.types.is_nested(kind) and not pa.types.is_boolean(kind):
        yield path


def dictionary_columns(table: pa.Table) -> list[str]:
    """Return the Parquet paths of the columns whose first rows repeat enough for a dictionary."""
    columns: list[str] = []
    if table.num_rows < WRITING.dictionary_rows:
        return columns
    sample = table.slice(0, WRITING.sample_rows)
    for field, column in zip(sample.schema, sample.columns, strict=True):
        for path, leaf in _leaf_arrays(field.name, column.combine_chunks()):
            if pa.types.is_boolean(leaf.type):
                continue
            values = leaf.drop_null()
            if len(values) and len(pc.unique(values)) * WRITING.dictionary_repeats <= len(values):
                columns.append(path)
    return columns


def _leaf_arrays(path: str, array: pa.Array) -> Iterator[tuple[str, pa.Array]]:
    """Yield leaves with their Parquet paths; a map's entries are its keys and values."""
    kind = array.type
    if pa.types.is_struct(kind):
        for index, child in enumerate(kind):
            yield from _leaf_arrays(f"{path}.{child.name}", array.field(index))
    elif pa.types.is_map(kind):
        yield from _leaf_arrays(f"{path}.key_value.key", array.keys)
        yield from _leaf_arrays(f"{path}.key_value.value", array.items)
    elif is_list(kind):
        yield from _leaf_arrays(f"{path}.list.element", array.flatten())
    else:
        yield path, array


def _leaf_ids(schema: pa.Schema | pa.StructType) -> Iterator[int]:
    """Yield the field ids of the leaf columns in the file's order."""

    def below(field: pa.Field) -> Iterator[int]:
        children = child_fields(field.type)
        if not children:
            yield field_id(field) or 0
        for child in children:
            yield from below(child)

    for field in schema:
        yield from below(field)


def _column_sizes(
    footer: Any, leaves: tuple[int, ...], modes: Mapping[int, MetricsMode]
) -> dict[int, int]:
    counted = [
        (index, leaf)
        for index, leaf in enumerate(leaves)
        if leaf in modes and modes[leaf].has_counts
    ]
    sizes = {leaf: 0 for _, leaf in counted}
    for group in range(footer.num_row_groups):
        columns = footer.row_group(group)
        for index, leaf in counted:
            sizes[leaf] += columns.column(index).total_compressed_size
    return sizes


def row_group_offsets(footer: Any) -> tuple[int, ...]:
    """Return where each row group starts, ascending: at its first column's first page."""
    starts = []
    for group in range(footer.num_row_groups):
        first = footer.row_group(group).column(0)
        offsets = (first.dictionary_page_offset, first.data_page_offset)
        starts.append(min(offset for offset in offsets if offset))
    return tuple(sorted(starts))


def _with_uuids(schema: pa.Schema, struct: StructType) -> pa.Schema:
    """Return the schema with Arrow's uuid type, which carries Parquet's logical type."""
    pairs = zip(schema, struct.fields, strict=True)
    return pa.schema([_uuid_field(field, child.field_type) for field, child in pairs])


def _uuid_field(field: pa.Field, kind: IcebergType) -> pa.Field:
    return field.with_type(_uuid_type(field.type, kind))


def _uuid_type(arrow: pa.DataType, kind: IcebergType) -> pa.DataType:
    match kind:
        case UUIDType():
            return pa.uuid()
        case StructType():
            return pa.struct(list(_with_uuids(pa.schema(list(arrow)), kind)))
        case ListType(element_type=element):
            return pa.list_(_uuid_field(arrow.value_field, element))
        case MapType(key_type=key, value_type=value):
            return pa.map_(_uuid_field(arrow.key_field, key), _uuid_field(arrow.item_field, value))
        case _:
            return arrow
