"""Parquet files as batches that know their row positions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq

from iceberg_spark.arrow.arrays import batch_of
from iceberg_spark.arrow.file_fields import FileField, pruned
from iceberg_spark.expr.nodes import ALWAYS_TRUE
from iceberg_spark.formats.data_file import FileBatch, Wanted, reading
from iceberg_spark.formats.parquet_stats import may_match_groups
from iceberg_spark.io.file_io import FileIO


@dataclass(frozen=True, slots=True)
class ParquetReader:
    """An open Parquet file."""

    path: str
    file: pq.ParquetFile
    schema: pa.Schema

    def given(self, wanted: Wanted) -> tuple[FileField, ...]:
        """Return the wanted columns, structs cut down to their wanted children."""
        return pruned(wanted.fields, wanted.leaves)

    def batches(self, wanted: Wanted) -> Iterator[FileBatch]:
        """Yield the rows of the row groups that start in the range and may match the filter.

        A row group starts at its first page. Java asks for its middle: on splits at row groups,
        which is where planners split, the answers agree, and on any others each row group is
        still read by exactly one split.
        """
        with reading(self.path):
            groups, starts = self._groups(wanted)
        rows_of = [self.file.metadata.row_group(group).num_rows for group in groups]
        if not wanted.leaves:
            yield from _without_columns(starts, rows_of, wanted.batch_rows)
            return
        # One call reads all row groups, so that the next one is fetched ahead. Its batches end
        # at the end of a row group at the latest where the groups are not neighbours.
        for first, run in _runs(groups, starts, rows_of):
            yield from self._read(first, run, wanted)

    def _read(self, first: int, groups: list[int], wanted: Wanted) -> Iterator[FileBatch]:
        columns = sorted(wanted.leaves)
        with reading(self.path):
            found = self.file.reader.iter_batches(
                wanted.batch_rows, groups, column_indices=columns, use_threads=True
            )
        position = first
        while True:
            with reading(self.path):
                rows = next(found, None)
            if rows is None:
                return
            yield FileBatch(position, rows)
            position += rows.num_rows

    def _groups(self, wanted: Wanted) -> tuple[list[int], list[int]]:
        """Return the row groups to read and the position of the first row of each."""
        metadata = self.file.metadata
        groups, starts, position = [], [], 0
        for group in range(metadata.num_row_groups):
            described = metadata.row_group(group)
            if described.num_rows and wanted.holds(_offset(described)):
                groups.append(group)
                starts.append(position)
            position += described.num_rows
        if wanted.filter == ALWAYS_TRUE or not groups:
            return groups, starts
        kept = may_match_groups(metadata, groups, wanted.fields, wanted.filter, self.path)
        places = [place for place, keep in enumerate(kept) if keep]
        return [groups[place] for place in places], [starts[place] for place in places]

    def close(self) -> None:
        """Close the file."""
        self.file.close(force=True)


def open_parquet(io: FileIO, path: str) -> ParquetReader:
    """Open a Parquet file; INT96 timestamps are read as microseconds.

    Raises CorruptFileError, NoSuchFileError or StorageError naming the file.
    """
    files, at = io.arrow(path)
    with reading(path):
        source = files.open_input_file(at)
        try:
            file = pq.ParquetFile(source, pre_buffer=True, coerce_int96_timestamp_unit="us")
            return ParquetReader(path, file, file.schema_arrow)
        except BaseException:
            source.close()
            raise


def _offset(row_group: pq.RowGroupMetaData) -> int:
    """Return where the first page of a row group is; files may lack the group's own offset."""
    if row_group.num_columns == 0:
        return 0
    column = row_group.column(0)
    first: int = column.data_page_offset
    dictionary: int | None = column.dictionary_page_offset
    return min(first, dictionary) if dictionary else first


def _runs(
    groups: list[int], starts: list[int], rows_of: list[int]
) -> Iterator[tuple[int, list[int]]]:
    """Yield neighbouring row groups together, with the position of the first row."""
    run: list[int] = []
    first = following = 0
    for group, start, rows in zip(groups, starts, rows_of, strict=True):
        if run and start != following:
            yield first, run
            run = []
        if not run:
            first = start
        run.append(group)
        following = start + rows
    if run:
        yield first, run


def _without_columns(starts: list[int], rows_of: list[int], batch_rows: int) -> Iterator[FileBatch]:
    """Yield batches of rows only: the footer knows how many, no page is read."""
    for start, rows in zip(starts, rows_of, strict=True):
        for offset in range(0, rows, batch_rows):
            count = min(batch_rows, rows - offset)
            yield FileBatch(start + offset, batch_of(count, (), pa.schema([])))
