"""Avro data and delete files as batches with their row positions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from iceberg_spark.arrow.arrays import batch_of
from iceberg_spark.arrow.file_fields import FileField
from iceberg_spark.formats.avro.arrow_types import arrow_field
from iceberg_spark.formats.avro.columns import container_batches
from iceberg_spark.formats.avro.container import AvroBlock, AvroContainer, parse_container
from iceberg_spark.formats.avro.types import AvroField, parse_record
from iceberg_spark.formats.data_file import FileBatch, ReadRequest, slice_batch
from iceberg_spark.formats.limits import READING
from iceberg_spark.io.decoding import decoding
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.io.limits import limits_of


@dataclass(frozen=True, slots=True)
class AvroReader:
    """An Avro file in memory, its blocks still compressed."""

    path: str
    container: AvroContainer
    fields: tuple[AvroField, ...]
    schema: pa.Schema
    file_size: int

    @property
    def rows(self) -> int:
        """The rows of all blocks."""
        return sum(block.rows for block in self.container.blocks)

    def output_fields(self, request: ReadRequest) -> tuple[FileField, ...]:
        """Return the selected top-level columns completely: a record is decoded as one."""
        return tuple(f for f in request.fields if request.leaves.intersection(f.leaves))

    def batches(self, request: ReadRequest) -> Iterator[FileBatch]:
        """Yield the rows of the blocks in the range.

        A block belongs to the offset of the sync marker before it, the first one to byte 0, so that
        splits at any offsets read every block once. Positions count from the file's start, so all
        blocks of the file are parsed.
        """
        names = {field.name for field in self.output_fields(request)}
        columns = [field for field in self.fields if field.name in names]
        for first_row, blocks in _portions(self.container.blocks, request):
            for start, rows in self._decoded(first_row, blocks, columns):
                yield from slice_batch(start, rows, request.batch_rows)

    def _decoded(
        self, first_row: int, blocks: Sequence[AvroBlock], columns: list[AvroField]
    ) -> Iterator[tuple[int, pa.RecordBatch]]:
        if not columns:
            yield first_row, batch_of(sum(block.rows for block in blocks), (), pa.schema([]))
            return
        part = replace(self.container, blocks=tuple(blocks))
        batches = container_batches(part, self.fields, columns, bound_total=False)
        while True:
            with decoding(self.path):
                rows = next(batches, None)
            if rows is None:
                return
            yield first_row, rows
            first_row += rows.num_rows

    def rows_in(self, start: int, length: int) -> tuple[int, int] | None:  # noqa: ARG002 (the port's)
        """Return None: blocks are only known from reading the file."""
        return None

    def close(self) -> None:
        """Nothing is open: the file was read whole."""


def open_avro(io: FileIO, path: str) -> AvroReader:
    """Read an Avro file. Raises CorruptFileError, NoSuchFileError or StorageError naming it."""
    data = io.read_bytes(path)
    container = parse_container(data, path, limits_of(io.properties))
    fields = parse_record(container.schema, path, container.limits)
    with decoding(path):
        schema = pa.schema([arrow_field(field) for field in fields])
    return AvroReader(path, container, fields, schema, len(data))


def _portions(
    blocks: Sequence[AvroBlock], request: ReadRequest
) -> Iterator[tuple[int, list[AvroBlock]]]:
    """Yield adjacent blocks in the range together, with the position of their first row."""
    portion: list[AvroBlock] = []
    first_row = row = size = marker = 0
    for block in blocks:
        holds = request.holds(marker)
        if portion and (not holds or size >= READING.avro_portion_bytes):
            yield first_row, portion
            portion, size = [], 0
        if holds:
            first_row = first_row if portion else row
            portion.append(block)
            size += block.end - block.start
        row += block.rows
        marker = block.end
    if portion:
        yield first_row, portion
