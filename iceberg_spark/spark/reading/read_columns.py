"""The columns of a relation over Spark's Parquet reader: what it is asked for, what it gives."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - as PySpark's users write it
from pyspark.sql import types as s

from iceberg_spark.scan.context import ScanContext
from iceberg_spark.spark.adapt.quoted import quoted
from iceberg_spark.spark.adapt.types import to_spark
from iceberg_spark.spark.reading.asked_columns import has_floats
from iceberg_spark.spark.reading.default_text import default_text
from iceberg_spark.spark.reading.footer_columns import HIDDEN, FileColumns
from iceberg_spark.spark.reading.frame_type import nullable
from iceberg_spark.spark.reading.predicate_column import literal
from iceberg_spark.spec import types as t
from iceberg_spark.spec.schema import Schema

FIELD_ID = "parquet.field.id"


@dataclass(frozen=True, slots=True)
class ReadColumns:
    """How one group's columns are read.

    `isolated`: by id is by id, no setting can turn it off. `names` are physical names by field id
    for files without ids, None for files with ids; `constants` are canonical values by field id.
    `unproven` are top-level columns that no filter may be pushed down on.
    """

    context: ScanContext
    isolated: bool
    names: Mapping[int, str] | None
    constants: Mapping[int, Any]
    unproven: Collection[int] = ()

    def type(self, fields: Sequence[t.NestedField]) -> s.StructType:
        """Return the schema that Spark's reader gets: field ids everywhere, defaults at the top."""
        plain = to_spark(Schema(*(_binary_for_uuid(field) for field in fields)))
        made = []
        for field, shown in zip(fields, plain.fields, strict=True):
            if isinstance(field.field_type, t.UnknownType):
                continue
            metadata = self._id(field)
            if field.initial_default is not None:
                text = default_text(field.field_type, field.initial_default)
                metadata |= {"EXISTS_DEFAULT": text, "CURRENT_DEFAULT": text}
            hidden = self._is_hidden(field)
            kind = self._nested(shown.dataType, field.field_type, hidden)
            made.append(s.StructField(self._name(field, hidden), kind, True, metadata))
        return s.StructType(made)

    def column(self, field: t.NestedField) -> Column:
        """Return a column of the relation, so that only filters that may be are pushed down."""
        if isinstance(field.field_type, t.UnknownType):
            return F.lit(None)
        (shown,) = nullable(to_spark(Schema(_binary_for_uuid(field)))).fields
        if field.field_id in self.constants:
            value = self.constants[field.field_id]
            return (
                F.lit(None).cast(shown.dataType)
                if value is None
                else literal(field.field_type, value)
            )
        hidden = self._is_hidden(field)
        column = F.col(self.given_name(field))
        return (
            column
            if hidden and not t.child_fields(field.field_type)
            else self._shielded(field, column, shown.dataType, hidden)
        )

    def given_name(self, field: t.NestedField) -> str:
        """Return under which name, quoted, a relation has a column of the files."""
        return quoted(self._name(field, self._is_hidden(field)))

    def is_as_read(self, field: t.NestedField) -> bool:
        """Return whether `column` is what Spark's reader gives, whatever it is called there."""
        if field.field_id in self.constants or isinstance(field.field_type, _MADE):
            return False
        if t.child_fields(field.field_type):
            return not self._is_hidden(field) and not self._is_whole(field)
        return self._is_hidden(field) or not self._misleads(field)

    def _misleads(self, field: t.NestedField) -> bool:
        """Return whether a column must be kept from filters, a nested one from pruning too."""
        return field.field_id in self.unproven or has_floats(field)

    def _shielded(
        self, field: t.NestedField, column: Column, kind: s.DataType, hidden: bool
    ) -> Column:
        if t.child_fields(field.field_type):
            if self._is_whole(field) and not hidden:
                # Spark looks neither for filters nor for unused fields behind a condition.
                column = F.when(column.isNotNull(), column)
            # Behind a cast neither; this one changes names only, or nothing and is dropped.
            return column.cast(kind) if hidden or self._is_whole(field) else column
        if isinstance(field.field_type, _FLOATS):
            # Statistics leave NaN out; no filter goes through this.
            return F.nanvl(column, F.lit(float("nan")).cast(kind))
        # No filter goes through this either, and it is the column itself.
        return F.greatest(column, column) if self._misleads(field) else column

    def _is_whole(self, field: t.NestedField) -> bool:
        return self._misleads(field) or (self.names is not None and self._is_renamed(field))

    def _is_renamed(self, field: t.NestedField) -> bool:
        """Return whether files without ids have some field inside a column under another name."""
        return any(
            self._name(child, hidden=False) != child.name or self._is_renamed(child)
            for child in _members(field.field_type)
        )

    def _is_hidden(self, field: t.NestedField) -> bool:
        """Return whether a top-level column is asked for by a name that no file has.

        Such a name can't mislead. Where reading by id can be turned off (`isolated` is False) it
        would find nothing, so there the name stays and `column` shields it.
        """
        if self.names is not None:
            return field.field_id not in self.names
        was_dropped = self.context.table_schema.get(field.field_id) is None
        return was_dropped or (self.isolated and self._misleads(field))

    def _name(self, field: t.NestedField, hidden: bool) -> str:
        if hidden:
            return f"{HIDDEN}{field.field_id}"
        if self.names is None:
            return field.name
        return self.names.get(field.field_id, f"{HIDDEN}{field.field_id}")

    def _id(self, field: t.NestedField) -> dict[str, Any]:
        return {FIELD_ID: field.field_id} if self.names is None else {}

    def _nested(self, kind: s.DataType, iceberg: t.IcebergType, hidden: bool) -> s.DataType:
        """Return the type with ids on struct fields, which is where Spark's reader looks at them.

        With `hidden` their names are made from the ids too.
        """
        match kind, iceberg:
            case s.StructType(fields=fields), t.StructType():
                inner = []
                for shown, f in zip(fields, iceberg.fields, strict=True):
                    below = self._nested(shown.dataType, f.field_type, hidden)
                    name = self._name(f, hidden)
                    inner.append(s.StructField(name, below, True, self._id(f)))
                return s.StructType(inner)
            case s.ArrayType(), t.ListType():
                element = self._nested(kind.elementType, iceberg.element_type, hidden)
                return s.ArrayType(element, True)
            case s.MapType(), t.MapType():
                key = self._nested(kind.keyType, iceberg.key_type, hidden)
                value = self._nested(kind.valueType, iceberg.value_type, hidden)
                return s.MapType(key, value, True)
            case _:
                return kind


def read_columns(context: ScanContext, isolated: bool, found: FileColumns) -> ReadColumns:
    """Return how the columns of files are read in which they lie as `found`."""
    names = None if found.names is None else dict(found.names)
    return ReadColumns(context, isolated, names, dict(found.constants), found.unproven)


_FLOATS = (t.FloatType, t.DoubleType)
_MADE = (t.UUIDType, t.UnknownType)


def _members(kind: t.IcebergType) -> tuple[t.NestedField, ...]:
    """Return the named fields in a type, those of structs in lists and maps too."""
    match kind:
        case t.StructType(fields=fields):
            return fields
        case _:
            return tuple(
                child for part in t.child_fields(kind) for child in _members(part.field_type)
            )


def _binary_for_uuid(field: t.NestedField) -> t.NestedField:
    if not isinstance(field.field_type, t.UUIDType):
        return field
    return t.NestedField(field.field_id, field.name, t.FixedType(16))
