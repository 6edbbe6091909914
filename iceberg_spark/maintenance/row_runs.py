"""Which row of which file became which row of a new one, as runs of consecutive rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from iceberg_spark.arrow.arrays import batch_of
from iceberg_spark.arrow.position_set import PositionSet

Longs: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class RowRuns:
    """Rows of one data file in the order of writing: runs of positions, ascending.

    `starts` and `lengths` are the runs of kept rows. `first` is the number of rows that the same
    task wrote before. 16 bytes a run: a run ends at each deleted row.
    """

    file_path: str
    first: int
    starts: Longs
    lengths: Longs

    def numbers_of(self, positions: Longs) -> Longs:
        """Return the numbers of kept positions among the task's rows."""
        run = np.searchsorted(self.starts, positions, side="right") - 1
        inside = run >= 0
        into = positions - self.starts[run]
        inside &= into < self.lengths[run]
        before = np.cumsum(self.lengths) - self.lengths
        numbers: Longs = (self.first + before[run] + into)[inside]
        return numbers


class RunRecorder:
    """Removes the positions from batches and records them as runs."""

    __slots__ = ("_lengths", "_path", "_rows", "_starts", "runs")

    def __init__(self) -> None:
        self.runs: list[RowRuns] = []
        self._rows = 0
        self._path = ""
        self._starts: list[Longs] = []
        self._lengths: list[Longs] = []

    def of_file(
        self, path: str, batches: Iterable[pa.RecordBatch], schema: pa.Schema
    ) -> Iterator[pa.RecordBatch]:
        """Yield the batches without their last column, which is `_pos`."""
        first = self._rows
        self._starts, self._lengths = [], []
        for batch in batches:
            positions = batch.column(batch.num_columns - 1).to_numpy()
            breaks = np.flatnonzero(np.diff(positions) != 1) + 1
            begins = np.concatenate([np.zeros(1, np.int64), breaks])
            ends = np.append(breaks, len(positions))
            self._starts.append(positions[begins])
            self._lengths.append(ends - begins)
            self._rows += len(positions)
            yield batch_of(batch.num_rows, batch.columns[:-1], schema)
        if self._starts:
            starts, lengths = np.concatenate(self._starts), np.concatenate(self._lengths)
            self.runs.append(RowRuns(path, first, *_joined(starts, lengths)))


def _joined(starts: Longs, lengths: Longs) -> tuple[Longs, Longs]:
    """Join consecutive runs."""
    begins = np.flatnonzero(np.r_[True, starts[1:] != starts[:-1] + lengths[:-1]])
    return starts[begins], np.add.reduceat(lengths, begins)


def positions_in(numbers: Longs, files: Iterable[tuple[str, int]]) -> Mapping[str, PositionSet]:
    """Return the positions of a task's rows in its files, by path, given their numbers.

    `files` are the paths and row counts in the order in which the task wrote them.
    """
    by_path: dict[str, PositionSet] = {}
    first = 0
    for path, rows in files:
        inside = numbers[(numbers >= first) & (numbers < first + rows)]
        if len(inside):
            by_path[path] = PositionSet.from_positions(np.sort(inside - first))
        first += rows
    return by_path
