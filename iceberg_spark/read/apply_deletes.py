"""Which rows of a batch are deleted, as masks."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from iceberg_spark.read.key_set import Mask
from iceberg_spark.read.load_deletes import TaskDeletes


def deleted_rows(
    deletes: TaskDeletes, first_row: int, rows: int, columns: Mapping[int, pa.Array]
) -> Mask | None:
    """Return which of `rows` rows from position `first_row` on are deleted, None for none.

    `columns` holds the key columns of the rows by field id.
    """
    deleted: Mask | None = deletes.positions.mask(first_row, rows)
    for equality in deletes.equality:
        matched = equality.deleted(columns)
        if matched.any():
            deleted = matched if deleted is None else deleted | matched
    return deleted
