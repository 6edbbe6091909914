"""Relations that need fewer files because a joined relation has few keys."""

from __future__ import annotations

from collections.abc import Mapping

from iceberg_spark.read.joined_keys import can_prune, is_large, is_small, joined_plan
from iceberg_spark.scan.plan import ScanPlan
from iceberg_spark.spark.catalyst.key_filters import OptimizedPlan
from iceberg_spark.spark.reading.filtered_plan import FilteredPlan


def may_prune_by_joins(plans: Mapping[int, FilteredPlan]) -> bool:
    """Return whether one relation is large and another one has few keys."""
    large = {leaf for leaf, filtered in plans.items() if is_large(filtered.plan)}
    small = {leaf for leaf, filtered in plans.items() if _has_few_keys(filtered)}
    return bool(large and small) and len(large | small) > 1


def joined_plans(
    plans: Mapping[int, FilteredPlan], optimized: OptimizedPlan
) -> dict[int, ScanPlan]:
    """Return the smaller plans of relations, by their leaf index.

    Raises what reading keys raises.
    """
    smaller_plans: dict[int, ScanPlan] = {}
    for joined in optimized.joins:
        leaf, key_leaf = joined.column.leaf_index, joined.key.leaf_index
        if leaf not in plans or key_leaf not in plans:
            continue
        if not is_large(plans[leaf].plan) or not _has_few_keys(plans[key_leaf]):
            continue
        column, key = (
            plans[leaf].registered.field(joined.column.name),
            plans[key_leaf].registered.field(joined.key.name),
        )
        plan = smaller_plans.get(leaf, plans[leaf].plan)
        if column is None or key is None or not can_prune(plan, column, key):
            continue
        smaller_plan = joined_plan(plan, column, plans[key_leaf].plan, key).plan
        if smaller_plan is not None:
            smaller_plans[leaf] = smaller_plan
    return smaller_plans


def _has_few_keys(filtered: FilteredPlan) -> bool:
    """Return whether a relation's keys may be read. Rows that it shows as deleted are not keys."""
    return is_small(filtered.plan) and not filtered.registered.shows_deleted_rows
