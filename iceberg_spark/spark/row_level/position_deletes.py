"""Position deletes written by Spark's tasks.

The tasks that find the rows pack the positions of each data file (see `packed_rows`), or mark them
if only positions are needed (see `position_bits`). For small tables the driver collects them and
writes the deletes. For others, one task writes those of each file, or of each partition with that
granularity. Nothing else is shuffled. A task holds the positions of one such group; with deletion
vectors, those of one data file.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from iceberg_spark.arrow.position_set import NO_POSITIONS, PositionSet
from iceberg_spark.errors import (
    MergeCardinalityError,
)
from iceberg_spark.read.position_deletes import NewDeletes
from iceberg_spark.row_level.position_deletes import DeletesWriter, deletes_context
from iceberg_spark.scan.task import FileScanTask
from iceberg_spark.spark.adapt.map_arrow import map_plain_names
from iceberg_spark.spark.adapt.task_payload import Payload, payload
from iceberg_spark.spark.adapt.task_results import results
from iceberg_spark.spark.row_level.limits import ROW_LEVEL
from iceberg_spark.spark.row_level.own_names import ACTION, SOURCE_ROW
from iceberg_spark.spark.row_level.packed_rows import PACKED, PackTask, unpacked
from iceberg_spark.spark.row_level.position_bits import mark_rows
from iceberg_spark.spark.row_level.target_rows import FILE, POS
from iceberg_spark.spark.session.task import task_id
from iceberg_spark.spec.data_file import DataFile
from iceberg_spark.spec.partition import partition_key
from iceberg_spark.write.uncommitted_files import (
    remove_aborted,
    remove_other_attempts,
    remove_written,
)

KEEP, UPDATE, DELETE = 0, 1, 2
"""What happens to a row of the target; `KEEP` rows are looked at, and stay."""
_Rows: TypeAlias = "pa.Table | PositionSet"
"""Rows of one file that go or, as a table by position, are looked at."""
_Group: TypeAlias = list[tuple[FileScanTask, _Rows]]


@dataclass(slots=True)
class Written:
    """The results of tasks: written and replaced files, referenced data files, rows by action.

    `source_rows` are the rows of a merge's source that matched, a set for each file, and
    `source_hits` their number of matches. `twice` is the position of a row that came more than
    once.
    """

    files: list[DataFile] = field(default_factory=list)
    replaced: list[DataFile] = field(default_factory=list)
    referenced: list[str] = field(default_factory=list)
    updated: int = 0
    deleted: int = 0
    source_rows: list[PositionSet] = field(default_factory=list)
    source_hits: int = 0
    twice: tuple[str, int] | None = None

    def add(self, other: Written) -> None:
        """Add the results of another task."""
        self.files += other.files
        self.replaced += other.replaced
        self.referenced += other.referenced
        self.updated += other.updated
        self.deleted += other.deleted
        self.source_rows += other.source_rows
        self.source_hits += other.source_hits
        self.twice = self.twice or other.twice

    @property
    def distinct_source_rows(self) -> int:
        """The number of source rows that matched."""
        return PositionSet.union(self.source_rows).count


def write_deletes(
    rows: DataFrame, targets: Sequence[FileScanTask], writer: DeletesWriter, *, unique: bool = True
) -> Written:
    """Write the position deletes of the rows of a DataFrame with the columns `_file` and `_pos`.

    Args:
        rows: `__action` is the action on a row, by default a deletion. `__source_row` is the row
            of a merge's source that matches it.
        targets: the data files that may occur, which Spark sends to the tasks.
        writer: how deletes are written.
        unique: raise InvalidInputError for a row that comes twice, instead of counting it once.
    """
    named = {task.file_path: task for task in targets}
    numbers = _numbers(named, "file" if writer.makes_vectors else writer.granularity)
    context = deletes_context(writer.context)
    io = context.io
    work = _DeletesWork(replace(writer, context=context), unique)
    total = Written()
    try:
        if sum(task.record_count for task in targets) > ROW_LEVEL.driver_rows:
            parts = _written_by_tasks(_packed(rows, numbers), work, named, numbers)
        else:
            parts = _written_here(_gathered(rows, numbers, unique=unique), work, named, numbers)
        for part in parts:
            total.add(part)
        paths = [file.file_path for file in total.files]
        remove_other_attempts(io, context, paths, outlive=False)
    except BaseException:
        remove_aborted(io, context)
        raise
    if total.twice is not None:
        raise twice_error(*total.twice)
    return total


def _packed(rows: DataFrame, numbers: Mapping[str, int]) -> DataFrame:
    columns = [name for name in (FILE, POS, ACTION, SOURCE_ROW) if name in rows.columns]
    return map_plain_names(rows.select(*columns), PackTask(payload(numbers)), PACKED)


def _gathered(
    rows: DataFrame, numbers: Mapping[str, int], *, unique: bool
) -> Iterable[tuple[str, _Rows]]:
    """Return the rows by file and position, on the driver."""
    if ACTION not in rows.columns and SOURCE_ROW not in rows.columns:
        marked = mark_rows(rows, unique=unique)
        if marked is not None:
            return marked
    return _files(_packed(rows, numbers).toArrow().sort_by("file").to_batches())


def _written_here(
    files: Iterable[tuple[str, _Rows]],
    work: _DeletesWork,
    targets: Mapping[str, FileScanTask],
    numbers: Mapping[str, int],
) -> Iterable[Written]:
    groups: dict[int, _Group] = {}
    for path, rows in files:
        number = 0 if work.writer.makes_vectors else numbers[path]
        groups.setdefault(number, []).append((targets[path], rows))
    with ThreadPoolExecutor(ROW_LEVEL.writers, "iceberg-deletes") as pool:
        return list(pool.map(work.written, groups.values()))


def _written_by_tasks(
    packed: DataFrame,
    work: _DeletesWork,
    targets: Mapping[str, FileScanTask],
    numbers: Mapping[str, int],
) -> Iterable[Written]:
    partitions = int(packed.sparkSession.conf.get("spark.sql.shuffle.partitions") or 1)
    tasks = max(1, min(partitions, len(set(numbers.values()))))
    together = packed.repartitionById(tasks, sf.col("number") % tasks)
    # By the bytes of the path, as readers expect, and so does Spark sort text.
    ordered = together.sortWithinPartitions("number", "file")
    return results(ordered, _DeletesTask(work, payload(targets)).written)


def _numbers(targets: Mapping[str, FileScanTask], granularity: str) -> dict[str, int]:
    """Number the files, or with granularity "partition" their partitions."""
    numbers: dict[Hashable, int] = {}
    return {
        path: numbers.setdefault(
            path if granularity == "file" else (task.spec_id, partition_key(task.partition)),
            len(numbers),
        )
        for path, task in targets.items()
    }


def twice_error(path: str, position: int) -> MergeCardinalityError:
    """Return the error of a target row that more than one source row matches."""
    return MergeCardinalityError(
        f"The row at position {position} of {path} is matched by more than one row of the source: "
        "make the source's keys unique, or ON more precise"
    )


@dataclass(frozen=True, slots=True)
class _DeletesTask:
    """The function of every task."""

    work: _DeletesWork
    targets: Payload[Mapping[str, FileScanTask]]

    def written(self, batches: Iterable[pa.RecordBatch]) -> Written:
        """Write the deletes of files from packed rows that are sorted by file."""
        targets = self.targets.opened()
        if self.work.writer.makes_vectors:
            return self.work.written((targets[path], rows) for path, rows in _files(batches))
        done = Written()
        for group in self.work.groups(_files(batches), targets):
            done.add(self.work.written(group))
            if done.twice is not None:
                break
        return done


@dataclass(frozen=True, slots=True)
class _DeletesWork:
    """Writes the deletes of files, group by group."""

    writer: DeletesWriter
    unique: bool

    def groups(
        self, files: Iterable[tuple[str, _Rows]], targets: Mapping[str, FileScanTask]
    ) -> Iterator[_Group]:
        """Yield the files of one call of the writer: one file, or those of a partition.

        Files of a partition are adjacent.
        """
        group: _Group = []
        for path, rows in files:
            target = targets[path]
            if group and not self._together(group[0][0], target):
                yield group
                group = []
            group.append((target, rows))
        if group:
            yield group

    def _together(self, first: FileScanTask, second: FileScanTask) -> bool:
        if self.writer.granularity != "partition" or first.spec_id != second.spec_id:
            return False
        return partition_key(first.partition) == partition_key(second.partition)

    def written(self, group: Iterable[tuple[FileScanTask, _Rows]]) -> Written:
        """Write the deletes of a group; none if a row comes twice where it must not.

        Deletion vectors are written while the files of the group arrive.
        """
        result = Written()
        io = self.writer.context.io

        def deleted_rows() -> Iterator[tuple[FileScanTask, PositionSet]]:
            for target, rows in group:
                positions = _gone(rows, target.file_path, result, unique=self.unique)
                if result.twice is not None:
                    return
                if not positions.is_empty:
                    result.referenced.append(target.file_path)
                    yield target, positions

        some = deleted_rows() if self.writer.makes_vectors else list(deleted_rows())
        new = NewDeletes() if result.twice is not None else self.writer.write(io, some, task_id())
        if result.twice is not None:
            remove_written(io, [file.file_path for file in new.written])
            return result
        result.files += new.written
        result.replaced += new.replaced
        return result


def _gone(rows: _Rows, path: str, done: Written, *, unique: bool) -> PositionSet:
    """Return the positions of a file to delete, and count them."""
    if isinstance(rows, PositionSet):
        done.deleted += rows.count
        return rows
    positions = rows.column(POS).to_numpy()
    first = np.r_[True, positions[1:] != positions[:-1]]
    if unique and not first.all():
        done.twice = path, int(positions[int(np.flatnonzero(~first)[0])])
        return NO_POSITIONS
    if SOURCE_ROW in rows.column_names:
        numbers = rows.column(SOURCE_ROW).to_numpy()
        done.source_rows.append(PositionSet.from_positions(numbers))
        done.source_hits += len(numbers)
    if ACTION not in rows.column_names:
        done.deleted += int(first.sum())
        return PositionSet.from_positions(positions)
    action = rows.column(ACTION).to_numpy()
    done.updated += int((first & (action == UPDATE)).sum())
    done.deleted += int((first & (action == DELETE)).sum())
    return PositionSet.from_positions(np.compress(first & (action != KEEP), positions))


def _files(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[str, pa.Table]]:
    """Yield the rows of each data file by position, from sorted packed batches."""
    path: str | None = None
    held: list[pa.Table] = []
    for batch in batches:
        for name, rows in zip(batch.column("file"), batch.column("rows"), strict=True):
            if path is not None and name.as_py() != path:
                yield path, _by_position(held)
                held = []
            path = name.as_py()
            held.append(unpacked(rows.as_buffer()))
    if path is not None:
        yield path, _by_position(held)


def _by_position(parts: Sequence[pa.Table]) -> pa.Table:
    rows = pa.concat_tables(parts).combine_chunks()
    positions = rows.column(POS).to_numpy()
    if np.all(positions[1:] >= positions[:-1]):
        return rows
    return rows.take(pa.array(np.argsort(positions, kind="stable")))
