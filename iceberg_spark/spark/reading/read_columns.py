"""A `ColumnPlan` as Spark's read schema, and the columns above it, row lineage included."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - as PySpark's users write it
from pyspark.sql import types as s

from iceberg_spark.spark.adapt.types import default_text, nullable, to_spark
from iceberg_spark.spark.deletes.files_with_deletes import FileKey
from iceberg_spark.spark.deletes.per_file_values import ROW_INDEX, or_raise
from iceberg_spark.spark.reading.column_plan import ColumnPlan, Origin, PlannedColumn, Shield
from iceberg_spark.spark.reading.predicate_column import literal
from iceberg_spark.spark.session.expressions import expression
from iceberg_spark.spec import reserved
from iceberg_spark.spec import types as t
from iceberg_spark.spec.quoted_name import quote
from iceberg_spark.spec.schema import Schema

FIELD_ID = "parquet.field.id"


def relation_type(columns: ColumnPlan) -> s.StructType:
    """Return the schema for Spark's reader, with field ids, and defaults at the top level.

    A column without a shield has no ids inside: in all files its nested names find what ids would.
    Its type is the DataFrame's own. With ids the types would differ when the optimizer removes the
    empty first member of a union: it identifies a column by its id and type, and a semi or anti
    join by a nested field failed with an assertion.
    """
    every = [
        column
        for column in (*columns.read, *columns.keys)
        if column.origin not in {Origin.NOTHING, Origin.IDENTITY}
    ]
    requested_columns = [
        (column, column.requested) for column in every if column.requested is not None
    ]
    plain = nullable(to_spark(Schema(*(requested for _, requested in requested_columns))))
    fields = []
    for (column, field), shown in zip(requested_columns, plain.fields, strict=True):
        metadata = _id(field) if columns.by_id else {}
        if field.initial_default is not None:
            text = default_text(field.field_type, field.initial_default)
            metadata |= {"EXISTS_DEFAULT": text, "CURRENT_DEFAULT": text}
        by_id = columns.by_id and column.shield is not Shield.NONE
        kind = _with_ids(shown.dataType, field.field_type) if by_id else shown.dataType
        fields.append(s.StructField(field.name, kind, True, metadata))
    return s.StructType(fields)


def given_name(column: PlannedColumn) -> str:
    """Return the quoted name of a file's column in the relation."""
    return quote(_requested_field(column).name)


def read_column(column: PlannedColumn) -> Column:
    """Return a column of the relation, shielded from filters that must not be pushed down.

    UUIDs are 16 bytes.
    """
    match column.origin:
        case Origin.NOTHING:
            return F.lit(None)
        case Origin.CONSTANT if column.value is None:
            return F.lit(None).cast(_type(column))
        case Origin.CONSTANT:
            return literal(column.field.field_type, column.value)
        case _:
            return _shielded(F.col(given_name(column)), column)


def _shielded(values: Column, column: PlannedColumn) -> Column:
    match column.shield:
        case Shield.NONE:
            return values
        case Shield.NAN:
            return F.nanvl(values, F.lit(float("nan")).cast(_type(column)))
        case Shield.LEAF:
            return F.greatest(values, values)  # the column itself, behind a function
        case Shield.ROOT:
            # Spark pushes neither filters nor pruning through a condition.
            return F.when(values.isNotNull(), values).cast(_type(column))
        case Shield.RENAMED:
            # Nor behind a cast that changes names; one that changes nothing is dropped.
            return values.cast(_type(column))


def _type(column: PlannedColumn) -> s.DataType:
    """Return the type of a column with the table's names."""
    is_nested = t.child_fields(column.field.field_type)
    (shown,) = nullable(
        to_spark(Schema(column.field if is_nested else _requested_field(column)))
    ).fields
    return shown.dataType


def _requested_field(column: PlannedColumn) -> t.NestedField:
    if column.requested is None:
        raise ValueError(f"'{column.field.name}' is not a column of files")
    return column.requested


def _id(field: t.NestedField) -> dict[str, Any]:
    return {FIELD_ID: field.field_id}


def _with_ids(kind: s.DataType, iceberg: t.IcebergType) -> s.DataType:
    """Return the type with ids on struct fields, where Spark's reader looks for them."""
    match kind, iceberg:
        case s.StructType(fields=fields), t.StructType():
            inner = [
                s.StructField(f.name, _with_ids(f.dataType, field.field_type), True, _id(field))
                for f, field in zip(fields, iceberg.fields, strict=True)
            ]
            return s.StructType(inner)
        case s.ArrayType(), t.ListType():
            return s.ArrayType(_with_ids(kind.elementType, iceberg.element_type), True)
        case s.MapType(), t.MapType():
            return s.MapType(
                _with_ids(kind.keyType, iceberg.key_type),
                _with_ids(kind.valueType, iceberg.value_type),
                True,
            )
        case _:
            return kind


# Row ids and last updated sequence numbers (specification: "Row Lineage Assignment").
#
# A row has its own if its file stores them. Otherwise it inherits them by its file and its
# position.

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
