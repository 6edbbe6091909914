"""Structs in the source of a merge that lack fields of the table, if the session allows them.

Spark calls this coercion: `UPDATE SET *` sets the fields that the source has, and leaves the
others unchanged.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import SparkSession

from iceberg_spark.spark.adapt.types import to_spark, type_text
from iceberg_spark.spec.quoted_name import quote
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.types import NestedField, StructType

_SETTING = "spark.sql.mergeNestedTypeCoercion.enabled"


@dataclass(frozen=True, slots=True)
class StructCoercion:
    """The assignments of `*` in a merge; the aliases are those of its source and its target.

    The merge itself handles a source that lacks columns, unless it `evolves` the schema.
    """

    source: Schema
    table: Schema
    source_alias: str
    target_alias: str
    case_sensitive: bool
    evolves: bool

    def updates(self) -> dict[str, str] | None:
        """Return the assignments of `UPDATE SET *`; None if no struct lacks fields: `*` stays."""
        return self._values(self.target_alias)

    def inserts(self) -> dict[str, str] | None:
        """Return the values of `INSERT *`, with NULL for fields that the source lacks.

        None if no struct lacks fields or the schema does not evolve, as in Spark.
        """
        return self._values(None) if self.evolves else None

    def _values(self, target: str | None) -> dict[str, str] | None:
        by_name = {self._spelt(field.name): field for field in self.source.fields}
        pairs = [(by_name.get(self._spelt(field.name)), field) for field in self.table.fields]
        matches = [(mine, field) for mine, field in pairs if mine is not None]
        is_refused = len(matches) < len(pairs) and not self.evolves
        if is_refused or not any(self._differ(mine, field) for mine, field in matches):
            return None
        return {
            field.name: self._value(
                mine, field, quote(self.source_alias), None if target is None else quote(target)
            )
            for mine, field in matches
        }

    @property
    def _spelt(self) -> Callable[[str], str]:
        return str if self.case_sensitive else str.lower

    def _differ(self, source: NestedField, target: NestedField) -> bool:
        """Return whether both are structs with different fields at any depth."""
        if not isinstance(source.field_type, StructType):
            return False
        if not isinstance(target.field_type, StructType):
            return False
        inner = {self._spelt(field.name): field for field in source.field_type.fields}
        theirs = {self._spelt(field.name): field for field in target.field_type.fields}
        return inner.keys() != theirs.keys() or any(
            self._differ(field, theirs[name]) for name, field in inner.items()
        )

    def _value(
        self, source_field: NestedField, target_field: NestedField, source: str, target: str | None
    ) -> str:
        """Return a column or field of the source, with the fields of the target that it lacks."""
        mine = f"{source}.{quote(source_field.name)}"
        if not self._differ(source_field, target_field):
            return mine
        theirs = None if target is None else f"{target}.{quote(target_field.name)}"
        fields = ", ".join(self._fields(source_field, target_field, mine, theirs))
        empty = f"{mine} IS NULL" if theirs is None else f"{mine} IS NULL AND {theirs} IS NULL"
        return f"CASE WHEN {empty} THEN NULL ELSE struct({fields}) END"

    def _fields(
        self, source_field: NestedField, target_field: NestedField, source: str, target: str | None
    ) -> list[str]:
        inner = {self._spelt(child.name): child for child in _struct(source_field).fields}
        fields = []
        for field in _struct(target_field).fields:
            mine = inner.get(self._spelt(field.name))
            if mine is not None:
                value = self._value(mine, field, source, target)
            elif target is not None:
                value = f"{target}.{quote(field.name)}"
            else:
                (kind,) = to_spark(Schema(field)).fields
                value = f"CAST(NULL AS {type_text(kind.dataType)})"
            fields.append(f"{value} AS {quote(field.name)}")
        return fields


def coerces_structs(spark: SparkSession) -> bool:
    """Return whether structs in the source of a merge may lack fields."""
    return str(spark.conf.get(_SETTING, "false")).lower() == "true"


def _struct(field: NestedField) -> StructType:
    if not isinstance(field.field_type, StructType):
        raise TypeError(f"{field.name} is not a struct")
    return field.field_type
