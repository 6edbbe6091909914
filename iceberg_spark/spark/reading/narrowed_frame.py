"""Frames that read fewer files, since their filters are known: planned once more, by filters.

Spark lists the files of a relation when that is made, and afterwards skips row groups only. So each
relation of ours has an option that marks it, and where a frame's plan has filters above such ones,
the table is planned again with them, and the same plan made over fewer files. What Spark's own
optimizer pushed down to a scan is true for all of its rows, whatever stands between. So is that a
row has a key of the rows it is joined with, where its join is one that drops all others.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

from iceberg_spark.errors import IcebergError
from iceberg_spark.read.joined_keys import is_large
from iceberg_spark.scan.plan import ScanPlan
from iceberg_spark.spark.reading.filtered_plan import FilteredPlan, filtered_plan
from iceberg_spark.spark.reading.joined_relations import joined_plans
from iceberg_spark.spark.reading.kept_narrowing import kept_relations
from iceberg_spark.spark.reading.limits import NARROWING
from iceberg_spark.spark.reading.marked_files import (
    MarkedFiles,
    has_marked_files,
    marked_files,
)
from iceberg_spark.spark.reading.parquet_files import MARK, files_relation, mark_of
from iceberg_spark.spark.session.classic_plans import (
    PLAN_ERRORS,
    Relation,
    asked_apart,
    filtered_relations,
    plan_marks,
    with_relations,
)

_log = logging.getLogger(__name__)


def narrowed_frame(frame: DataFrame) -> DataFrame:
    """Return the frame, over fewer files where its filters prove that the others have no rows.

    Its columns stay the same, so that those of frames below it can be named. Where something
    is not understood, and over Connect, the frame itself.
    """
    return _narrowed(frame, by_joins_alone=False)


def joined_frame(frame: DataFrame) -> DataFrame:
    """Return the frame, over fewer files where its joins prove that the others have no rows.

    Filters below a join have chosen files when they were added. As `narrowed_frame` it stays the
    same otherwise.
    """
    return _narrowed(frame, by_joins_alone=True)


def _narrowed(frame: DataFrame, *, by_joins_alone: bool) -> DataFrame:
    if not has_marked_files():
        return frame
    wanted = _wanted_by_joins if by_joins_alone else _wanted
    try:
        marks = plan_marks(frame, MARK, most=NARROWING.leaves)
        if not wanted([mark for mark in marks if mark]):
            return frame
        way = "joins" if by_joins_alone else "filters"
        found = kept_relations(
            frame, marks, way, lambda: _fewer_by_place(asked_apart(frame), wanted)
        )
        return with_relations(frame, found) if found else frame
    except (*PLAN_ERRORS, IcebergError, OSError):
        _log.debug("A frame is read with all of its files", exc_info=True)
        return frame  # what is wrong, an action says


def _fewer_by_place(
    frame: DataFrame, wanted: Callable[[Sequence[str]], set[str]]
) -> list[tuple[int, DataFrame]]:
    """Return relations with fewer files, by the places of those they stand for."""
    relations = filtered_relations(frame, MARK, most=NARROWING.leaves, wanted=wanted)
    plans = [(one, made) for one in relations if (made := _filtered(one)) is not None]
    joined = _joined(frame, {one.mark: made for one, made in plans if _is_scanned_once(one)})
    found = []
    for one, filtered in plans:
        fewer = None
        if one.places:
            fewer = _fewer_files(filtered.marked, joined.get(one.mark, filtered.plan))
        if fewer is not None:
            found += [(place, fewer) for place in one.places]
    return found


def _wanted(marks: Sequence[str]) -> set[str]:
    """Return the marks of relations whose filters may leave out files, theirs or another's."""
    several = {
        mark for mark in marks if (one := marked_files(mark)) is not None and len(one.files) > 1
    }
    return several | _wanted_by_joins(marks)


def _wanted_by_joins(marks: Sequence[str]) -> set[str]:
    """Return the marks of all relations where one is large enough to need fewer files."""
    known = {mark: one for mark in marks if (one := marked_files(mark)) is not None}
    is_worth_it = len(known) > 1 and any(is_large(one.plan) for one in known.values())
    return set(known) if is_worth_it else set()


def _is_scanned_once(relation: Relation) -> bool:
    return len(relation.places) < 2 and len(relation.filters) == 1


def _filtered(relation: Relation) -> FilteredPlan | None:
    """Return the plan of the files that a relation's filters leave, None where nothing tells."""
    marked = marked_files(relation.mark)
    return None if marked is None else filtered_plan(marked, relation.filters)


def _joined(frame: DataFrame, plans: Mapping[str, FilteredPlan]) -> Mapping[str, ScanPlan]:
    """Return the plans that joins make smaller; none where their keys can't be read."""
    try:
        return joined_plans(frame, plans)
    except (*PLAN_ERRORS, IcebergError, OSError, pa.ArrowException):
        _log.debug("A frame's joins leave out no files", exc_info=True)
        return {}  # what is wrong with a table, an action says


def _fewer_files(marked: MarkedFiles, plan: ScanPlan) -> DataFrame | None:
    """Return a frame of those of a relation's files that a plan has; None where that is all."""
    stay = pc.is_in(marked.paths, plan.files.column("file_path").combine_chunks()).to_pylist()
    if all(stay):
        return None
    if not any(stay):  # a relation needs a file: Spark skips its row groups
        sizes = marked.files.sizes
        stay[min(range(len(stay)), key=lambda place: sizes[place])] = True
    files = marked.files.part([place for place, stays in enumerate(stay) if stays])
    return files_relation(marked.session, marked.kind, files, mark_of(marked.kind, files))
