"""The stored state of keys, and the effect of changes on it: values shared by both engines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from iceberg_spark.row_level.cdc_frames import Longs
from iceberg_spark.spec.reserved import ROW_ID


@dataclass(frozen=True, slots=True)
class KeyState:
    """What a table and its ledger store for the keys of some changes.

    `rows` are the table's: keys and sequence, for a history all columns, with row ids if the table
    keeps them. `ledger` has the ledger's columns; `truncated_at` comes from the ledger too.
    """

    rows: pa.Table
    ledger: pa.Table
    truncated_at: Any = None


@dataclass(frozen=True, slots=True)
class Decision:
    """The effect of some changes.

    `gone` are rows of `KeyState.rows` to delete, by position. `rows` are to be written, with row
    ids if the table keeps them. `notes` go to the ledger. The counts are rows.
    """

    gone: Longs
    rows: pa.Table
    notes: pa.Table
    inserted: int = 0
    updated: int = 0
    deleted: int = 0

    @property
    def is_empty(self) -> bool:
        """Whether nothing changes."""
        return not (len(self.gone) or self.rows.num_rows or self.notes.num_rows)


def with_row_ids(rows: pa.Table, stored: pa.Table, indices: pa.Array) -> pa.Table:
    """Return rows with the ids of known rows at positions (NULL: a new row), if there are ids."""
    if ROW_ID.name not in stored.column_names:
        return rows
    return rows.append_column(ROW_ID.name, stored.column(ROW_ID.name).take(indices))
