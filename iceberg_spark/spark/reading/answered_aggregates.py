"""Aggregates of whole tables or partitions, answered from metadata without opening a file.

Source: Java's `SparkScanBuilder.pushAggregation` and `AggregateEvaluator`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.arrow.schema import to_arrow_type
from iceberg_spark.expr.nodes import ALWAYS_TRUE
from iceberg_spark.expr.stats import Kind, Statistic, column
from iceberg_spark.expr.variant_filter import of_columns
from iceberg_spark.scan.file_statistics import file_statistics
from iceberg_spark.scan.plan import ScanPlan
from iceberg_spark.scan.planner import plan
from iceberg_spark.spark.catalyst.file_pruning import (
    AggregateFunction,
    ScannedAggregate,
    ScannedRelation,
    Value,
    answer_aggregate,
)
from iceberg_spark.spark.reading.identity_columns import (
    EXACT_TYPES,
    as_spark_stores,
    identity_values,
    is_identity_column,
)
from iceberg_spark.spark.reading.pushed_conditions import PushedConditions
from iceberg_spark.spark.reading.relation_registry import FilteredPlan, RegisteredRelation
from iceberg_spark.spec import types as t

_MOST_GROUPS = 10_000
"""Rows that travel to the JVM as text; more groups are read from the files."""

Relations: TypeAlias = Mapping[int, tuple[ScannedRelation, FilteredPlan]]


class _Unknown(Exception):
    """Metadata does not have the value, so the files have to be read."""


@dataclass(frozen=True, slots=True, eq=False)
class _Files:
    """Rows of a plan's `files`: those of a relation of which an aggregate uses all rows."""

    registered: RegisteredRelation
    plan: ScanPlan
    files: pa.Table


def answer_aggregates(
    aggregates: Sequence[ScannedAggregate], relations: Relations, query: Any
) -> None:
    """Answer the aggregates of a plan from metadata where possible; `query` is Java's `PlanQuery`.

    Raises what planning and reading manifests raise.
    """
    for aggregate in aggregates:
        try:
            of_files = [
                _of_files(aggregate, index, _whole_files(*relations[number]))
                for index, number in enumerate(aggregate.relations)
            ]
        except (_Unknown, KeyError):
            continue
        rows = _totals(aggregate, pa.concat_tables(of_files))
        if len(rows) <= _MOST_GROUPS:
            answer_aggregate(query, aggregate.number, rows)


def _whole_files(scanned: ScannedRelation, filtered: FilteredPlan) -> _Files:
    """Return the files of a relation. Raises _Unknown if a filter excludes some rows of a file."""
    registered = filtered.registered
    if registered.shows_deleted_rows:
        raise _Unknown
    if not scanned.filters:
        return _Files(registered, registered.plan, _of_relation(registered, registered.plan))
    reader = PushedConditions(registered.columns, registered.plan.context.table_schema)
    condition = reader.exact_predicate(scanned.filters)
    metadata = registered.plan.metadata
    if condition is None or metadata is None or registered.plan.is_by_catalog:
        raise _Unknown
    row_filter = reader.variants.bind(condition)
    if of_columns(row_filter) != row_filter:
        raise _Unknown  # fields of variants choose files alone
    context = replace(registered.plan.context, row_filter=row_filter)
    exact = plan(metadata, context.io, context, tasks=registered.plan.tasks)
    files = _of_relation(registered, exact)
    for index in pc.unique(files.column("residual_index")).to_pylist():
        if exact.residuals[index] != ALWAYS_TRUE:
            raise _Unknown
    return _Files(registered, exact, files)


def _of_relation(registered: RegisteredRelation, planned: ScanPlan) -> pa.Table:
    paths = registered.paths.combine_chunks()
    return planned.files.filter(pc.is_in(planned.files.column("file_path"), paths))


def _of_files(aggregate: ScannedAggregate, index: int, files: _Files) -> pa.Table:
    """Return a row for each file with rows: its groups, and the functions of its rows.

    `index` is the relation's place in the aggregate. Raises _Unknown.
    """
    columns: dict[str, Any] = {
        f"group{number}": _partition_values(files, names[index])
        for number, names in enumerate(aggregate.groups)
    }
    fields = [
        None if function.columns is None else _field(files, function, function.columns[index])
        for function in aggregate.functions
    ]
    statistics = _statistics(files, aggregate.functions, fields)
    rows = files.files.column("record_count")
    for number, (function, field) in enumerate(zip(aggregate.functions, fields, strict=True)):
        columns[f"value{number}"] = _values(function, field, rows, statistics)
    return pa.table(columns).filter(pc.greater(rows, 0))


def _field(files: _Files, function: AggregateFunction, name: str) -> t.NestedField:
    field = files.registered.field(name)
    has_bounds = function.name == "count" or (
        field is not None and isinstance(field.field_type, EXACT_TYPES)
    )
    if field is None or not has_bounds:
        raise _Unknown
    return field


def _statistics(
    files: _Files, functions: Sequence[AggregateFunction], fields: Sequence[t.NestedField | None]
) -> pa.Table | None:
    """Return the statistics that the functions need, in the order of the files."""
    needed: set[Statistic] = set()
    for function, field in zip(functions, fields, strict=True):
        if field is not None:
            needed.add(Statistic(Kind.NULL_COUNT, field.field_id, t.LongType()))
            needed.add(Statistic(Kind.VALUE_COUNT, field.field_id, t.LongType()))
            if function.name != "count":  # both: bounds that cross each other are unknown
                needed.add(Statistic(Kind.LOWER, field.field_id, field.field_type))
                needed.add(Statistic(Kind.UPPER, field.field_id, field.field_type))
    if not needed or not files.files.num_rows:
        return None
    paths = files.files.column("file_path").combine_chunks()
    statistics = file_statistics(files.plan, paths, sorted(needed, key=str))
    if statistics is None:
        raise _Unknown
    return statistics


_BOUND = {"min": Kind.LOWER, "max": Kind.UPPER}


def _values(
    function: AggregateFunction, field: t.NestedField | None, rows: Any, statistics: pa.Table | None
) -> Any:
    """Return the value of a function for each file. Raises _Unknown if a file has no statistics."""
    if field is None:
        return rows
    if statistics is None:  # there are no files
        kind = pa.int64() if function.name == "count" else to_arrow_type(field.field_type)
        return pa.array([], kind)
    nulls = statistics.column(column(Kind.NULL_COUNT, field.field_id))
    if nulls.null_count:
        raise _Unknown
    if function.name == "count":
        return pc.subtract(rows, nulls)
    bounds = statistics.column(column(_BOUND[function.name], field.field_id))
    has_values = pc.less(nulls, rows)
    if pc.any(pc.and_(has_values, pc.is_null(bounds))).as_py():
        raise _Unknown
    return pc.if_else(has_values, bounds, pa.scalar(None, bounds.type))


def _partition_values(files: _Files, name: str) -> Any:
    """Return the value of an identity partition column for each file. Raises _Unknown."""
    field = files.registered.field(name)
    spec_ids = pc.unique(files.files.column("spec_id")).to_pylist()
    if field is None or not is_identity_column(files.plan, spec_ids, field):
        raise _Unknown
    return identity_values(files.plan, files.files, field)


def _totals(aggregate: ScannedAggregate, of_files: pa.Table) -> list[list[Value]]:
    """Return a row for each group: its columns, then the values of the functions."""
    groups = [f"group{number}" for number in range(len(aggregate.groups))]
    totals = [
        (f"value{number}", "sum" if function.name == "count" else function.name)
        for number, function in enumerate(aggregate.functions)
    ]
    totals_by_group = of_files.group_by(groups).aggregate(totals)
    columns = [as_spark_stores(totals_by_group.column(name)).to_pylist() for name in groups]
    for function, (name, total) in zip(aggregate.functions, totals, strict=True):
        values = as_spark_stores(totals_by_group.column(f"{name}_{total}")).to_pylist()
        is_count = function.name == "count"
        columns.append([value or 0 for value in values] if is_count else values)
    return [list(row) for row in zip(*columns, strict=True)]
