"""Aggregates of whole tables or partitions, answered from metadata without opening a file.

Source: Java's `SparkScanBuilder.pushAggregation` and `AggregateEvaluator`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.expr.nodes import ALWAYS_TRUE
from iceberg_spark.expr.variant_filter import of_columns
from iceberg_spark.scan.file_statistics import ColumnStatistics, file_statistics
from iceberg_spark.scan.planner import plan
from iceberg_spark.spark.catalyst.file_pruning import (
    AggregateFunction,
    ScannedAggregate,
    ScannedRelation,
    answer_aggregate,
)
from iceberg_spark.spark.reading.filtered_plan import FilteredPlan
from iceberg_spark.spark.reading.pushed_conditions import PushedConditions
from iceberg_spark.spark.reading.relation_registry import RegisteredRelation
from iceberg_spark.spec import types as t

_EXACT_BOUNDS = (
    t.BooleanType, t.IntegerType, t.LongType, t.DateType, t.DecimalType, t.TimestampType,
    t.TimestamptzType,
)  # fmt: skip
"""Types with exact bounds. Bounds of text may be truncated, and those of floats leave out NaN."""

Value: TypeAlias = int | bool | Decimal | None
Relations: TypeAlias = Mapping[int, tuple[ScannedRelation, FilteredPlan]]


class _Unknown(Exception):
    """Metadata does not have the value, so the files have to be read."""


@dataclass(frozen=True, slots=True, eq=False)
class _Files:
    """The files of a relation, by their paths, if the aggregate uses all of their rows."""

    registered: RegisteredRelation
    paths: pa.Array
    rows: int


def answer_aggregates(
    aggregates: Sequence[ScannedAggregate], relations: Relations, query: Any
) -> None:
    """Answer the aggregates of a plan from metadata where possible; `query` is Java's `PlanQuery`.

    Raises what planning and reading manifests raise.
    """
    for aggregate in aggregates:
        try:
            files = [_whole_files(*relations[number]) for number in aggregate.relations]
            values = [_value(function, files) for function in aggregate.functions]
        except (_Unknown, KeyError):
            continue
        answer_aggregate(query, aggregate.number, values)


def _whole_files(scanned: ScannedRelation, filtered: FilteredPlan) -> _Files:
    """Return the files of a relation. Raises _Unknown if a filter excludes some rows of a file."""
    registered = filtered.registered
    if registered.shows_deleted_rows:
        raise _Unknown
    if not scanned.filters:
        return _Files(registered, registered.paths.combine_chunks(), registered.rows)
    reader = PushedConditions(registered.columns, registered.plan.context.table_schema)
    condition = reader.exact_predicate(scanned.filters)
    metadata = registered.plan.metadata
    if condition is None or metadata is None or registered.plan.is_by_catalog:
        raise _Unknown
    row_filter = reader.variants.bind(condition)
    if of_columns(row_filter) != row_filter:
        raise _Unknown  # fields of variants choose files alone
    context = replace(registered.plan.context, row_filter=row_filter)
    exact = plan(metadata, context.io, context)
    of_relation = pc.is_in(exact.files.column("file_path"), registered.paths.combine_chunks())
    files = exact.files.filter(of_relation)
    for index in pc.unique(files.column("residual_index")).to_pylist():
        if exact.residuals[index] != ALWAYS_TRUE:
            raise _Unknown
    rows = pc.sum(files.column("record_count")).as_py() or 0
    return _Files(registered, files.column("file_path").combine_chunks(), rows)


def _value(function: AggregateFunction, files: Sequence[_Files]) -> Value:
    """Return the value of a function over all files. Raises _Unknown."""
    if function.columns is None:
        return sum(relation.rows for relation in files)
    statistics = [
        _statistics(relation, column, bounds=function.name != "count")
        for relation, column in zip(files, function.columns, strict=True)
    ]
    match function.name:
        case "count":
            return sum(of_relation.value_count for of_relation in statistics)
        case "min":
            least = (_number(of_relation.least) for of_relation in statistics)
            return min((value for value in least if value is not None), default=None)
        case _:
            greatest = (_number(of_relation.greatest) for of_relation in statistics)
            return max((value for value in greatest if value is not None), default=None)


def _statistics(files: _Files, name: str, *, bounds: bool) -> ColumnStatistics:
    field = files.registered.field(name)
    if field is None or (bounds and not isinstance(field.field_type, _EXACT_BOUNDS)):
        raise _Unknown
    statistics = file_statistics(files.registered.plan, files.paths, field, bounds=bounds)
    if statistics is None:
        raise _Unknown
    return statistics


def _number(value: Any) -> Value:
    """Return an Arrow scalar as Spark stores it: dates are days, timestamps are microseconds."""
    if value is None or not value.is_valid:
        return None
    if pa.types.is_date(value.type):
        value = value.cast(pa.int32())
    elif pa.types.is_timestamp(value.type):
        value = value.cast(pa.int64())
    number: Value = value.as_py()
    return number
