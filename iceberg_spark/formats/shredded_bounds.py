"""Bounds of the fields that a Parquet file has shredded, gathered while it is written.

A field has bounds where all of its values are in its own column, variants' nulls aside, and none
is NaN. Source: specification, "Bounds for Variant"; Java's ParquetMetrics.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from iceberg_spark.arrow.arrays import extremes, struct_children
from iceberg_spark.arrow.variant.bounds import Keys, encoded_bounds
from iceberg_spark.arrow.variant.encode import NULL, encode
from iceberg_spark.arrow.variant.shred import ShredPlan, shred_column, shred_plan
from iceberg_spark.formats.metrics import lower_bound, upper_bound
from iceberg_spark.formats.metrics_modes import MetricsMode
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.types import StringType, VariantType


@dataclass(slots=True)
class _Field:
    """The state of one field: [least, greatest], or that it has no bounds."""

    extremes: pa.Array | None = None
    has_bounds: bool = True


@dataclass(slots=True)
class ShreddedBounds:
    """Folds shredded tables into the bounds of one file's variant columns."""

    columns: ShreddedColumns
    stored: Schema
    modes: Mapping[int, MetricsMode]
    _fields: dict[tuple[int, str], _Field] = field(default_factory=dict)

    def add(self, table: pa.Table) -> None:
        """Add the rows of a table that `columns` shredded."""
        for index in self.columns.plans:
            if not self._mode(index).has_bounds:
                continue
            for chunk in table.column(index).chunks:
                _, _, typed = struct_children(chunk)
                for shredded_field, pair in zip(typed.type, typed.flatten(), strict=True):
                    _fold(self._fields.setdefault((index, shredded_field.name), _Field()), pair)

    def finish(self) -> tuple[dict[int, bytes], dict[int, bytes]]:
        """Return the lower and the upper bounds by column id."""
        lower: dict[int, bytes] = {}
        upper: dict[int, bytes] = {}
        for index in self.columns.plans:
            bounds = self._bounds(index)
            if bounds is not None:
                field_id = self.stored.fields[index].field_id
                lower[field_id], upper[field_id] = bounds
        return lower, upper

    def _mode(self, index: int) -> MetricsMode:
        return self.modes[self.stored.fields[index].field_id]

    def _bounds(self, index: int) -> tuple[bytes, bytes] | None:
        lower: dict[Keys, bytes] = {}
        upper: dict[Keys, bytes] = {}
        for (own, key), bounds_of_key in self._fields.items():
            if own != index or bounds_of_key.extremes is None or not bounds_of_key.has_bounds:
                continue
            least, most = _cut(bounds_of_key.extremes, self._mode(index).width)
            lower[(key,)] = least
            if most is not None:
                upper[(key,)] = most
        return encoded_bounds(lower, upper)


def _fold(field: _Field, pair: pa.StructArray) -> None:
    if not field.has_bounds:
        return
    rest, values = pair.flatten()
    others = pc.not_equal(rest, pa.scalar(NULL, rest.type))
    if pc.any(others).as_py() or (pt.is_floating(values.type) and _has_nan(values)):
        field.has_bounds = False
        return
    if values.null_count == len(values):
        return
    ends = _least_and_most(values)
    if field.extremes is not None:
        ends = _least_and_most(pa.concat_arrays([field.extremes, ends]))
    field.extremes = ends


def _has_nan(values: pa.Array) -> bool:
    return bool(pc.any(pc.is_nan(values)).as_py())


def _least_and_most(values: pa.Array) -> pa.Array:
    if pt.is_floating(values.type):
        return pa.array(extremes(values), values.type)
    min_max = pc.min_max(values)
    return pa.array([min_max["min"], min_max["max"]], values.type)


def _cut(ends: pa.Array, width: int | None) -> tuple[bytes, bytes | None]:
    """Return extremes as encoded values, texts truncated; None without an upper bound."""
    if pt.is_string(ends.type):
        least, most = ends.to_pylist()
        high = upper_bound(StringType(), most, width)
        cut = [lower_bound(StringType(), least, width).decode(), high and high.decode()]
        ends = pa.array(cut, ends.type)
    values: list[Any] = encode(ends).to_pylist()
    return values[0], values[1]


@dataclass(frozen=True, slots=True)
class ShreddedColumns:
    """How a file's variants are laid out: plans by the places of top-level columns."""

    target: pa.Schema
    plans: Mapping[int, ShredPlan]

    def apply(self, table: pa.Table) -> pa.Table:
        """Return the rows with those columns shredded."""
        for index, plan in self.plans.items():
            chunks = [shred_column(chunk, plan) for chunk in table.column(index).chunks]
            column = pa.chunked_array(chunks, plan.kind)
            table = table.set_column(index, table.field(index).with_type(plan.kind), column)
        return table


def shredded_columns(
    table: pa.Table, stored: Schema, target: pa.Schema, sample_rows: int
) -> ShreddedColumns:
    """Return the layout inferred from the first rows of a file, at most `sample_rows` of them.

    Raises CorruptFileError for a value that is not a variant.
    """
    plans = {}
    for index, column in enumerate(stored.fields):
        if isinstance(column.field_type, VariantType):
            first = table.column(index).slice(0, sample_rows).combine_chunks()
            plan = shred_plan(first)
            if plan is not None:
                plans[index] = plan
                target = target.set(index, target.field(index).with_type(plan.kind))
    return ShreddedColumns(target, plans)
