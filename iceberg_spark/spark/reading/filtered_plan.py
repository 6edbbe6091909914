"""The plan of a relation by the filters that Spark's optimizer pushed down to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from iceberg_spark.expr.nodes import ALWAYS_TRUE, Bound
from iceberg_spark.expr.variant_filter import VariantFilter, of_columns
from iceberg_spark.scan.context import ScanContext
from iceberg_spark.scan.plan import ScanPlan
from iceberg_spark.scan.planner import narrowed
from iceberg_spark.spark.catalyst.file_pruning import Expression
from iceberg_spark.spark.reading.pushed_conditions import PushedConditions
from iceberg_spark.spark.reading.relation_registry import RegisteredRelation


@dataclass(frozen=True, slots=True, eq=False)
class FilteredPlan:
    """A relation, and its plan by its own filters."""

    registered: RegisteredRelation
    plan: ScanPlan


def pushed_filter(
    context: ScanContext, filters: Sequence[Expression]
) -> tuple[Bound, VariantFilter | None]:
    """Return the predicate of filters on a scan, and what they say about fields of variants.

    Parts of filters that have no predicate are left out.
    """
    reader = PushedConditions.of_schema(context.read_schema, context.table_schema)
    understood = reader.predicate(filters)
    bound = ALWAYS_TRUE if understood is None else reader.variants.bind(understood)
    return of_columns(bound), reader.variants.filter(bound)


def filtered_plan(
    registered: RegisteredRelation, filters: Sequence[Expression]
) -> FilteredPlan | None:
    """Return the plan of the files that may have rows which match all filters.

    Returns None if the table cannot be planned again. The filter of the registered plan is ignored:
    another DataFrame over the same files may have added it. Raises what planning raises.
    """
    reader = PushedConditions(registered.columns, registered.plan.context.table_schema)
    understood = reader.predicate(filters)
    bound = ALWAYS_TRUE if understood is None else reader.variants.bind(understood)
    condition, variants = of_columns(bound), reader.variants.filter(bound)
    is_whole = registered.plan.context.row_filter == ALWAYS_TRUE
    if condition == ALWAYS_TRUE and variants is None and is_whole:
        return FilteredPlan(registered, registered.plan)
    plan = narrowed(registered.plan, condition, variants)
    return None if plan is None else FilteredPlan(registered, plan)
