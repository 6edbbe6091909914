"""Compactions spread over Spark's tasks: bin-pack in Arrow, sorts through Spark's shuffle."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pyspark.sql import SparkSession

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
from iceberg_spark.spark.adapt.jobs import job_results
from iceberg_spark.spark.procedures.ordered_groups import in_order
from iceberg_spark.spark.procedures.z_order_keys import z_order_keys
from iceberg_spark.spark.reading.plan_frame import plan_frame
from iceberg_spark.spark.session.task import speculates, task_id, was_tried_before
from iceberg_spark.spark.writing.placement import Placement
from iceberg_spark.spark.writing.write_files import write_frame
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
