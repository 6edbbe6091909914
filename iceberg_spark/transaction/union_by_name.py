"""A table's schema with the columns of other rows added, matched by name.

Rules: specification, "Schema Evolution"; Java: UnionByNameVisitor.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeAlias

from iceberg_spark.errors import InvalidSchemaError
from iceberg_spark.spec.fresh_ids import assign_fresh_ids
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.types import (
    DecimalType,
    DoubleType,
    FloatType,
    IcebergType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StructType,
)

_Fields: TypeAlias = tuple[NestedField, ...]


def union_by_name(
    current: Schema, other: Schema, *, last_column_id: int, case_sensitive: bool = True
) -> Schema:
    """Return the current schema with what `other` has and it lacks.

    New columns, nested ones too, come last in their struct, are optional, and get ids above
    `last_column_id`, the highest that the table ever gave. An int becomes a long, a float a
    double, a decimal a wider one where `other` has that; a column that `other` has as optional
    becomes optional. The ids in `other` do not matter.

    Raises InvalidSchemaError naming the column for types that can't be brought together, and for
    an identifier column that would become optional.
    """
    union = _Union(current, last_column_id, case_sensitive)
    fields = union.fields(current.fields, other.fields, "")
    if fields == current.fields:
        return current
    return Schema(
        *fields,
        schema_id=current.schema_id,
        identifier_field_ids=current.identifier_field_ids,
        extra=current.extra,
    )


class _Union:
    """The walk over both schemas; counts the ids that it gives."""

    def __init__(self, current: Schema, last_column_id: int, case_sensitive: bool) -> None:
        self._identifiers = frozenset(current.identifier_field_ids)
        self._last_id = last_column_id
        self._case_sensitive = case_sensitive

    def fields(self, have: _Fields, more: _Fields, path: str) -> _Fields:
        found = {self._key(field.name): place for place, field in enumerate(have)}
        result = list(have)
        for field in more:
            place = found.get(self._key(field.name))
            if place is None:
                found[self._key(field.name)] = len(result)
                result.append(self._new(field))
            else:
                result[place] = self._both(result[place], field, path)
        return tuple(result)

    def _key(self, name: str) -> str:
        return name if self._case_sensitive else name.lower()

    def _new(self, field: NestedField) -> NestedField:
        fresh = assign_fresh_ids(
            Schema(replace(field, required=False)), last_column_id=self._last_id
        )
        self._last_id = fresh.highest_field_id
        return fresh.fields[0]

    def _both(self, have: NestedField, more: NestedField, path: str) -> NestedField:
        name = f"{path}{have.name}"
        required = have.required and more.required
        if have.required and not required and have.field_id in self._identifiers:
            raise InvalidSchemaError(
                f"Column '{name}' identifies rows and can't become optional; the rows may hold "
                "nulls there"
            )
        return replace(have, required=required, field_type=self._type(have, more, name))

    def _type(self, have: NestedField, more: NestedField, name: str) -> IcebergType:
        match have.field_type, more.field_type:
            case StructType(fields=mine), StructType(fields=others):
                return StructType(*self.fields(mine, others, f"{name}."))
            case ListType() as mine, ListType() as other:
                element = self._both(mine.element_field, other.element_field, f"{name}.")
                return ListType(mine.element_id, element.field_type, element.required)
            case MapType() as mine, MapType() as other:
                key = self._both(mine.key_field, other.key_field, f"{name}.")
                if key.field_type != mine.key_type:
                    raise InvalidSchemaError(f"The keys of map '{name}' can't change their type")
                value = self._both(mine.value_field, other.value_field, f"{name}.")
                return replace(mine, value_type=value.field_type, value_required=value.required)
            case mine, other if mine == other or is_promotion(other, mine):
                return mine
            case mine, other if is_promotion(mine, other):
                return other
            case mine, other:
                raise InvalidSchemaError(
                    f"Column '{name}' is {mine} in the table and {other} in the rows: no type "
                    "holds both; cast the rows"
                )


def is_promotion(narrow: IcebergType, wide: IcebergType) -> bool:
    """Return whether a column may change from one primitive type to the other in v1 and v2."""
    match narrow, wide:
        case (IntegerType(), LongType()) | (FloatType(), DoubleType()):
            return True
        case DecimalType() as less, DecimalType() as more:
            return less.scale == more.scale and less.precision < more.precision
        case _:
            return False
