"""Relations of a frame that need fewer files, since those they are joined with have few keys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame

from iceberg_spark.read.joined_keys import can_prune, is_large, is_small
from iceberg_spark.read.kept_joins import joined_plan
from iceberg_spark.scan.plan import ScanPlan
from iceberg_spark.spark.reading.column_plan import Origin
from iceberg_spark.spark.reading.limits import NARROWING
from iceberg_spark.spark.reading.marked_files import MarkedFiles
from iceberg_spark.spark.reading.parquet_files import MARK
from iceberg_spark.spark.session.plan_joins import RelationColumn, joined_columns
from iceberg_spark.spec import types as t


@dataclass(frozen=True, slots=True, eq=False)
class FilteredPlan:
    """What a relation reads, and its plan by the filters that it has of its own."""

    marked: MarkedFiles
    plan: ScanPlan


def joined_plans(frame: DataFrame, plans: Mapping[str, FilteredPlan]) -> dict[str, ScanPlan]:
    """Return the plans that joins of the frame make smaller, by the marks of their relations.

    `plans` are those of relations that the frame scans once. Raises what asking for Spark's plan
    and reading keys raise.
    """
    large = {mark for mark, one in plans.items() if is_large(one.plan)}
    small = {mark for mark, one in plans.items() if _has_few_keys(one)}
    if not large or not small or len(large | small) < 2:
        return {}
    found: dict[str, ScanPlan] = {}
    for joined in joined_columns(frame, MARK, most=NARROWING.leaves):
        mark, other = joined.column.mark, joined.key.mark
        if mark not in large or other not in small or mark == other:
            continue
        column, key = _field(plans[mark], joined.column), _field(plans[other], joined.key)
        plan = found.get(mark, plans[mark].plan)
        if column is None or key is None or not can_prune(plan, column, key):
            continue
        fewer = joined_plan(plan, column, plans[other].plan, key).plan
        if fewer is not None:
            found[mark] = fewer
    return found


def _has_few_keys(one: FilteredPlan) -> bool:
    """Return whether a relation's keys may be read; rows that it shows as deleted are no keys."""
    return is_small(one.plan) and not one.marked.columns.has(Origin.DELETED)


def _field(one: FilteredPlan, column: RelationColumn) -> t.NestedField | None:
    """Return the table's field that a relation's column is, None where Spark makes more of it."""
    for planned in one.marked.columns.read:
        asked = planned.asked
        if planned.origin is Origin.FILE and asked is not None and asked.name == column.name:
            return planned.field if asked.field_type == planned.field.field_type else None
    return None
