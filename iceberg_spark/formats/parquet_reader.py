"""Parquet files as batches with their row positions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pyarrow.types as pt

from iceberg_spark.arrow.arrays import batch_of
from iceberg_spark.arrow.file_fields import FileField, prune_fields
from iceberg_spark.arrow.promote import leaf_step, storage_type
from iceberg_spark.arrow.schema import to_arrow_type
from iceberg_spark.errors import CorruptFileError
from iceberg_spark.expr import stats
from iceberg_spark.expr.may_match import may_match
from iceberg_spark.expr.nodes import ALWAYS_TRUE, Bound
from iceberg_spark.formats.data_file import (
    FileBatch,
    ReadRequest,
    TextCheck,
    holds,
    reading,
    row_range,
    slice_batch,
)
from iceberg_spark.formats.limits import READING
from iceberg_spark.formats.parquet_bloom import BloomReader
from iceberg_spark.formats.parquet_footer import DecodedBytes, read_footer_sizes
from iceberg_spark.io.file_io import FileIO


@dataclass(frozen=True, slots=True)
class _RowGroup:
    """A row group to read; `size` is the bytes of its selected columns in the file.

    `row_bytes` is the decoded size of one of its rows, as far as the footer shows.
    """

    number: int
    first_row: int
    rows: int
    size: int
    row_bytes: int


@dataclass(frozen=True, slots=True)
class ParquetReader:
    """An open Parquet file."""

    path: str
    file: pq.ParquetFile
    schema: pa.Schema
    file_size: int
    source: pa.NativeFile
    decoded: DecodedBytes

    @property
    def rows(self) -> int:
        """The rows of all row groups, as `read_footer` has proved."""
        return int(self.file.metadata.num_rows)

    def output_fields(self, request: ReadRequest) -> tuple[FileField, ...]:
        """Return the selected columns, structs reduced to their selected children."""
        return prune_fields(request.fields, request.leaves)

    def batches(self, request: ReadRequest) -> Iterator[FileBatch]:
        """Yield the rows of the row groups that start in the range and may match the filter.

        A row group starts at its first page. Java uses its middle: on splits at row groups, which
        planners produce, both agree, and with any others each row group is still read by exactly
        one split.
        """
        with reading(self.path):
            groups = self._groups(request)
        if not request.leaves:
            yield from _without_columns(groups, request.batch_rows)
            return
        texts = TextCheck.of(self.path, request, self.output_fields(request))
        for run in _runs(groups):
            yield from self._read(run, request, texts)

    def _read(
        self, run: list[_RowGroup], request: ReadRequest, texts: TextCheck
    ) -> Iterator[FileBatch]:
        widest = max(group.row_bytes for group in run)
        with reading(self.path):
            file = self.file
            if sum(group.size for group in run) > READING.whole_group_bytes:
                buffer = max(READING.pages_bytes // len(request.leaves), READING.least_buffer)
                file = _parquet_file(self.source, file.metadata, buffer)
            batches = file.reader.iter_batches(
                max(1, min(request.batch_rows, READING.batch_bytes // max(widest, 1))),
                [group.number for group in run],
                column_indices=sorted(request.leaves),
                use_threads=True,
            )
        position, expected = run[0].first_row, run[-1].first_row + run[-1].rows
        while request.needs(position, expected):  # decoding goes on as far as rows are needed
            with reading(self.path):
                rows = next(batches, None)
            if rows is None:
                break
            first, position = position, position + rows.num_rows
            if request.needs(first, position):
                texts.check(rows)
                yield from slice_batch(first, rows, request.batch_rows)
        else:
            return
        if position != expected:
            raise CorruptFileError(
                f"{self.path} ends at row {position:,} where its footer says {expected:,}: it is "
                "truncated or malformed"
            )

    def rows_in(self, start: int, length: int) -> tuple[int, int] | None:
        """Return the row positions (first, end) of the row groups that start in a byte range."""
        metadata = self.file.metadata
        parts, position = [], 0
        for number in range(metadata.num_row_groups):
            described = metadata.row_group(number)
            if described.num_rows and holds(_offset(described), start, length):
                parts.append((position, described.num_rows))
            position += described.num_rows
        return row_range(parts)

    def _groups(self, request: ReadRequest) -> list[_RowGroup]:
        """Return the row groups to read, in the file's order."""
        metadata = self.file.metadata
        groups, position = [], 0
        for number in range(metadata.num_row_groups):
            row_group = metadata.row_group(number)
            end = position + row_group.num_rows
            is_needed = row_group.num_rows and request.needs(position, end)
            if is_needed and request.holds(_offset(row_group)):
                chunks = {leaf: row_group.column(leaf) for leaf in request.leaves}
                size = sum(chunk.total_compressed_size for chunk in chunks.values())
                decoded = sum(
                    self.decoded.get((number, leaf), chunk.total_uncompressed_size)
                    for leaf, chunk in chunks.items()
                )
                row_bytes = decoded // row_group.num_rows
                groups.append(_RowGroup(number, position, row_group.num_rows, size, row_bytes))
            position = end
        if request.filter == ALWAYS_TRUE or not groups:
            return groups
        numbers = [candidate.number for candidate in groups]
        matches = may_match_groups(metadata, numbers, request.fields, request.filter, self.path)
        blooms = BloomReader(self.source, metadata, _single_leaves(request.fields))
        return [
            candidate
            for candidate, keep in zip(groups, matches, strict=True)
            # A filter that is larger than the rows costs more than it saves.
            if keep and blooms.may_match(candidate.number, request.filter, candidate.size)
        ]

    def may_match(self, fields: tuple[FileField, ...], bound: Bound) -> bool:
        """Return whether some row group may have a matching row, by its Bloom filters.

        Filters that are larger than their row group are not read.
        """
        with reading(self.path):
            metadata = self.file.metadata
            blooms = BloomReader(self.source, metadata, _single_leaves(fields))
            groups = (metadata.row_group(number) for number in range(metadata.num_row_groups))
            return any(
                blooms.may_match(number, bound, group.total_byte_size)
                for number, group in enumerate(groups)
                if group.num_rows
            )

    def finds_rows_cheaply(self, finder: ReadRequest, request: ReadRequest) -> bool:
        """Return whether a request for the columns of a filter reads little of what `request` does.

        Then it pays to find the rows first, although these columns are read twice.
        """
        found_by = self._decoded_bytes(finder.leaves)
        others = self._decoded_bytes(request.leaves) - found_by
        return others > max(READING.others_bytes, READING.others_share * found_by)

    def _decoded_bytes(self, leaves: frozenset[int]) -> int:
        metadata = self.file.metadata
        groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
        return sum(
            group.column(leaf).total_uncompressed_size for group in groups for leaf in leaves
        )

    def close(self) -> None:
        """Close the file."""
        self.file.close(force=True)


def open_parquet(io: FileIO, path: str) -> ParquetReader:
    """Open a Parquet file; INT96 timestamps are read as microseconds.

    Raises CorruptFileError, NoSuchFileError or StorageError naming the file.
    """
    with reading(path):
        source = io.open_arrow(path)
        try:
            metadata, decoded = read_footer_sizes(source, path)
            file = _parquet_file(source, metadata)
            return ParquetReader(path, file, file.schema_arrow, source.size(), source, decoded)
        except BaseException:
            source.close()
            raise


def _parquet_file(
    source: pa.NativeFile, metadata: pq.FileMetaData, buffer: int = 0
) -> pq.ParquetFile:
    """Return Arrow's reader: of whole row groups, or of `buffer` bytes of each column at a time."""
    return pq.ParquetFile(
        source,
        metadata=metadata,
        buffer_size=buffer,
        pre_buffer=not buffer,
        coerce_int96_timestamp_unit="us",
    )


def _offset(row_group: pq.RowGroupMetaData) -> int:
    """Return where the first page of a row group is; files may lack the group's own offset."""
    if row_group.num_columns == 0:
        return 0
    column = row_group.column(0)
    first: int = column.data_page_offset
    dictionary: int | None = column.dictionary_page_offset
    return min(first, dictionary) if dictionary else first


def _runs(groups: list[_RowGroup]) -> Iterator[list[_RowGroup]]:
    """Yield adjacent row groups that are fetched by one call.

    Arrow requests all bytes of a call at once, which hides the store's latency, and frees none of
    them before the call's end: one call per few megabytes limits the memory.
    """
    run: list[_RowGroup] = []
    size = 0
    for group in groups:
        follows = run and run[-1].first_row + run[-1].rows == group.first_row
        if run and (not follows or size + group.size > READING.fetch_bytes):
            yield run
            run, size = [], 0
        run.append(group)
        size += group.size
    if run:
        yield run


def _without_columns(groups: list[_RowGroup], batch_rows: int) -> Iterator[FileBatch]:
    """Yield batches without columns: the footer has the number of rows, no page is read."""
    for group in groups:
        for offset in range(0, group.rows, batch_rows):
            count = min(batch_rows, group.rows - offset)
            yield FileBatch(group.first_row + offset, batch_of(count, (), pa.schema([])))


def may_match_groups(
    metadata: pq.FileMetaData,
    groups: Sequence[int],
    fields: tuple[FileField, ...],
    bound: Bound,
    where: str,
) -> list[bool]:
    """Return for each row group whether it may contain a matching row.

    Missing statistics, and those that can't be compared safely, are unknown.
    """
    leaves = _single_leaves(fields)
    columns: dict[str, pa.Array] = {"": pa.array(groups, pa.int32())}
    for statistic in stats.needed_statistics(bound):
        name = stats.column(statistic.kind, statistic.field_id)
        leaf = leaves.get(statistic.field_id)
        kind = to_arrow_type(statistic.field_type)
        if leaf is None:
            columns[name] = pa.nulls(len(groups), kind)
            continue
        chunks = [metadata.row_group(group).column(leaf.leaves[0]) for group in groups]
        columns[name] = _column(chunks, leaf, statistic, where)
    mask = stats.evaluate(may_match(bound), pa.table(columns))
    return [bool(keep) for keep in mask.to_pylist()]


def _single_leaves(fields: tuple[FileField, ...]) -> dict[int, FileField]:
    """Return the primitive columns outside lists and maps, by id: they have one value per row."""
    leaves: dict[int, FileField] = {}
    for field in fields:
        number = field.own_id if field.own_id is not None else field.mapped_id
        if pt.is_struct(field.kind):
            leaves |= _single_leaves(field.children)
        elif not field.children and number is not None:
            leaves[number] = field
    return leaves


def _column(
    chunks: Sequence[pq.ColumnChunkMetaData],
    leaf: FileField,
    statistic: stats.Statistic,
    where: str,
) -> pa.Array:
    match statistic.kind:
        case stats.Kind.VALUE_COUNT:
            return pa.array([chunk.num_values for chunk in chunks], pa.int64())
        case stats.Kind.NULL_COUNT:
            return pa.array([_null_count(chunk) for chunk in chunks], pa.int64())
        case stats.Kind.NAN_COUNT:
            return pa.nulls(len(chunks), pa.int64())
        case stats.Kind.LOWER | stats.Kind.UPPER:
            return _bounds(chunks, leaf, statistic, where)


def _null_count(chunk: pq.ColumnChunkMetaData) -> int | None:
    statistics = chunk.statistics
    return statistics.null_count if statistics and statistics.has_null_count else None


def _bounds(
    chunks: Sequence[pq.ColumnChunkMetaData],
    leaf: FileField,
    statistic: stats.Statistic,
    where: str,
) -> pa.Array:
    """Return one bound per row group in the table's type, null if it is unknown."""
    target = to_arrow_type(statistic.field_type)
    kind = storage_type(leaf.kind)
    decode = _decoder(kind)
    if decode is None:
        return pa.nulls(len(chunks), target)
    lower = statistic.kind is stats.Kind.LOWER
    values = [_bound(chunk, decode, lower=lower) for chunk in chunks]
    try:
        bounds = pa.array(values, _stored(kind)).cast(kind)
        step = leaf_step(kind, statistic.field_type, "", where)
        bounds = bounds if step is None else step(bounds)
    except (pa.ArrowInvalid, CorruptFileError):  # e.g. text cut inside a character
        return pa.nulls(len(chunks), target)
    if pt.is_floating(target):  # a NaN bounds nothing
        return pc.if_else(pc.is_nan(bounds), pa.scalar(None, target), bounds)
    return bounds


def _bound(chunk: pq.ColumnChunkMetaData, decode: Callable[[Any], Any], *, lower: bool) -> Any:
    statistics = chunk.statistics
    if statistics is None or not statistics.has_min_max:
        return None
    return decode(statistics.min_raw if lower else statistics.max_raw)


def _decimal(raw: int | bytes, scale: int) -> Decimal:
    unscaled = raw if isinstance(raw, int) else int.from_bytes(raw, "big", signed=True)
    return Decimal(f"{unscaled}E-{scale}")


def _same(value: Any) -> Any:
    return value


def _decoder(kind: pa.DataType) -> Callable[[Any], Any] | None:
    """Return the reader of raw bounds of a file's type; None for types without a safe order.

    Some writers compare UUIDs and fixed as signed bytes; unsigned numbers are stored as signed.
    """
    if pt.is_decimal(kind):
        return lambda raw: _decimal(raw, kind.scale)
    if pt.is_boolean(kind) or pt.is_signed_integer(kind) or pt.is_floating(kind):
        return _same
    if pt.is_temporal(kind):
        return _same
    if pt.is_string(kind) or pt.is_large_string(kind) or pt.is_string_view(kind):
        return _same
    return None


def _stored(kind: pa.DataType) -> pa.DataType:
    """Return the Arrow type of raw bounds of a file's type."""
    if pt.is_temporal(kind):
        return pa.int32() if kind.bit_width == 32 else pa.int64()
    if pt.is_string(kind) or pt.is_large_string(kind) or pt.is_string_view(kind):
        return pa.binary()
    return kind
