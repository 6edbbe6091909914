"""ORC files as batches with their row positions.

Field ids are the type attributes `iceberg.id`, which Arrow exposes as field metadata. Arrow holds
ORC timestamps as nanoseconds: `orc_timestamps` reads stripes with one outside 1677 to 2262.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.orc as po

from iceberg_spark.arrow.arrays import batch_of
from iceberg_spark.arrow.file_fields import FileField
from iceberg_spark.errors import CorruptFileError, UnsupportedError
from iceberg_spark.formats.data_file import (
    FileBatch,
    ReadRequest,
    TextCheck,
    holds,
    reading,
    row_range,
    slice_batch,
)
from iceberg_spark.formats.orc_tail import Stripe, stripes
from iceberg_spark.formats.orc_timestamps import timestamp_reader
from iceberg_spark.io.file_io import FileIO

_OUT_OF_RANGE = "out of range for nanosecond resolution"


@dataclass(frozen=True, slots=True)
class OrcReader:
    """An open ORC file."""

    path: str
    file: po.ORCFile
    source: pa.NativeFile
    schema: pa.Schema
    stripes: tuple[Stripe, ...]
    file_size: int

    @property
    def rows(self) -> int:
        """The rows of all stripes."""
        return sum(stripe.rows for stripe in self.stripes)

    def output_fields(self, request: ReadRequest) -> tuple[FileField, ...]:
        """Return the selected top-level columns completely: ORC selects by (repeated) names."""
        return tuple(f for f in request.fields if request.leaves.intersection(f.leaves))

    def batches(self, request: ReadRequest) -> Iterator[FileBatch]:
        """Yield the rows of the stripes that start in the range."""
        columns = self._columns(request)
        texts = TextCheck.of(self.path, request, self.output_fields(request))
        for number, stripe in enumerate(self.stripes):
            if not request.holds(stripe.offset) or not stripe.rows:
                continue
            if columns:
                rows = self._read(number, columns)
                texts.check(rows)
            else:
                rows = batch_of(stripe.rows, (), pa.schema([]))
            yield from slice_batch(stripe.first_row, rows, request.batch_rows)

    def rows_in(self, start: int, length: int) -> tuple[int, int] | None:
        """Return the row positions (first, end) of the stripes that start in a byte range."""
        return row_range(
            (stripe.first_row, stripe.rows)
            for stripe in self.stripes
            if stripe.rows and holds(stripe.offset, start, length)
        )

    def _columns(self, request: ReadRequest) -> list[str]:
        return [field.name for field in self.output_fields(request)]

    def _read(self, stripe: int, columns: list[str]) -> pa.RecordBatch:
        # A dot in a name reads as a path to ORC: then all columns are read and some dropped.
        named = None if any("." in name for name in self.schema.names) else columns
        try:
            with reading(self.path):
                rows = self.file.reader.read_stripe(stripe, named)
        except CorruptFileError as cause:
            if _OUT_OF_RANGE not in str(cause):
                raise
            return self._read_all_years(stripe, named, columns)
        return rows.select(columns)

    def _read_all_years(
        self, stripe: int, named: list[str] | None, columns: list[str]
    ) -> pa.RecordBatch:
        try:
            with reading(self.path):
                far = columns if named is None else self._beyond(stripe, columns)
                near = [name for name in columns if name not in far]
                reader = timestamp_reader(self.source, self.file)
                rows = reader.read(stripe, None if named is None else far, far)
                if near:
                    others = self.file.reader.read_stripe(stripe, near)
                    rows = pa.RecordBatch.from_arrays(
                        [*rows.columns, *others.columns], names=[*far, *others.schema.names]
                    )
                return rows.select(columns)
        except UnsupportedError as cause:
            raise UnsupportedError(
                f"{self.path} holds timestamps outside the years 1677 to 2262 that can't be read: "
                f"{cause}; leave their columns out, or rewrite the file as Parquet by the engine "
                "that wrote it"
            ) from cause
        except (ValueError, KeyError, IndexError, zlib.error) as cause:
            raise CorruptFileError(
                f"{self.path} holds timestamps that can't be read: {cause}"
            ) from cause

    def _beyond(self, stripe: int, columns: list[str]) -> list[str]:
        """Return the columns that Arrow can't read."""
        far = []
        for name in columns:
            try:
                self.file.reader.read_stripe(stripe, [name])
            except (pa.ArrowException, OSError):
                far.append(name)
        return far

    def close(self) -> None:
        """Close the file."""
        self.source.close()


def open_orc(io: FileIO, path: str) -> OrcReader:
    """Open an ORC file. Raises CorruptFileError, NoSuchFileError or StorageError naming it."""
    with reading(path):
        source = io.open_arrow(path)
        try:
            file = po.ORCFile(source)
            tail = stripes(file.reader.serialized_file_tail())
            return OrcReader(path, file, source, file.schema, tail, source.size())
        except ValueError as cause:
            source.close()
            raise CorruptFileError(f"{path} is truncated or malformed: {cause}") from cause
        except BaseException:
            source.close()
            raise
