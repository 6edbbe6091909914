"""The columns of a DataFrame as the table's, by Spark: `write.align_batches` does it in Arrow."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql import types as s

from iceberg_spark.spark.adapt.many_columns import by_position, plain, rename_columns, select_as
from iceberg_spark.spark.adapt.types import to_spark, type_text, write_default_text
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.types import NestedField, StructType

FIELD_ID = "parquet.field.id"
"""The field metadata by which Spark's Parquet writer knows a column's field id."""


def table_frame(frame: DataFrame, schema: Schema, *, case_sensitive: bool) -> DataFrame:
    """Return a frame's columns as the table's, with field ids and no other metadata.

    `write.aligned.check_columns` must have accepted the frame's type: casts only widen here, and
    missing columns of the table have their write defaults, else null. Spark does all of it in one
    step by a type that it is given; names in structs are made the table's before, for it would
    match them by the session's rule.
    """
    frame_type = frame.schema
    names_in_frame = _Names.of(frame_type.fields, case_sensitive)
    texts = {plain(index): plain(index) for index in range(len(frame_type.fields))}
    fields = []
    for number, field in enumerate(schema.fields):
        index = names_in_frame.index(field.name)
        name = f"missing{number}" if index is None else plain(index)
        fields.append(s.StructField(name, _type(field), True, _metadata(field)))
        if index is not None:
            texts[name] = _as_named(name, frame_type.fields[index], field, case_sensitive)
        elif field.write_default is not None:
            texts[name] = write_default_text(field)
    rows = by_position(frame)
    if list(texts.values()) != rows.columns:
        rows = select_as(rows, list(texts.values()), list(texts))
    names = [field.name for field in schema.fields]
    return _with_inner_ids(rows.to(s.StructType(fields)), fields, names)


def source_column(
    schema: Schema, field_id: int, struct: s.StructType, *, case_sensitive: bool
) -> Column | None:
    """Return a table column as a frame named `by_position` has it, None if it lacks it."""
    fields: Sequence[s.StructField] = struct.fields
    column: Column | None = None
    for step in schema.path_ids(field_id):
        index = _Names.of(fields, case_sensitive).index(schema.find_field(step).name)
        if index is None:
            return None
        column = sf.col(plain(index)) if column is None else column.getField(fields[index].name)
        kind = fields[index].dataType
        fields = kind.fields if isinstance(kind, s.StructType) else ()
    return column


def _with_inner_ids(
    rows: DataFrame, fields: Sequence[s.StructField], names: Sequence[str]
) -> DataFrame:
    """Return rows under names, structs cast to the types they have, which holds the ids in them.

    Spark rebuilds a struct as "NULL, or its fields", and forgets the fields' metadata where its
    optimizer finds that a field is never NULL. No optimizer takes a cast to other metadata away.
    """
    structs = {
        field.name: sf.col(field.name)
        .cast(field.dataType)
        .alias(f"ids_{field.name}", metadata=field.metadata)
        for field in fields
        if isinstance(field.dataType, s.StructType)
    }
    if not structs:
        return rename_columns(rows, names)
    # Over Connect `withColumns` would forget the metadata of its columns.
    held = [f"ids_{field.name}" if field.name in structs else field.name for field in fields]
    return select_as(rows.select("*", *structs.values()), held, names)


@dataclass(frozen=True, slots=True)
class _Names:
    """Where fields are by their names; the first of several in lower case."""

    exact: Mapping[str, int]
    lower: Mapping[str, int]

    @classmethod
    def of(cls, fields: Iterable[s.StructField], case_sensitive: bool) -> _Names:
        names = [field.name for field in fields]
        backwards = [(name, index) for index, name in enumerate(names)][::-1]
        lower = {} if case_sensitive else {name.lower(): index for name, index in backwards}
        return cls(dict(backwards), lower)

    def index(self, name: str) -> int | None:
        position = self.exact.get(name)
        return self.lower.get(name.lower()) if position is None else position


def _as_named(name: str, column: s.StructField, field: NestedField, case_sensitive: bool) -> str:
    """Return a column, with the table's names in it and nothing that says more about it."""
    if isinstance(field.field_type, StructType) and isinstance(column.dataType, s.StructType):
        shown = _with_names(column.dataType, field.field_type, case_sensitive)
        if shown != column.dataType:
            return f"cast({name} as {type_text(shown)})"
    # Any expression but a name has no metadata; the optimizer leaves the name of this one.
    return f"case when true then {name} end" if column.metadata else name


def _with_names(frame_type: s.StructType, kind: StructType, case_sensitive: bool) -> s.StructType:
    names_in_frame = _Names.of(frame_type.fields, case_sensitive)
    names = {names_in_frame.index(field.name): field for field in kind.fields}
    fields = []
    for index, frame_field in enumerate(frame_type.fields):
        field, inner = names.get(index), frame_field.dataType
        if field and isinstance(field.field_type, StructType) and isinstance(inner, s.StructType):
            inner = _with_names(inner, field.field_type, case_sensitive)
        fields.append(
            s.StructField(field.name if field else frame_field.name, inner, frame_field.nullable)
        )
    return s.StructType(fields)


def _type(field: NestedField) -> s.DataType:
    """Return the Spark type of a field, with the field ids of what is inside."""
    match field.field_type:
        case StructType(fields=fields):
            return s.StructType(
                [
                    s.StructField(inner.name, _type(inner), True, _metadata(inner))
                    for inner in fields
                ]
            )
        case _:
            return to_spark(Schema(field)).fields[0].dataType


def _metadata(field: NestedField) -> dict[str, Any]:
    return {FIELD_ID: field.field_id}
