"""The variant columns that a Parquet file shreds, inferred from its first rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

from iceberg_spark.arrow.variant.shred import ShredPlan, shred_plan, shredded
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.types import VariantType


@dataclass(frozen=True, slots=True)
class ShreddedColumns:
    """How a file's variants are laid out: plans by the places of top-level columns."""

    target: pa.Schema
    plans: Mapping[int, ShredPlan]

    def apply(self, table: pa.Table) -> pa.Table:
        """Return the rows with those columns shredded."""
        for index, plan in self.plans.items():
            chunks = [shredded(chunk, plan) for chunk in table.column(index).chunks]
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
    for index, field in enumerate(stored.fields):
        if isinstance(field.field_type, VariantType):
            first = table.column(index).slice(0, sample_rows).combine_chunks()
            plan = shred_plan(first)
            if plan is not None:
                plans[index] = plan
                target = target.set(index, target.field(index).with_type(plan.kind))
    return ShreddedColumns(target, plans)
