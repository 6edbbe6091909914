"""Rows of the ledger of changes by key: their meaning and their retention."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.arrow.schema import to_arrow
from iceberg_spark.row_level.cdc_plan import CdcPlan
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.types import DecimalType, IntegerType, LongType, NestedField

SEQUENCE, KIND, NOTED_AT = "__cdc_sequence", "__cdc_kind", "__cdc_at"
LIVE, SAME, DELETED, TRUNCATED = 0, 1, 2, 3
"""What a row of the ledger says: the key's row has this sequence (where the table does not say
it); a change that changed nothing; a delete that no row shows; all rows were deleted."""
COLUMN = 1_000
"""Plus a column's id: the column of the key's row is of the change with this sequence, which is
older than the row, for later changes left it out."""
_SEQUENCE_ID, _KIND_ID, _AT_ID = 2_147_480_000, 2_147_480_001, 2_147_480_002


@dataclass(frozen=True, slots=True)
class Notes:
    """Builds ledger rows at a given time, and decides which rows still apply."""

    plan: CdcPlan
    now_ms: int

    @property
    def about(self) -> str:
        """A description of the keys and the order of the ledger, which must not change."""
        kind = self.plan.sequence_type
        order = f"decimal of scale {kind.scale}" if isinstance(kind, DecimalType) else str(kind)
        keys = ", ".join(str(field.field_id) for field in self.plan.keys)
        return f"type {2 if self.plan.history else 1}, key columns {keys}, by {order}"

    @property
    def schema(self) -> Schema:
        """The columns of the ledger: the key's, optional, and its own."""
        keys = [NestedField(f.field_id, f.name, f.field_type) for f in self.plan.keys]
        return Schema(
            *keys,
            NestedField(_SEQUENCE_ID, SEQUENCE, self.plan.sequence_type),
            NestedField(_KIND_ID, KIND, IntegerType()),
            NestedField(_AT_ID, NOTED_AT, LongType()),
        )

    def remembered(self, rows: pa.RecordBatch | pa.Table) -> Any:
        """Return the mask of rows that still apply; those of live rows always do."""
        young = pc.greater(rows.column(NOTED_AT), self.now_ms - self.plan.retention_ms)
        return pc.or_(young, pc.equal(rows.column(KIND), LIVE))

    def note(self, keys: pa.Table, sequence: pa.Array, kinds: Any) -> pa.Table:
        """Return rows of the ledger."""
        count = len(sequence)
        columns = [*keys.columns, sequence, pa.array(kinds, pa.int32())]
        columns.append(pa.array(np.full(count, self.now_ms), pa.int64()))
        names = [*keys.column_names, SEQUENCE, KIND, NOTED_AT]
        return pa.table(columns, names=names).cast(to_arrow(self.schema))

    def truncation(self, sequence: pa.Scalar) -> pa.Table:
        """Return the row of a truncation."""
        none = [pa.nulls(1, field.type) for field in to_arrow(Schema(*self.plan.keys))]
        keys = pa.table(none, names=list(self.plan.key_names))
        return self.note(keys, pa.array([sequence.as_py()], sequence.type), [TRUNCATED])
