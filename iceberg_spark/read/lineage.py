"""Row ids and numbers of last updates of rows (specification: "Row Lineage Assignment")."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.spec import reserved

Array: TypeAlias = Any  # pyarrow ships no types


@dataclass(frozen=True, slots=True)
class FileLineage:
    """What rows of a data file inherit: ids from its first one on, and its sequence number."""

    first_row_id: int | None
    data_sequence_number: int

    def of(self, field_id: int, own: Array, positions: npt.NDArray[np.int64]) -> Array:
        """Return a lineage column of rows at some positions; `own` is what the file says of it.

        In a file without a first row id both are null, whatever it says: it belongs to a snapshot
        from before the table's upgrade.
        """
        if self.first_row_id is None:
            return pa.nulls(len(positions), pa.int64())
        if not own.null_count:
            return own
        if field_id == reserved.ROW_ID_ID:
            return pc.coalesce(own, pa.array(positions + self.first_row_id))
        return pc.fill_null(own, pa.scalar(self.data_sequence_number, pa.int64()))
