"""A column's default as a user gives it, in canonical form (specification, "Default values")."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np

from iceberg_spark.errors import IcebergError, InvalidSchemaError
from iceberg_spark.expr.coerce import Exact, coerce
from iceberg_spark.expr.nodes import BoundReference
from iceberg_spark.spec import types as t
from iceberg_spark.spec.nearest import did_you_mean, name_list

NEVER = (t.UnknownType, t.VariantType, t.GeometryType, t.GeographyType)
"""Types whose columns default to null only."""


def default_value(column: str, kind: t.IcebergType, value: object) -> Any:
    """Return a user's default as a canonical value (`spec.json_values`) of the column's type.

    A timestamp without zone is UTC for an instant. The default of a struct is {}: its fields have
    their own. Raises InvalidSchemaError naming the column.
    """
    match kind:
        case _ if value is None:
            return None
        case _ if isinstance(kind, NEVER):
            raise InvalidSchemaError(f"Column '{column}' of type {kind} can't have a default")
        case t.StructType():
            return _struct(column, kind, value)
        case t.ListType() if isinstance(value, Sequence) and not isinstance(value, str | bytes):
            return tuple(
                _part(f"{column}.element", kind.element_field, element) for element in value
            )
        case t.MapType() if isinstance(value, Mapping):
            return tuple(
                (
                    _part(f"{column}.key", kind.key_field, key),
                    _part(f"{column}.value", kind.value_field, part),
                )
                for key, part in value.items()
            )
        case _:
            return _primitive(column, kind, value)


def struct_with_defaults(
    column: str, kind: t.StructType, defaults: Mapping[str, object]
) -> t.StructType:
    """Return a new struct whose fields have the defaults of a mapping by name.

    Raises InvalidSchemaError naming an unknown field, or as `default_value` does.
    """
    names = [field.name for field in kind.fields]
    for name in defaults:
        if name not in names:
            raise InvalidSchemaError(
                f"The default of '{column}' has a field '{name}'; the struct has: "
                f"{name_list(names)}{did_you_mean(str(name), names)}"
            )
    return t.StructType(
        *(
            with_default(field, defaults[field.name], f"{column}.")
            if field.name in defaults
            else field
            for field in kind.fields
        )
    )


def with_default(field: t.NestedField, default: object, above: str = "") -> t.NestedField:
    """Return a new column with a default; that of a struct consists of its fields' defaults.

    Raises InvalidSchemaError as `default_value` does; `above` is the path before its name.
    """
    path, kind, value = f"{above}{field.name}", field.field_type, default
    if isinstance(kind, t.StructType) and isinstance(value, Mapping):
        kind, value = struct_with_defaults(path, kind, value), {}
    canonical = default_value(path, kind, value)
    return replace(field, field_type=kind, initial_default=canonical, write_default=canonical)


def _part(path: str, field: t.NestedField, value: object) -> Any:
    if value is None and field.required:
        raise InvalidSchemaError(f"The default has a null in '{path}', which is required")
    return default_value(path, field.field_type, value)


def _struct(column: str, kind: t.StructType, value: object) -> tuple[()]:
    if value not in ({}, ()):
        raise InvalidSchemaError(
            f"The default of struct '{column}' is {{}} or null, not {value!r}: set the defaults of "
            "its fields"
        )
    for field in kind.fields:
        if field.required and field.write_default is None:
            raise InvalidSchemaError(
                f"Struct '{column}' can't have a default: its field '{field.name}' is required "
                "and has none"
            )
    return ()


def _primitive(column: str, kind: t.IcebergType, value: object) -> Any:
    literal = value.item() if isinstance(value, np.generic) else value
    match kind, literal:
        case ((t.FloatType() | t.DoubleType()), int() | float() | Decimal()) if not _is_bool(
            literal
        ):
            return _floating(column, kind, float(literal))
        case t.DecimalType(), float() if math.isfinite(literal):
            literal = Decimal(repr(literal))  # 0.1 means the decimal, not the nearest double
        case _:
            pass
    try:
        coerced = coerce(BoundReference(0, kind, False, column), literal, "UTC")
    except IcebergError as cause:
        raise _unfit(column, kind, value) from cause
    if not isinstance(coerced, Exact):
        raise _unfit(column, kind, value)
    return coerced.value


def _floating(column: str, kind: t.IcebergType, value: float) -> float:
    """Return the nearest value of the type; JSON has only finite numbers."""
    with np.errstate(over="ignore"):
        near = float(np.float32(value)) if isinstance(kind, t.FloatType) else value
    if not math.isfinite(near):
        raise InvalidSchemaError(
            f"Default {value!r} of column '{column}' can't be stored: JSON has finite numbers only"
        )
    return near


def _is_bool(value: object) -> bool:
    return isinstance(value, bool)


def _unfit(column: str, kind: t.IcebergType, value: object) -> InvalidSchemaError:
    return InvalidSchemaError(f"Default {value!r} of column '{column}' is not a {kind}")
