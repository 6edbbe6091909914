"""Compactions spread over Spark's tasks: bin-pack in Arrow, sorts through Spark's shuffle."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import TypeAlias, cast

import pyarrow as pa
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.types import LongType

from iceberg_spark.maintenance.compaction import (
    CompactionWork,
    Piece,
    PlannedGroup,
    Runner,
    WrittenGroup,
    WrittenPiece,
    pieces_here,
)
from iceberg_spark.maintenance.limits import ORDERING
from iceberg_spark.maintenance.ordered_rows import (
    RangeRows,
    cut_rows,
    sampled_keys,
    write_ranges,
)
from iceberg_spark.maintenance.rewrite_options import RewriteOptions
from iceberg_spark.maintenance.row_order import (
    BitChunk,
    OrderRanges,
    bit_chunks,
    float_words,
    order_ranges,
    width_of,
)
from iceberg_spark.scan.split import split_options
from iceberg_spark.scan.task import FileScanTask
from iceberg_spark.spark.adapt.jobs import job_results, job_rows
from iceberg_spark.spark.adapt.task_results import results
from iceberg_spark.spark.reading.plan_frame import plan_frame
from iceberg_spark.spark.session.expressions import expression
from iceberg_spark.spark.session.task import speculates, task_id, was_tried_before
from iceberg_spark.spark.writing.distribution import KeysOf, Placement, SourceOf
from iceberg_spark.spark.writing.write_files import write_frame
from iceberg_spark.spark.writing.write_settings import held_settings
from iceberg_spark.spec import types as t
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.sort import UNSORTED
from iceberg_spark.write.align_columns import AlignOptions
from iceberg_spark.write.uncommitted_files import (
    remove_aborted,
    remove_other_attempts,
    remove_written,
)


@dataclass(frozen=True, slots=True)
class _Compaction:
    """Rewrites pieces of groups."""

    work: CompactionWork

    def written(self, piece: Piece) -> WrittenPiece:
        """Return what a piece became."""
        done = self.work.rewrite(self.work.write.io, piece, task_id())
        return replace(done, again=was_tried_before())


def compactor(session: SparkSession) -> Runner:
    """Return what rewrites groups in a session: a task a piece, or a shuffle for each group."""

    def run(work: CompactionWork, groups: Sequence[PlannedGroup]) -> list[WrittenGroup]:
        moved = [group for group in groups if _is_shuffled(work, group)]
        if not moved:
            return _in_pieces(session, work, groups)
        done: dict[int, WrittenGroup] = {}
        try:
            for group in moved:
                shuffled = _shuffled if _is_sorted_by_spark(work, group) else in_order
                done[id(group)] = shuffled(session, work, group)
            rest = [group for group in groups if id(group) not in done]
            done |= {
                id(rewritten.planned): rewritten for rewritten in _in_pieces(session, work, rest)
            }
        except BaseException:
            files = [file.file_path for group in done.values() for file in group.files]
            remove_written(work.write.io, files)
            raise
        return [done[id(group)] for group in groups]

    return run


def _is_shuffled(work: CompactionWork, group: PlannedGroup) -> bool:
    """Tell whether rows go to other tasks; those of a small group are put in order by one."""
    if _is_sorted_by_spark(work, group):
        return True
    return work.layout.moves_rows and group.group.input_bytes > ORDERING.task_bytes


def _is_sorted_by_spark(work: CompactionWork, group: PlannedGroup) -> bool:
    """Tell whether rows are for several partitions, or have no order that we can compute."""
    ordered = work.sorts and bool(work.order.sources)
    return group.changes_spec or (work.layout.moves_rows and not ordered)


def _shuffled(session: SparkSession, work: CompactionWork, group: PlannedGroup) -> WrittenGroup:
    """Rewrite a group whose rows go to other tasks: sorted, or to other partitions."""
    layout = work.layout
    context = replace(
        work.write,
        sort_order=layout.order if work.sorts and not layout.z_columns else UNSORTED,
        sort_order_id=layout.order.order_id,
        write_id=str(uuid.uuid4()),
    )
    keys = None
    if layout.z_columns:
        keys = z_order_keys(context.schema, layout.z_columns, work.options)
    read = replace(group.plan.context, read_schema=context.schema)
    frame = plan_frame(replace(group.plan, context=read), session)
    placement = Placement(group.group.expected_files, group.changes_spec, keys)
    files = write_frame(
        frame, context, AlignOptions(), distribution_mode="none", placement=placement
    )
    return WrittenGroup(group, (WrittenPiece(files, None),))


def _in_pieces(
    session: SparkSession, work: CompactionWork, groups: Sequence[PlannedGroup]
) -> list[WrittenGroup]:
    pieces = [(group, piece) for group in groups for piece in pieces_here(work, group)]
    if not pieces:
        return []
    jobs = [replace(piece, number=number) for number, (_, piece) in enumerate(pieces)]
    io, context = work.write.io, work.write
    try:
        written_pieces = job_results(session, jobs, _Compaction(work).written)
        paths = [file.file_path for piece in written_pieces for file in piece.files]
        others = any(piece.again for piece in written_pieces) or speculates(session)
        remove_other_attempts(io, context, paths, outlive=others)
    except BaseException:
        remove_aborted(io, context)
        raise
    by_group: dict[int, list[WrittenPiece]] = {}
    for (group, _), written in zip(pieces, written_pieces, strict=True):
        by_group.setdefault(id(group), []).append(written)
    return [WrittenGroup(group, tuple(by_group.get(id(group), ()))) for group in groups]


# Rows of a group put in order by Spark's tasks: a sample, then one shuffle of Arrow batches.
#
# Spark moves a few large values, and neither reads rows nor writes them: our reader and our
# writer do. Its own range shuffle would read all columns a second time for its sample.

Tasks: TypeAlias = tuple[FileScanTask, ...]
_TRAVELLING = "file int, range int, rows binary"
_BATCH_ROWS = "spark.sql.execution.arrow.maxRecordsPerBatch"


@dataclass(frozen=True, slots=True)
class _Sampling:
    """Samples the keys of files."""

    work: CompactionWork
    share: float

    def keys(self, job: tuple[int, Tasks]) -> pa.Table:
        """Return the keys of some rows."""
        number, tasks = job
        return sampled_keys(self.work, self.work.write.io, tasks, self.share, number)


@dataclass(frozen=True, slots=True)
class _Ordering:
    """Cuts rows to ranges, and writes them range by range."""

    work: CompactionWork
    ranges: OrderRanges

    def cut(self, tasks: Tasks) -> Iterator[pa.RecordBatch]:
        """Yield rows by files and ranges."""
        kinds = (pa.int32(), pa.int32(), pa.binary())
        for cut in cut_rows(self.work, self.work.write.io, tasks, self.ranges):
            values = (int(self.ranges.files[cut.number]), cut.number, cut.rows.to_pybytes())
            columns = [pa.array([value], kind) for value, kind in zip(values, kinds, strict=True)]
            yield pa.record_batch(columns, ["file", "range", "rows"])

    def written(self, batches: Iterable[pa.RecordBatch]) -> WrittenPiece:
        """Return what the ranges of a file became."""
        arriving = (
            RangeRows(number.as_py(), rows.as_buffer())
            for batch in batches
            for number, rows in zip(batch.column(0), batch.column(1), strict=True)
        )
        io = self.work.write.io
        files = write_ranges(self.work, io, arriving, self.ranges, task_id())
        return WrittenPiece(files, None, again=was_tried_before())


def in_order(session: SparkSession, work: CompactionWork, group: PlannedGroup) -> WrittenGroup:
    """Rewrite a group whose rows stay in one partition, and are put in order."""
    context = replace(work.write, write_id=str(uuid.uuid4()))
    work = replace(work, write=context)
    pieces = group.plan.groups(split_options({}, split_size=ORDERING.task_bytes))
    io = context.io
    try:
        ranges = _ranges(session, work, group, pieces)
        task = _Ordering(work, ranges)
        with held_settings(session, {_BATCH_ROWS: str(ORDERING.travelling_batches)}, {}):
            rows = job_rows(session, pieces, task.cut, _TRAVELLING)
            spread = rows.repartitionById(group.group.expected_files, "file")
            ordered = spread.sortWithinPartitions("range").select("range", "rows")
            written_pieces = results(ordered, task.written)
        paths = [file.file_path for piece in written_pieces for file in piece.files]
        others = any(piece.again for piece in written_pieces) or speculates(session)
        remove_other_attempts(io, context, paths, outlive=others)
    except BaseException:
        remove_aborted(io, context)
        raise
    return WrittenGroup(group, tuple(written_pieces))


def _ranges(
    session: SparkSession, work: CompactionWork, group: PlannedGroup, pieces: Sequence[Tasks]
) -> OrderRanges:
    files = group.group.expected_files
    by_size = -(-group.group.input_bytes // (files * ORDERING.range_bytes))
    count = files * max(1, min(by_size, ORDERING.most_ranges // files))
    sample_rows = max(ORDERING.sampled_rows, ORDERING.sampled_in_range * count)
    share = sample_rows / max(sum(task.record_count for task in group.plan), 1)
    sampled = job_results(session, list(enumerate(pieces)), _Sampling(work, share).keys)
    return order_ranges(work.order, pa.concat_tables(sampled), files, count)


# A z-order curve in Spark's expressions: what `maintenance.z_order` does in Arrow.
#
# Bits are spread by a table of 256 numbers for each byte: arithmetic would name each byte many
# times, and Spark's trees grow with each naming.

_HIGH = -(1 << 63)
_WORD = 64


def z_order_keys(schema: Schema, columns: Sequence[int], options: RewriteOptions) -> KeysOf:
    """Return what computes the words of the curve's value. Raises UnsupportedError for a type."""
    kinds = [schema.find_type(field_id) for field_id in columns]
    widths = [width_of(kind, options) for kind in kinds]
    chunks = list(bit_chunks(widths, options.max_output_size))

    def keys(source_of: SourceOf) -> list[Column]:
        words = [
            _words(source_of(field_id), kind, width)
            for field_id, kind, width in zip(columns, kinds, widths, strict=True)
        ]
        return [_key(words, chunk) for chunk in chunks]

    return keys


def _words(column: Column, kind: t.IcebergType, width: int) -> list[Column]:
    """Return a value's bytes as words of eight, the first byte highest; zeros for null."""
    if isinstance(kind, t.StringType | t.BinaryType):
        size = 8 * -(-width // 8)
        prefix = sf.substring(column.cast("binary"), 1, width)
        text = sf.rpad(sf.hex(prefix), 2 * size, "0")
        parts = [
            sf.conv(sf.substring(text, 1 + 8 * index, 8), 16, 10) for index in range(size // 4)
        ]
        longs = [sf.coalesce(part.cast("bigint"), sf.lit(0)) for part in parts]
        pairs = zip(longs[::2], longs[1::2], strict=True)
        return [sf.shiftleft(high, 32).bitwiseOR(low) for high, low in pairs]
    return [sf.coalesce(_word(column, kind), sf.lit(0))]


def _word(column: Column, kind: t.IcebergType) -> Column:
    match kind:
        case t.BooleanType():
            return sf.when(column, sf.lit((0x81 << 56) - (1 << 64))).otherwise(sf.lit(0))
        case t.FloatType() | t.DoubleType():
            return _of_floats(column.cast("double"))
        case t.DateType():
            number = sf.unix_date(column).cast("bigint")
        case t.TimestamptzType():
            number = sf.unix_micros(column)
        case t.TimestampType():
            epoch = sf.lit("1970-01-01 00:00:00").cast("timestamp_ntz")
            number = sf.timestamp_diff("MICROSECOND", epoch, column)
        case _:
            number = column.cast("bigint")
    return number.bitwiseXOR(sf.lit(_HIGH))


def _of_floats(column: Column) -> Column:
    """Return the words of doubles: Spark SQL has no function that gives a double's bits."""

    def words(array: pa.Array) -> pa.Array:
        return pa.array(float_words(array).view("int64"))

    # PySpark's overloads know iterators only; a plain array is as good.
    words_of = arrow_udf(words, LongType())  # type: ignore[call-overload]
    return cast(Column, words_of(column))


def _key(words: Sequence[Sequence[Column]], chunk: BitChunk) -> Column:
    turns = len(chunk.columns)
    parts = []
    for turn, column in enumerate(chunk.columns):
        bit, end = chunk.first_bit, chunk.first_bit + chunk.bits
        while bit < end:  # byte by byte, or what lies in this chunk of one
            stop = min(end, (bit // 8 + 1) * 8)
            bits = _bits(words[column], bit, stop - bit)
            shift = (end - stop) * turns + turns - 1 - turn
            parts.append(_shifted(_spread(bits, stop - bit, turns), shift))
            bit = stop
    joined = reduce(Column.bitwiseOR, parts)
    cut = chunk.bits * turns - chunk.bit_count
    return sf.shiftrightunsigned(joined, cut) if cut else joined


def _bits(words: Sequence[Column], first: int, count: int) -> Column:
    """Return some bits of one byte."""
    word, offset = words[first // _WORD], first % _WORD
    moved = sf.shiftrightunsigned(word, _WORD - offset - count) if offset + count < _WORD else word
    return moved.bitwiseAND(sf.lit((1 << count) - 1))


def _spread(bits: Column, count: int, turns: int) -> Column:
    """Return bits with gaps for those of the other columns."""
    if turns == 1:
        return bits
    table = [
        sum(((value >> bit) & 1) << (bit * turns) for bit in range(count))
        for value in range(1 << count)
    ]
    return sf.get(
        expression(f"array({','.join(f'{entry}L' for entry in table)})"), bits.cast("int")
    )


def _shifted(column: Column, by: int) -> Column:
    return sf.shiftleft(column, by) if by else column
