"""Which manifests and files a filter leaves: masks from summaries, partition tuples and metrics.

Source: specification "Scan Planning"; Java's `ManifestEvaluator`, `Projections`,
`InclusiveMetricsEvaluator` and `ResidualEvaluator`, on columns instead of file by file.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa

from iceberg_spark.arrow.arrays import from_numpy
from iceberg_spark.arrow.values import Side, bounds_array, from_array
from iceberg_spark.expr.logic import leaves
from iceberg_spark.expr.may_match import may_match
from iceberg_spark.expr.nodes import (
    ALWAYS_TRUE,
    Bound,
    BoundReference,
    Comparison,
    Constant,
    Op,
)
from iceberg_spark.expr.project import inclusive, residual_of, strict
from iceberg_spark.expr.row_filter import row_filter
from iceberg_spark.expr.stats import (
    Kind,
    Statistic,
    column,
    decisive,
    evaluate,
    needed_statistics,
    summary_counts,
)
from iceberg_spark.scan.column_stats import stats_table
from iceberg_spark.scan.delete_pairs import Mask, Rows
from iceberg_spark.spec.manifest_file import FieldSummary, ManifestFile
from iceberg_spark.spec.partition import PartitionSpec
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.types import DateType, IcebergType, IntegerType, LongType, StructType


@dataclass(frozen=True, slots=True)
class SpecPruning:
    """A filter as it applies to the manifests and partition tuples of one spec.

    `statistics` are those of files that may decide more than the partition does: none for a filter
    that partition tuples decide, as a range of whole days does in a table partitioned by day.
    `bounds` are those of them that suffice for files with bounds of each column.
    """

    spec: PartitionSpec
    partition_type: StructType
    inclusive: Bound
    statistics: tuple[Statistic, ...]
    bounds: tuple[Statistic, ...]
    outcomes: tuple[Callable[[pa.Table], Any], ...]
    residual_of: Callable[[Sequence[Any]], Bound]

    def manifests(self, manifests: Sequence[ManifestFile]) -> list[bool]:
        """Return which manifests of this spec may have a matching file, by their summaries."""
        if not manifests or isinstance(self.inclusive, Constant):
            return [self.inclusive != Constant(False)] * len(manifests)
        columns: dict[str, Any] = {}
        positions = {part.field_id: position for position, part in enumerate(self.spec.fields)}
        types = {part.field_id: part.field_type for part in self.partition_type.fields}
        for field_id in {statistic.field_id for statistic in needed_statistics(self.inclusive)}:
            summaries = [_summary(manifest, positions[field_id]) for manifest in manifests]
            columns.update(_summary_columns(field_id, types[field_id], summaries))
        matches: list[bool] = evaluate(may_match(self.inclusive), pa.table(columns)).to_pylist()
        return matches

    def partitions(self, tuples: Any) -> Mask:
        """Return which partition tuples (a struct column) may have matching rows."""
        if isinstance(self.inclusive, Constant):
            return np.full(len(tuples), self.inclusive.value)
        mask = row_filter(self.inclusive, _column_of(self.spec))
        matches: Mask = mask(_children(self.spec, tuples)).to_numpy(zero_copy_only=False)
        return matches

    def residuals(self, tuples: Any) -> tuple[list[Bound], Rows]:
        """Return the distinct residuals of partition tuples, and for each tuple which it is.

        Tuples that decide the same leaves of the filter the same way have the same residual, so
        it is worked out once for each way.
        """
        first, way = np.zeros(min(len(tuples), 1), np.int64), np.zeros(len(tuples), np.int64)
        if self.outcomes and len(tuples):
            table = _children(self.spec, tuples)
            decided = [mask(table).to_numpy(zero_copy_only=False) for mask in self.outcomes]
            _, first, way = np.unique(
                np.stack(decided), axis=1, return_index=True, return_inverse=True
            )
        samples = canonical_tuples(self.partition_type, tuples.take(from_numpy(first)))
        return [self.residual_of(sample) for sample in samples], way.reshape(-1)


def spec_pruning(
    bound: Bound, spec: PartitionSpec, kind: StructType, schema: Schema, *, residuals: bool = True
) -> SpecPruning:
    """Project a filter for one spec; `kind` is the type of the spec's partition tuples.

    Without `residuals` all of the filter is left in each partition.
    """
    projections = {
        leaf: (strict(leaf, spec, schema), inclusive(leaf, spec, schema))
        for leaf in dict.fromkeys(leaves(bound))
    }
    undecided = [
        leaf
        for leaf, (certain, possible) in projections.items()
        if _inclusive_limit(certain) != _inclusive_limit(possible)
    ]
    possible = inclusive(bound, spec, schema)
    if not residuals:
        statistics = needed_statistics(bound) if undecided else ()
        bounds = _bounds(bound, statistics)
        return SpecPruning(spec, kind, possible, statistics, bounds, (), lambda _: bound)
    column_of = _column_of(spec)
    outcomes = [
        row_filter(projected, column_of)
        for projected in chain.from_iterable(projections.values())
        if not isinstance(projected, Constant)
    ]
    statistics = tuple(dict.fromkeys(chain.from_iterable(map(needed_statistics, undecided))))
    bounds = _bounds(bound, statistics)
    residual = residual_of(bound, spec, schema)
    return SpecPruning(spec, kind, possible, statistics, bounds, tuple(outcomes), residual)


def _bounds(bound: Bound, statistics: tuple[Statistic, ...]) -> tuple[Statistic, ...]:
    """Leave out the counts of columns of which bounds alone decide."""
    ids = decisive(bound)
    return tuple(
        statistic
        for statistic in statistics
        if statistic.field_id not in ids or statistic.kind in (Kind.LOWER, Kind.UPPER)
    )


def _inclusive_limit(bound: Bound) -> Bound:
    """Return `day < 5` as `day <= 4`: the strict projection of a range has one, the other one."""
    match bound:
        case Comparison(op=Op.LT | Op.GT as op, term=BoundReference(field_type=kind), value=value):
            if not isinstance(kind, IntegerType | LongType | DateType):
                return bound
            is_upper = op is Op.LT
            limit = value - 1 if is_upper else value + 1
            return replace(bound, op=Op.LE if is_upper else Op.GE, value=limit)
        case _:
            return bound


def canonical_tuples(kind: StructType, tuples: Any) -> list[tuple[Any, ...]]:
    """Return a partition struct column as tuples of canonical values."""
    if not kind.fields:
        return [()] * len(tuples)
    columns = [
        from_array(part.field_type, child)
        for part, child in zip(kind.fields, tuples.flatten(), strict=True)
    ]
    return list(zip(*columns, strict=True))


def _column_of(spec: PartitionSpec) -> dict[int, tuple[str, ...]]:
    return {part.field_id: (str(part.field_id),) for part in spec.fields}


def _children(spec: PartitionSpec, tuples: Any) -> pa.Table:
    names = [str(part.field_id) for part in spec.fields]
    return pa.Table.from_arrays(tuples.flatten(), names)


def _summary(manifest: ManifestFile, position: int) -> FieldSummary | None:
    """Return the summary of a partition field, None if the manifest list has none."""
    summaries = manifest.partitions
    return None if summaries is None or position >= len(summaries) else summaries[position]


def _summary_columns(
    field_id: int, kind: IcebergType, summaries: Sequence[FieldSummary | None]
) -> dict[str, Any]:
    lower = [None if summary is None else summary.lower_bound for summary in summaries]
    upper = [None if summary is None else summary.upper_bound for summary in summaries]
    counts = [
        (None, None, None)
        if summary is None
        else summary_counts(
            summary.contains_null, summary.contains_nan, summary.lower_bound is not None, kind
        )
        for summary in summaries
    ]
    values, nulls, nans = zip(*counts, strict=True)
    return {
        column(Kind.LOWER, field_id): bounds_array(kind, pa.array(lower, pa.binary()), Side.LOWER),
        column(Kind.UPPER, field_id): bounds_array(kind, pa.array(upper, pa.binary()), Side.UPPER),
        column(Kind.VALUE_COUNT, field_id): pa.array(values, pa.int64()),
        column(Kind.NULL_COUNT, field_id): pa.array(nulls, pa.int64()),
        column(Kind.NAN_COUNT, field_id): pa.array(nans, pa.int64()),
    }


def metrics_mask(
    entries: pa.Table,
    statistics: Sequence[Statistic],
    residuals: Sequence[Bound],
    residual_of: Rows,
) -> Mask:
    """Return which files may have matching rows, by bounds and counts (Java's inclusive metrics).

    `residual_of` is the index of each file's residual. `entries` needs the columns of
    `column_stats.statistic_columns(statistics)`.
    """
    mask = np.full(entries.num_rows, True)
    if not statistics or not entries.num_rows:
        return mask
    table = stats_table(entries, statistics)
    for index in np.unique(residual_of).tolist():
        residual, members = residuals[index], residual_of == index
        if residual != ALWAYS_TRUE:
            files = table if members.all() else table.filter(from_numpy(members))
            mask[members] = evaluate(may_match(residual), files).to_numpy()
    return mask
