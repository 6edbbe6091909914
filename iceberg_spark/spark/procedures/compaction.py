"""Compactions spread over Spark's tasks: bin-pack in Arrow, sorts through Spark's shuffle."""

from __future__ import annotations

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
from iceberg_spark.spark.adapt.jobs import job_results
from iceberg_spark.spark.session.task import speculates, task_id, was_tried_before
from iceberg_spark.write.uncommitted_files import remove_aborted, remove_other_attempts


@dataclass(frozen=True, slots=True)
class _Compaction:
    """Rewrites pieces of groups."""

    work: CompactionWork

    def written(self, piece: Piece) -> WrittenPiece:
        """Return what a piece became."""
        done = self.work.rewrite(self.work.write.io, piece, task_id())
        return replace(done, again=was_tried_before())


def compactor(session: SparkSession) -> Runner:
    """Return what rewrites groups in a session: a task a piece."""

    def run(work: CompactionWork, groups: Sequence[PlannedGroup]) -> list[WrittenGroup]:
        pieces = [(group, piece) for group in groups for piece in pieces_here(work, group)]
        jobs = [replace(piece, number=number) for number, (_, piece) in enumerate(pieces)]
        io, context = work.write.io, work.write
        try:
            made = job_results(session, jobs, _Compaction(work).written)
        except BaseException:
            remove_aborted(io, context)
            raise
        kept = [file.file_path for piece in made for file in piece.files]
        others = any(piece.again for piece in made) or speculates(session)
        remove_other_attempts(io, context, kept, outlive=others)
        owners = [group for group, _ in pieces]
        return [
            WrittenGroup(
                group,
                tuple(done for owner, done in zip(owners, made, strict=True) if owner is group),
            )
            for group in groups
        ]

    return run
