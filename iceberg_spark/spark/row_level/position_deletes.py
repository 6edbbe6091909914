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
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
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
from iceberg_spark.spark.adapt.task_results import Payload, payload, results
from iceberg_spark.spark.row_level.target_rows import ACTION, FILE, POS, SOURCE_ROW
from iceberg_spark.spark.session.in_worker import in_worker
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
        if sum(task.record_count for task in targets) > POSITION_DELETES.driver_rows:
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
    with ThreadPoolExecutor(POSITION_DELETES.writers, "iceberg-deletes") as pool:
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
            held.append(unpack_rows(rows.as_buffer()))
    if path is not None:
        yield path, _by_position(held)


def _by_position(parts: Sequence[pa.Table]) -> pa.Table:
    rows = pa.concat_tables(parts).combine_chunks()
    positions = rows.column(POS).to_numpy()
    if np.all(positions[1:] >= positions[:-1]):
        return rows
    return rows.take(pa.array(np.argsort(positions, kind="stable")))


# Positions packed by the task that found them, so that one row for each file is shuffled.
#
# A path of a hundred characters next to each position would be most of the shuffled bytes.

PACKED = "number int, file string, rows binary"
"""What comes of packing: the number of the file's group, its path, and its rows' other columns."""
_OPTIONS = pa.ipc.IpcWriteOptions(compression="zstd")


@dataclass(frozen=True, slots=True)
class PackTask:
    """The function of every task. The first column is the path."""

    numbers: Payload[Mapping[str, int]]

    @in_worker
    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield packed rows. Raises KeyError for a file that is not a target."""
        numbers = self.numbers.opened()
        held: list[pa.RecordBatch] = []
        count = 0
        for batch in batches:
            if not batch.num_rows:
                continue
            path = pc.dictionary_encode(batch.column(0))
            held.append(batch.set_column(0, batch.schema.names[0], path))
            count += batch.num_rows
            if count >= POSITION_DELETES.held_rows:
                yield _packed_positions(held, numbers)
                held, count = [], 0
        if held:
            yield _packed_positions(held, numbers)


def _packed_positions(batches: list[pa.RecordBatch], numbers: Mapping[str, int]) -> pa.RecordBatch:
    table = pa.Table.from_batches(batches).unify_dictionaries().combine_chunks()
    paths: Any = table.column(0).chunk(0)
    codes = paths.indices.to_numpy()
    rows = table.drop_columns(table.column_names[:1])
    if np.any(codes[1:] < codes[:-1]):
        order = np.argsort(codes, kind="stable")
        rows, codes = rows.take(pa.array(order)), codes[order]
    starts = np.flatnonzero(np.r_[True, codes[1:] != codes[:-1]])
    ends = np.r_[starts[1:], len(codes)]
    names = [paths.dictionary[code].as_py() for code in codes[starts].tolist()]
    parts = [
        _bytes(rows.slice(start, end - start))
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True)
    ]
    return pa.record_batch(
        [
            pa.array([numbers[name] for name in names], pa.int32()),
            pa.array(names, pa.string()),
            pa.array(parts, pa.binary()),
        ],
        names=["number", "file", "rows"],
    )


def _bytes(rows: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema, options=_OPTIONS) as stream:
        stream.write_table(rows)
    stream_bytes: bytes = sink.getvalue().to_pybytes()
    return stream_bytes


def unpack_rows(data: pa.Buffer) -> pa.Table:
    """Return packed rows."""
    return pa.ipc.open_stream(data).read_all()


_BITS = 15
"""Spark's bitmaps hold 2**15 bits: 4 KiB for so many rows of a file, if one of them is there."""


def mark_rows(rows: DataFrame, *, unique: bool) -> list[tuple[str, PositionSet]] | None:
    """Return the positions of a DataFrame's rows by file.

    `rows` has the columns `_file` and `_pos`. With `unique`, returns None if a row comes twice.
    Tasks and driver hold a bit for each row of the files, or some KiB for each file.
    """
    position = sf.col(POS)
    marks = rows.groupBy(
        sf.col(FILE).alias("file"), sf.shiftright(position, _BITS).alias("part")
    ).agg(
        sf.bitmap_construct_agg(position.bitwiseAND(sf.lit((1 << _BITS) - 1))).alias("bits"),
        sf.count("*").alias("rows"),
    )
    bitmaps = marks.toArrow().sort_by([("file", "ascending"), ("part", "ascending")])
    files = list(_file_numbers(bitmaps))
    positions = sum(positions_of_file.count for _, positions_of_file in files)
    if unique and positions != sum(bitmaps.column("rows").to_pylist()):
        return None
    return files


def _file_numbers(marks: pa.Table) -> Iterator[tuple[str, PositionSet]]:
    names = marks.column("file").to_pylist()
    first = marks.column("part").to_numpy() << (_BITS - 6)
    word_indices = first[:, None] + np.arange(1 << (_BITS - 6))
    bits = b"".join(marks.column("bits").to_pylist())
    words = np.frombuffer(bits, "<u8").reshape(word_indices.shape)
    starts = [index for index, name in enumerate(names) if index == 0 or name != names[index - 1]]
    for start, end in zip(starts, [*starts[1:], len(names)], strict=False):
        positions = PositionSet.from_words(
            word_indices[start:end].ravel(), words[start:end].ravel()
        )
        yield names[start], positions


@dataclass(frozen=True, slots=True)
class PositionDeleteLimits:
    """How many rows the driver and a task hold for position deletes."""

    driver_rows: int = 16_000_000
    """Rows of all files that may have matches, up to which the driver collects the packed
    positions and writes the deletes. They take a few bytes a row, at most 20. Above it tasks do,
    which costs a shuffle."""
    writers: int = 4
    """Threads of the driver that write deletes."""
    held_rows: int = 2_000_000
    """Rows that a task holds, some 20 bytes each, until it packs them."""


POSITION_DELETES = PositionDeleteLimits()
