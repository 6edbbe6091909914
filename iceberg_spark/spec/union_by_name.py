"""The columns of another schema added to an update, matched by name (Java: UnionByNameVisitor)."""

from __future__ import annotations

from iceberg_spark.errors import InvalidSchemaError
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.schema_evolution import SchemaUpdate, can_promote
from iceberg_spark.spec.types import (
    BinaryType,
    FixedType,
    IcebergType,
    ListType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestampNanoType,
    TimestampType,
    TimestamptzNanoType,
    TimestamptzType,
    UUIDType,
)

_STORED_AS = {
    UUIDType: StringType,
    FixedType: BinaryType,
    TimestampNanoType: TimestampType,
    TimestamptzNanoType: TimestamptzType,
}
"""Iceberg types without an equivalent in Spark, and the types of their values there.

Java: SparkFixupTypes.
"""


def add_union(update: SchemaUpdate, other: Schema, *, of_rows: bool = False) -> None:
    """Add the columns and types of `other` that the table lacks to an update.

    New columns, nested ones too, are added last in their struct and are optional; a struct's
    own are added after those nested in it. Where `other` is wider, types are widened; where its
    columns are optional, columns become optional; its docs replace those of the table. Narrower
    types and required columns change nothing. Ids in `other` don't matter. With `of_rows`,
    `other` describes rows to be stored, so a string column may hold a uuid. Raises
    InvalidSchemaError naming the column for types without a common type, and for an identifier
    column that would become optional.
    """
    _Union(update, of_rows).struct(update.schema.fields, other.fields, None)


class _Union:
    """The walk over both schemas."""

    def __init__(self, update: SchemaUpdate, of_rows: bool) -> None:
        self._update = update
        self._of_rows = of_rows
        self._schema = update.schema

    def struct(
        self, have: tuple[NestedField, ...], more: tuple[NestedField, ...], parent: str | None
    ) -> None:
        """Merge the fields of two structs; nested fields first."""
        by_name = {self._key(field.name): field for field in have}
        pairs = [(by_name.get(self._key(field.name)), field) for field in more]
        for mine, theirs in pairs:
            if mine is not None:
                self._below(mine, theirs)
        for mine, theirs in pairs:
            if mine is None:
                self._add(parent, theirs)
            else:
                self._field(mine, theirs)

    def _add(self, parent: str | None, field: NestedField) -> None:
        kind, default = field.field_type, field.initial_default
        self._update.add_column(parent, field.name, kind, doc=field.doc, default=default)
        if field.write_default != default:
            name = field.name if parent is None else f"{parent}.{field.name}"
            self._update.update_default(name, field.write_default)

    def _below(self, mine: NestedField, theirs: NestedField) -> None:
        match mine.field_type, theirs.field_type:
            case StructType(fields=have), StructType(fields=more):
                self.struct(have, more, self._name(mine))
            case ListType() as current, ListType() as other:
                self._below(current.element_field, other.element_field)
                self._field(current.element_field, other.element_field)
            case MapType() as current, MapType() as other:
                self._below(current.key_field, other.key_field)
                self._below(current.value_field, other.value_field)
                self._field(current.key_field, other.key_field)
                self._field(current.value_field, other.value_field)
            case _:
                pass

    def _field(self, mine: NestedField, theirs: NestedField) -> None:
        name = self._name(mine)
        if theirs.optional and mine.required:
            if mine.field_id in self._schema.identifier_field_ids:
                raise InvalidSchemaError(
                    f"Column '{name}' identifies rows and can't become optional; the rows may "
                    "hold nulls there"
                )
            self._update.make_optional(name)
        self._type(mine.field_type, theirs.field_type, name)
        if theirs.doc is not None:
            self._update.update_doc(name, theirs.doc)
        if theirs.write_default is not None:
            self._update.update_default(name, theirs.write_default)

    def _type(self, mine: IcebergType, theirs: IcebergType, name: str) -> None:
        version = self._update.format_version
        same_kind = isinstance(mine, StructType | ListType | MapType) and type(mine) is type(theirs)
        stored = _STORED_AS.get(type(mine)) if self._of_rows else None
        if stored is not None and isinstance(theirs, stored):
            return
        if same_kind or mine == theirs or can_promote(theirs, mine, version):
            return
        if not can_promote(mine, theirs, version):
            raise InvalidSchemaError(
                f"Column '{name}' is {mine} in the table and {theirs} in the rows: no type holds "
                "both; cast the rows"
            )
        self._update.update_type(name, theirs)

    def _name(self, field: NestedField) -> str:
        return self._schema.find_column_name(field.field_id) or field.name

    def _key(self, name: str) -> str:
        return name if self._update.case_sensitive else name.lower()


def union_by_name(
    current: Schema,
    other: Schema,
    *,
    last_column_id: int,
    case_sensitive: bool = True,
    format_version: int = 2,
) -> Schema:
    """Return the current schema plus the columns of `other` that it lacks, as in `add_union`.

    Ids are above `last_column_id`, the highest that the table ever gave. Returns `current`
    itself when nothing is new.
    """
    update = SchemaUpdate(
        current, last_column_id, format_version=format_version, case_sensitive=case_sensitive
    )
    add_union(update, other, of_rows=True)
    return update.apply()
