"""Files that a join leaves out: the keys of a small table's rows prune a large one by partition.

`sales JOIN days ON sold = day WHERE month = 11` has no condition on `sales`, and yet needs few of
its files. Java learns that from Spark while the query runs (dynamic partition pruning, of columns
that a partition is made from); Spark has no such filter for these files. Both tables are pinned
when the query is planned, so here the small one's keys are read then, and a file stays if its
partition may hold one of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.arrow.transforms import apply_transform
from iceberg_spark.bounded_cache import BoundedCache
from iceberg_spark.read.row_keys import COMPARABLE, JOINS, leaves_out_rows, read_keys
from iceberg_spark.scan.context import ScanContext
from iceberg_spark.scan.plan import ScanPlan
from iceberg_spark.spec import types as t
from iceberg_spark.spec.partition import PartitionField, PartitionSpec
from iceberg_spark.spec.transforms import (
    TimeTransform,
    UnknownTransform,
    VoidTransform,
    can_transform,
)


def is_small(plan: ScanPlan) -> bool:
    """Return whether a plan has a condition, and so few rows that their keys are read for it."""
    of = plan.metrics
    is_short = of.total_file_size_in_bytes <= JOINS.read_bytes
    return is_short and of.total_record_count <= JOINS.rows and leaves_out_rows(plan)


def is_large(plan: ScanPlan) -> bool:
    """Return whether reading fewer of a plan's files pays for reading keys."""
    is_long = len(plan) >= JOINS.files
    return is_long and plan.metrics.total_file_size_in_bytes >= JOINS.pruned_bytes


def can_prune(plan: ScanPlan, column: t.NestedField, key: t.NestedField) -> bool:
    """Return whether keys of another table tell a plan's files: by partitions of the column."""
    return (
        column.field_type == key.field_type
        and isinstance(column.field_type, COMPARABLE)
        and any(_parts(spec, column) for spec in plan.context.specs.values())
    )


def keys_of(plan: ScanPlan, key: t.NestedField) -> pa.Array:
    """Return the distinct values of a plan's rows, without null.

    Raises what reading files raises.
    """
    return read_keys(plan, [key]).keys[0]


def with_keys(plan: ScanPlan, column: t.NestedField, keys: pa.Array) -> ScanPlan | None:
    """Return a plan of the files whose partitions may hold one of the keys; None if all may.

    Its metrics count them.
    """
    rows = np.flatnonzero(_may_hold(plan, column, keys))
    return None if len(rows) == len(plan) else _with_files(plan, rows)


def _may_hold(plan: ScanPlan, column: t.NestedField, keys: pa.Array) -> npt.NDArray[np.bool_]:
    if not len(keys):
        return np.zeros(len(plan), np.bool_)
    places = plan.files.column("partition_index").to_numpy()
    specs = plan.files.column("spec_id").to_numpy()
    stay = np.ones(len(plan), np.bool_)
    first = 0
    for part in plan.partitions:
        own = (places >= first) & (places < first + len(part.tuples))
        if own.any():
            spec = plan.context.specs[int(specs[own][0])]
            for source_field in _parts(spec, column):
                numbers = [partition_field.field_id for partition_field in part.kind.fields]
                values = part.tuples.field(numbers.index(source_field.field_id))
                holds = _holds(values, source_field, column.field_type, keys)
                stay[own] &= holds[places[own] - first]
        first += len(part.tuples)
    return stay


def _parts(spec: PartitionSpec, column: t.NestedField) -> list[PartitionField]:
    """Return the fields of a spec that are made from a column alone."""
    return [
        part
        for part in spec.fields
        if part.source_ids == (column.field_id,)
        and not isinstance(part.transform, VoidTransform | UnknownTransform)
        and can_transform(part.transform, column.field_type)
    ]


def _holds(
    values: Any, part: PartitionField, kind: t.IcebergType, keys: pa.Array
) -> npt.NDArray[np.bool_]:
    """Return which partition values some key has. A null is no key's: null equals nothing."""
    partition_keys = pc.unique(apply_transform(part.transform, kind, keys))
    if isinstance(part.transform, TimeTransform):
        # Java up to 0.10 rounded moments before 1970 up (ProjectionUtil.fixInclusiveTimeProjection)
        numbers = partition_keys.cast(pa.int32())
        later = pc.add(numbers.filter(pc.less(numbers, 0)), pa.scalar(1, pa.int32()))
        partition_keys = pa.concat_arrays([numbers, later])
        values = values.cast(pa.int32())
    holds = pc.is_in(values.cast(partition_keys.type), partition_keys)
    return np.asarray(holds.to_numpy(zero_copy_only=False), np.bool_)


def _with_files(plan: ScanPlan, rows: npt.NDArray[np.int64]) -> ScanPlan:
    some, of = plan.subset(rows), plan.metrics
    size = _sum(some.files.column("file_size_in_bytes"))
    metrics = replace(
        of,
        result_data_files=len(some),
        skipped_files_by_partition=of.skipped_files_by_partition + len(plan) - len(some),
        total_file_size_in_bytes=size,
        skipped_file_size_in_bytes=of.skipped_file_size_in_bytes
        + of.total_file_size_in_bytes
        - size,
        total_record_count=_sum(some.files.column("record_count")),
    )
    return replace(some, metrics=metrics)


def _sum(numbers: Iterable[Any]) -> int:
    return int(pc.sum(numbers).as_py() or 0)


_joined = BoundedCache(JOINS.kept_bytes)


@dataclass(frozen=True, slots=True, eq=False)
class _Side:
    """A plan of a join, and which of its columns is joined by.

    Plans are the same whose tables of files are: these are kept as long as this is, and no plan has
    those of a plan by another filter. `storage` may hold secrets.
    """

    files: pa.Table
    context: ScanContext
    field_id: int
    storage: Mapping[str, str] = field(repr=False)

    @classmethod
    def of(cls, plan: ScanPlan, column: t.NestedField) -> Self:
        return cls(plan.files, plan.context, column.field_id, dict(plan.context.io.properties))

    def __hash__(self) -> int:
        return hash((id(self.files), self.field_id))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, _Side)
            and self.files is other.files
            and self.field_id == other.field_id
            and self.storage == other.storage
            and self.context == other.context
        )


@dataclass(frozen=True, slots=True)
class JoinedPlan:
    """The files of a plan that may hold one of so many keys; `plan` is None where all may."""

    plan: ScanPlan | None
    keys: int


def joined_plan(
    plan: ScanPlan, column: t.NestedField, other: ScanPlan, key: t.NestedField
) -> JoinedPlan:
    """Return what is left of a plan's files by the keys of another plan's rows.

    The keys are read, unless both plans were joined so before: files never change. Raises what
    reading files raises.
    """
    sides = _Side.of(plan, column), _Side.of(other, key)

    def sized() -> tuple[Any, int]:
        keys = keys_of(other, key)
        fewer = with_keys(plan, column, keys)
        held = (plan, other) if fewer is None else (plan, other, fewer)
        size = JOINS.kept_plan_bytes + sum(held_plan.files.nbytes for held_plan in held)
        return JoinedPlan(fewer, len(keys)), size

    joined: JoinedPlan = _joined.get_or_load(sides, sized)
    if joined.plan is None:
        return joined
    return replace(joined, plan=replace(joined.plan, context=plan.context))
