"""The plan of what a relation reads, by filters that Spark's optimizer pushed down to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from iceberg_spark.expr.logic import disjunction
from iceberg_spark.expr.nodes import ALWAYS_TRUE, Bound
from iceberg_spark.expr.variant_filter import VariantFilter, of_columns
from iceberg_spark.scan.plan import ScanPlan
from iceberg_spark.scan.planner import narrowed
from iceberg_spark.spark.reading.marked_files import MarkedFiles
from iceberg_spark.spark.reading.pushed_conditions import PushedConditions
from iceberg_spark.spark.session.classic_plans import Expression


@dataclass(frozen=True, slots=True, eq=False)
class FilteredPlan:
    """What a relation reads, and its plan by the filters that it has of its own."""

    marked: MarkedFiles
    plan: ScanPlan


def filtered_plan(
    marked: MarkedFiles, scans: Sequence[Sequence[Expression]]
) -> FilteredPlan | None:
    """Return the plan of the files that the filters of a relation's scans leave.

    A row stays that any of the scans gives on. None where nothing tells. What filtered the plan
    that is kept is not asked: another frame of the same files may have made it. Raises what
    planning raises.
    """
    condition, variants = _condition(marked, scans)
    is_whole = marked.plan.context.row_filter == ALWAYS_TRUE
    if condition == ALWAYS_TRUE and variants is None and is_whole:
        return FilteredPlan(marked, marked.plan)
    plan = narrowed(marked.plan, condition, variants)
    return None if plan is None else FilteredPlan(marked, plan)


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
