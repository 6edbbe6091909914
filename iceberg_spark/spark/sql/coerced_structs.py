"""Structs of a merge's source that lack fields of the table's, if the session lets them.

Spark calls this coercion: `UPDATE SET *` then sets the fields that the source has, and leaves the
others as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import SparkSession

from iceberg_spark.spark.adapt.type_text import type_text
from iceberg_spark.spark.adapt.types import to_spark
from iceberg_spark.spec.quoted_name import quoted
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.types import NestedField, StructType

_SETTING = "spark.sql.mergeNestedTypeCoercion.enabled"


@dataclass(frozen=True, slots=True)
class CoercedStructs:
    """What `*` of a merge sets; the aliases are those of its source and its target.

    A source that lacks columns is left to the merge, unless the merge `evolves` the schema.
    """

    source: Schema
    table: Schema
    source_alias: str
    target_alias: str
    case_sensitive: bool
    evolves: bool

    def updates(self) -> dict[str, str] | None:
        """Return what `UPDATE SET *` sets; None if no struct lacks fields: then `*` stands."""
        return self._values(self.target_alias)

    def inserts(self) -> dict[str, str] | None:
        """Return what `INSERT *` gives, with NULL for fields that the source lacks.

        None if no struct lacks fields, and unless the schema evolves, as in Spark.
        """
        return self._values(None) if self.evolves else None

    def _values(self, target: str | None) -> dict[str, str] | None:
        given = {self._spelt(field.name): field for field in self.source.fields}
        pairs = [(given.get(self._spelt(field.name)), field) for field in self.table.fields]
        found = [(mine, field) for mine, field in pairs if mine is not None]
        is_refused = len(found) < len(pairs) and not self.evolves
        if is_refused or not any(self._differ(mine, field) for mine, field in found):
            return None
        return {
            field.name: self._value(
                mine, field, quoted(self.source_alias), None if target is None else quoted(target)
            )
            for mine, field in found
        }

    @property
    def _spelt(self) -> Callable[[str], str]:
        return str if self.case_sensitive else str.lower

    def _differ(self, given: NestedField, wanted: NestedField) -> bool:
        """Return whether both are structs, and have other fields at any depth."""
        if not isinstance(given.field_type, StructType):
            return False
        if not isinstance(wanted.field_type, StructType):
            return False
        inner = {self._spelt(field.name): field for field in given.field_type.fields}
        theirs = {self._spelt(field.name): field for field in wanted.field_type.fields}
        return inner.keys() != theirs.keys() or any(
            self._differ(field, theirs[name]) for name, field in inner.items()
        )

    def _value(
        self, given: NestedField, wanted: NestedField, source: str, target: str | None
    ) -> str:
        """Return a column or field of the source, with the target's fields that it lacks."""
        mine = f"{source}.{quoted(given.name)}"
        if not self._differ(given, wanted):
            return mine
        theirs = None if target is None else f"{target}.{quoted(wanted.name)}"
        fields = ", ".join(self._fields(given, wanted, mine, theirs))
        empty = f"{mine} IS NULL" if theirs is None else f"{mine} IS NULL AND {theirs} IS NULL"
        return f"CASE WHEN {empty} THEN NULL ELSE struct({fields}) END"

    def _fields(
        self, given: NestedField, wanted: NestedField, source: str, target: str | None
    ) -> list[str]:
        inner = {self._spelt(one.name): one for one in _struct(given).fields}
        found = []
        for field in _struct(wanted).fields:
            mine = inner.get(self._spelt(field.name))
            if mine is not None:
                value = self._value(mine, field, source, target)
            elif target is not None:
                value = f"{target}.{quoted(field.name)}"
            else:
                (kind,) = to_spark(Schema(field)).fields
                value = f"CAST(NULL AS {type_text(kind.dataType)})"
            found.append(f"{value} AS {quoted(field.name)}")
        return found


def coerces_structs(spark: SparkSession) -> bool:
    """Return whether structs of a merge's source may lack fields."""
    return str(spark.conf.get(_SETTING, "false")).lower() == "true"


def _struct(field: NestedField) -> StructType:
    if not isinstance(field.field_type, StructType):
        raise TypeError(f"{field.name} is not a struct")
    return field.field_type
