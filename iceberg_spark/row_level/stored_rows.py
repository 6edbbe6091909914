"""The rows of a table that have some keys, with their positions.

They are found by a scan of the key columns. An index of keys would be another `KeyPlaces`, the only
interface that changes of rows use.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from iceberg_spark.arrow.position_set import PositionSet
from iceberg_spark.arrow.schema import to_arrow
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.lazy import LazyModule
from iceberg_spark.read.task_reader import read_task
from iceberg_spark.row_level.cdc_frames import Frame, Longs, key_columns, key_frame
from iceberg_spark.row_level.target_files import Target
from iceberg_spark.scan.task import FileScanTask
from iceberg_spark.spec.reserved import POS, ROW_ID
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.types import NestedField

pl = LazyModule("polars")

PlacedRows = tuple[FileScanTask, PositionSet]


@dataclass(frozen=True, slots=True)
class StoredRows:
    """Rows of a table, each with the index of its file in `files` and its position there."""

    rows: pa.Table
    files: tuple[FileScanTask, ...]
    file: Longs
    position: Longs

    def places(self, indices: Longs) -> tuple[PlacedRows, ...]:
        """Return the positions of some of the rows, by file."""
        placed_rows = []
        for number in np.unique(self.file[indices]).tolist():
            inside = indices[self.file[indices] == number]
            positions = PositionSet.from_positions(np.sort(self.position[inside]))
            placed_rows.append((self.files[number], positions))
        return tuple(placed_rows)


class KeyPlaces(Protocol):
    """Finds the rows of keys."""

    def find(self, keys: Frame, columns: Sequence[NestedField]) -> StoredRows:
        """Return the rows with one of the distinct `keys` (`key_frame`), with some columns."""
        ...


@dataclass(frozen=True, slots=True)
class ScannedKeys:
    """Finds keys by reading the key columns of a target's files, one after the other.

    With `since`, only rows count whose column of that name is NULL or not less than the key's own
    (column `least` of the keys). Memory holds the matching rows and a batch.
    """

    target: Target
    io: FileIO
    fields: tuple[NestedField, ...]
    row_ids: bool = False
    since: str | None = None

    def find(self, keys: Frame, columns: Sequence[NestedField]) -> StoredRows:
        """Return the rows of the keys."""
        lineage = (ROW_ID,) if self.row_ids else ()
        schema = Schema(*columns, *lineage, POS)
        context = replace(self.target.context, read_schema=schema, checks_texts=False)
        parts: list[Any] = [to_arrow(Schema(*columns, *lineage)).empty_table()]
        files: list[FileScanTask] = []
        numbers: list[Any] = [np.zeros(0, np.int64)]
        positions: list[Any] = [np.zeros(0, np.int64)]
        for task in self.target.plan:
            is_met = False
            for batch in read_task(context, self.io, task):
                indices = self._met(batch, keys)
                if not len(indices):
                    continue
                is_met = True
                rows = pa.Table.from_batches([batch]).take(pa.array(indices))
                parts.append(rows.drop_columns([POS.name]))
                positions.append(rows.column(POS.name).to_numpy())
                numbers.append(np.full(len(indices), len(files)))
            if is_met:
                files.append(task)
        return StoredRows(
            pa.concat_tables(parts).combine_chunks(),
            tuple(files),
            np.concatenate(numbers),
            np.concatenate(positions),
        )

    def _met(self, batch: pa.RecordBatch, keys: Frame) -> Longs:
        """Return the rows of a batch that have one of the keys."""
        names = key_columns(self.fields)
        frame = key_frame(batch, self.fields).with_row_index("at")
        if self.since is None:
            met = frame.join(keys.select(names), on=names, how="semi")
        else:
            since = pl.Series("since", pl.from_arrow(batch.column(self.since)))
            met = frame.with_columns(since).join(keys, on=names, how="inner")
            late = pl.col("since") >= pl.col("least").cast(since.dtype)
            met = met.filter(pl.col("since").is_null() | late)
        indices: Longs = met.get_column("at").to_numpy().astype(np.int64)
        return np.sort(indices)


def distinct_keys(rows: pa.Table, fields: Sequence[NestedField]) -> Frame:
    """Return the distinct keys of rows."""
    return key_frame(rows, fields).unique()


def placed(rows_of_files: Iterable[PlacedRows]) -> dict[str, PositionSet]:
    """Return positions by the path of their file."""
    return {task.file_path: positions for task, positions in rows_of_files}
