"""Relations of a frame that need fewer files, since those they are joined with have few keys."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from pyspark.sql import DataFrame

from iceberg_spark.read.joined_keys import can_prune, is_large, is_small
from iceberg_spark.read.kept_joins import joined_plan
from iceberg_spark.scan.plan import ScanPlan
from iceberg_spark.spark.reading.filtered_plan import FilteredPlan
from iceberg_spark.spark.reading.parquet_files import MARK
from iceberg_spark.spark.session.key_filters import optimized_plan


def joined_plans(frame: DataFrame, plans: Mapping[str, FilteredPlan]) -> dict[str, ScanPlan]:
    """Return the plans that joins of the frame make smaller, by the marks of their relations.

    `plans` are those of relations that the frame scans once. Raises what asking for Spark's plan
    and reading keys raise.
    """
    large = {mark for mark, one in plans.items() if is_large(one.plan)}
    small = {mark for mark, one in plans.items() if _has_few_keys(one)}
    if not large or not small or len(large | small) < 2:
        return {}
    optimized = optimized_plan(frame, MARK)
    if optimized is None:
        return {}
    marks = [optimized.mark(leaf) for leaf in optimized.root.leaves]
    times = Counter(one.mark for one in optimized.relations)
    found: dict[str, ScanPlan] = {}
    for joined in optimized.joins:
        mark, other = marks[joined.column.place], marks[joined.key.place]
        if mark not in large or other not in small or times[mark] > 1 or mark == other:
            continue
        column, key = (
            plans[mark].marked.field(joined.column.name),
            plans[other].marked.field(joined.key.name),
        )
        plan = found.get(mark, plans[mark].plan)
        if column is None or key is None or not can_prune(plan, column, key):
            continue
        fewer = joined_plan(plan, column, plans[other].plan, key).plan
        if fewer is not None:
            found[mark] = fewer
    return found


def _has_few_keys(one: FilteredPlan) -> bool:
    """Return whether a relation's keys may be read; rows that it shows as deleted are no keys."""
    return is_small(one.plan) and not one.marked.shows_deleted_rows
