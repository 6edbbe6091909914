"""What a table should hold, kept row by row: the rules of deletes without any reader of deletes.

Rows are told apart by the column `n`, which never changes. Where a row came to lie (file,
position, partition) is asked of the table right after it was written.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from iceberg_spark import Table
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.types import StructType

NUMBER = "n"
Place = tuple[int, tuple[Any, ...]]
"""A partition: the id of its spec and its tuple."""


@dataclass(slots=True)
class Row:
    """A row as it was written, by field id, and where it lies."""

    values: dict[int, Any]
    sequence: int = 0
    file: str = ""
    position: int = -1
    place: Place = (0, ())
    live: bool = True

    def value(self, table: Schema, name: str) -> Any:
        """The value of a column, NULL where a struct around it is NULL or the row is older."""
        value = None
        for step, field_id in enumerate(table.path_ids(table.find_field(name).field_id)):
            held = self.values if step == 0 else value
            value = None if held is None else held.get(field_id)
        return value


@dataclass(slots=True)
class RowModel:
    """All rows that were ever written, by `n`."""

    rows: dict[int, Row] = field(default_factory=dict)
    known: bool = True  # false where files came in without field ids

    def write(self, table: Table, given: pa.Table) -> None:
        """Rows were appended, as the newest snapshot says."""
        fields = {one.name: one for one in table.schema().fields}
        for row in given.to_pylist():
            values = {fields[name].field_id: _by_id(fields[name], v) for name, v in row.items()}
            self.rows[row[NUMBER]] = Row(values)
        self._find(table)

    def _find(self, table: Table) -> None:
        sequence = table.current_snapshot().sequence_number
        scan = table.scan(selected_fields=(NUMBER,), metadata_columns=("_file", "_pos"))
        places = {t.file_path: (t.spec_id, t.partition) for t in scan.plan_files()}
        for found in scan.to_arrow().to_pylist():
            row = self.rows.get(found[NUMBER])
            if row is not None and not row.file:
                row.sequence, row.file, row.position = sequence, found["_file"], found["_pos"]
                row.place = places[row.file]

    def live(self) -> list[Row]:
        return [row for row in self.rows.values() if row.live]

    def delete(self, gone: Callable[[Row], bool]) -> None:
        """Rows are deleted by what they hold or by where they lie."""
        for row in self.live():
            row.live = not gone(row)

    def delete_equal(
        self, table: Table, names: list[str], keys: list[dict[str, Any]], place: Place | None
    ) -> None:
        """Older rows with such keys are deleted, in one partition or, without one, everywhere."""
        schema, sequence = table.schema(), table.current_snapshot().sequence_number
        doomed = {tuple(repr(key[name]) for name in names) for key in keys}
        self.delete(
            lambda row: (
                row.sequence < sequence
                and place in {None, row.place}
                and tuple(repr(row.value(schema, name)) for name in names) in doomed
            )
        )

    def expected(self, schema: Schema) -> list[str]:
        """The rows that a scan with this schema gives, as sorted text."""
        return sorted(
            repr({f.name: shown(f, row.values.get(f.field_id)) for f in schema.fields})
            for row in self.live()
        )


def found(schema: Schema, rows: pa.Table) -> list[str]:
    """What was read, as `RowModel.expected` puts it."""
    fields = schema.fields
    return sorted(
        repr({f.name: shown(f, _by_id(f, row[f.name])) for f in fields}) for row in rows.to_pylist()
    )


def _by_id(one: Any, value: Any) -> Any:
    """Structs by the ids of their fields; everything else as it is."""
    if value is None or not isinstance(one.field_type, StructType):
        return value
    return {f.field_id: _by_id(f, value[f.name]) for f in one.field_type.fields}


def shown(one: Any, value: Any) -> Any:
    """A value such that equal ones are equal: structs by the names of the fields wanted."""
    if value is None or not isinstance(one.field_type, StructType):
        return value
    return {f.name: shown(f, value.get(f.field_id)) for f in one.field_type.fields}
