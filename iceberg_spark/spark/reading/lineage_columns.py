"""Row ids and last updated sequence numbers (specification: "Row Lineage Assignment").

A row has its own if its file stores them. Otherwise it inherits them by its file and its position.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - as PySpark's users write it

from iceberg_spark.spark.deletes.files_with_deletes import FileKey
from iceberg_spark.spark.deletes.row_position import ROW_INDEX, or_raise
from iceberg_spark.spark.reading.column_plan import ColumnPlan, Origin, PlannedColumn
from iceberg_spark.spark.reading.read_columns import read_column
from iceberg_spark.spark.session.expressions import expression
from iceberg_spark.spec import reserved

_FIRST, _SEQUENCE = "__iceberg_first_row_id", "__iceberg_data_sequence"
_COLUMNS = {_FIRST: "first_row_id", _SEQUENCE: "data_sequence_number"}


@dataclass(frozen=True, slots=True)
class Lineage:
    """What the rows of a group inherit: `same` for all files, `by_file` for each file."""

    same: Mapping[str, int | None]
    by_file: Mapping[str, Any]

    def of(self, column: PlannedColumn) -> Column:
        """Return a lineage column, NULL for files without a first row id."""
        first = self._text(_FIRST)
        is_id = column.field.field_id == reserved.ROW_ID_ID
        inherited = f"{first} + {or_raise(ROW_INDEX, 'bigint')}" if is_id else self._text(_SEQUENCE)
        lineage = expression(inherited)
        if column.requested is not None:
            lineage = F.coalesce(read_column(column), lineage)
        return lineage if self._has_first() else F.when(expression(f"{first} is not null"), lineage)

    def _has_first(self) -> bool:
        """Return whether every file has a first row id."""
        if _FIRST in self.same:
            return self.same[_FIRST] is not None
        return not self.by_file[_FIRST].null_count

    def _text(self, name: str) -> str:
        if name in self.by_file:
            return name
        value = self.same[name]
        return "cast(null as bigint)" if value is None else f"{value}L"


def lineage_of(columns: ColumnPlan, files: pa.Table) -> Lineage:
    """Return what the rows of a group inherit, nothing if no lineage column is read."""
    if not columns.has(Origin.LINEAGE):
        return Lineage({}, {})
    same, by_file = {}, {}
    for name, column in _COLUMNS.items():
        values = files.column(column).combine_chunks()
        distinct = pc.unique(values)
        if len(distinct) == 1:
            same[name] = distinct[0].as_py()
        else:
            by_file[name] = values
    return Lineage(same, by_file)


def asks_places(columns: ColumnPlan) -> bool:
    """Return whether rows need their positions in their files, for `_pos` or for row ids."""
    return any(
        column.origin is Origin.POSITION
        or (column.origin is Origin.LINEAGE and column.field.field_id == reserved.ROW_ID_ID)
        for column in columns.shown
    )


def file_key_of(files: pa.Table) -> FileKey:
    """Return by what a row of these files tells its file: by size where all differ."""
    sizes = files.column("file_size_in_bytes")
    return "file_size" if pc.count_distinct(sizes).as_py() == len(files) else "file_path"
