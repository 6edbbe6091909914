"""Frames that read fewer files, since their filters are known: planned once more, by filters.

Spark lists the files of a relation when that is made, and afterwards skips row groups only. So each
relation of ours has an option that marks it, and where a frame's plan has filters above such ones,
the table is planned again with them, and the same plan made over fewer files. What Spark's own
optimizer pushed down to a scan is true for all of its rows, whatever stands between.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

import pyarrow.compute as pc
from pyspark.sql import DataFrame

from iceberg_spark.errors import IcebergError
from iceberg_spark.expr.logic import disjunction
from iceberg_spark.expr.nodes import ALWAYS_TRUE, Bound
from iceberg_spark.expr.variant_filter import VariantFilter, of_columns
from iceberg_spark.scan.planner import narrowed
from iceberg_spark.spark.reading.limits import NARROWING
from iceberg_spark.spark.reading.marked_files import (
    MarkedFiles,
    has_marked_files,
    marked_files,
)
from iceberg_spark.spark.reading.parquet_files import MARK, files_relation, mark_of
from iceberg_spark.spark.reading.pushed_conditions import PushedConditions
from iceberg_spark.spark.session.classic_plans import (
    PLAN_ERRORS,
    Expression,
    Relation,
    filtered_relations,
    with_relations,
)

_log = logging.getLogger(__name__)


def narrowed_frame(frame: DataFrame) -> DataFrame:
    """Return the frame, over fewer files where its filters prove that the others have no rows.

    Its columns stay the same, so that those of frames below it can be named. Where something
    is not understood, and over Connect, the frame itself.
    """
    if not has_marked_files():
        return frame
    try:
        most = NARROWING.leaves
        relations = filtered_relations(frame, MARK, most=most, wanted=_has_several_files)
        found = [(one, made) for one in relations if (made := _fewer_files(one)) is not None]
        return with_relations(frame, found) if found else frame
    except (*PLAN_ERRORS, IcebergError, OSError):
        _log.debug("A frame is read with all of its files", exc_info=True)
        return frame  # what is wrong, an action says


def _has_several_files(mark: str) -> bool:
    marked = marked_files(mark)
    return marked is not None and len(marked.files) > 1


def _fewer_files(relation: Relation) -> DataFrame | None:
    """Return a frame of the files that a relation's filters leave; None where that is all."""
    marked = marked_files(relation.mark)
    if marked is None:
        return None
    condition, variants = _condition(marked, relation.filters)
    if condition == ALWAYS_TRUE and variants is None:
        return None
    plan = narrowed(marked.plan, condition, variants)
    if plan is None:
        return None
    stay = pc.is_in(marked.paths, plan.files.column("file_path").combine_chunks()).to_pylist()
    if all(stay):
        return None
    if not any(stay):  # a relation needs a file: Spark skips its row groups
        sizes = marked.files.sizes
        stay[min(range(len(stay)), key=lambda place: sizes[place])] = True
    files = marked.files.part([place for place, stays in enumerate(stay) if stays])
    return files_relation(marked.session, marked.kind, files, mark_of(marked.kind, files))


def _condition(
    marked: MarkedFiles, scans: Sequence[Sequence[Expression]]
) -> tuple[Bound, VariantFilter | None]:
    """Return what is true for every row that any of a relation's scans gives on.

    Of columns alone, and with fields of variants where there are such.
    """
    reader = PushedConditions(marked.columns, marked.plan.context.table_schema)
    understood = [reader.predicate(filters) for filters in scans]
    whole = disjunction(
        ALWAYS_TRUE if one is None else reader.variants.bind(one) for one in understood
    )
    return of_columns(whole), reader.variants.filter(whole)
