"""A frame's columns as the table's, in Spark expressions: what `write.aligned` does in Arrow."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql import types as s

from iceberg_spark.spark.adapt.default_text import write_default_text
from iceberg_spark.spark.adapt.many_columns import by_position, named, plain, renamed
from iceberg_spark.spark.adapt.type_text import type_text
from iceberg_spark.spark.adapt.types import to_spark
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
    given = frame.schema
    found = _Names.of(given.fields, case_sensitive)
    texts = {plain(place): plain(place) for place in range(len(given.fields))}
    wanted = []
    for number, field in enumerate(schema.fields):
        place = found.place(field.name)
        name = f"missing{number}" if place is None else plain(place)
        wanted.append(s.StructField(name, _type(field), True, _metadata(field)))
        if place is not None:
            texts[name] = _as_named(name, given.fields[place], field, case_sensitive)
        elif field.write_default is not None:
            texts[name] = write_default_text(field)
    rows = by_position(frame)
    if list(texts.values()) != rows.columns:
        rows = named(rows, list(texts.values()), list(texts))
    names = [field.name for field in schema.fields]
    return _with_inner_ids(rows.to(s.StructType(wanted)), wanted, names)


def source_column(
    schema: Schema, field_id: int, struct: s.StructType, *, case_sensitive: bool
) -> Column | None:
    """Return a table column as a frame named `by_position` has it, None if it lacks it."""
    fields: Sequence[s.StructField] = struct.fields
    column: Column | None = None
    for step in schema.path_ids(field_id):
        place = _Names.of(fields, case_sensitive).place(schema.find_field(step).name)
        if place is None:
            return None
        column = sf.col(plain(place)) if column is None else column.getField(fields[place].name)
        kind = fields[place].dataType
        fields = kind.fields if isinstance(kind, s.StructType) else ()
    return column


def _with_inner_ids(
    rows: DataFrame, wanted: Sequence[s.StructField], names: Sequence[str]
) -> DataFrame:
    """Return rows under names, structs cast to the types they have, which holds the ids in them.

    Spark makes a struct anew as "NULL, or its fields", and forgets the fields' metadata where its
    optimizer finds that a field is never NULL. No optimizer takes a cast to other metadata away.
    """
    structs = {
        each.name: sf.col(each.name)
        .cast(each.dataType)
        .alias(f"ids_{each.name}", metadata=each.metadata)
        for each in wanted
        if isinstance(each.dataType, s.StructType)
    }
    if not structs:
        return renamed(rows, names)
    # Over Connect `withColumns` would forget the metadata of its columns.
    held = [f"ids_{each.name}" if each.name in structs else each.name for each in wanted]
    return named(rows.select("*", *structs.values()), held, names)


@dataclass(frozen=True, slots=True)
class _Names:
    """Where fields are by their names; the first of several in lower case."""

    exact: Mapping[str, int]
    lower: Mapping[str, int]

    @classmethod
    def of(cls, fields: Iterable[s.StructField], case_sensitive: bool) -> _Names:
        names = [field.name for field in fields]
        backwards = [(name, place) for place, name in enumerate(names)][::-1]
        lower = {} if case_sensitive else {name.lower(): place for name, place in backwards}
        return cls(dict(backwards), lower)

    def place(self, name: str) -> int | None:
        found = self.exact.get(name)
        return self.lower.get(name.lower()) if found is None else found


def _as_named(name: str, given: s.StructField, field: NestedField, case_sensitive: bool) -> str:
    """Return a column, with the table's names in it and nothing that says more about it."""
    if isinstance(field.field_type, StructType) and isinstance(given.dataType, s.StructType):
        shown = _with_names(given.dataType, field.field_type, case_sensitive)
        if shown != given.dataType:
            return f"cast({name} as {type_text(shown)})"
    # Any expression but a name has no metadata; the optimizer leaves the name of this one.
    return f"case when true then {name} end" if given.metadata else name


def _with_names(given: s.StructType, kind: StructType, case_sensitive: bool) -> s.StructType:
    found = _Names.of(given.fields, case_sensitive)
    names = {found.place(field.name): field for field in kind.fields}
    made = []
    for place, each in enumerate(given.fields):
        field, inner = names.get(place), each.dataType
        if field and isinstance(field.field_type, StructType) and isinstance(inner, s.StructType):
            inner = _with_names(inner, field.field_type, case_sensitive)
        made.append(s.StructField(field.name if field else each.name, inner, each.nullable))
    return s.StructType(made)


def _type(field: NestedField) -> s.DataType:
    """Return the Spark type of a field, with the field ids of what is inside."""
    match field.field_type:
        case StructType(fields=fields):
            return s.StructType(
                [s.StructField(each.name, _type(each), True, _metadata(each)) for each in fields]
            )
        case _:
            return to_spark(Schema(field)).fields[0].dataType


def _metadata(field: NestedField) -> dict[str, Any]:
    return {FIELD_ID: field.field_id}
