"""The type of a frame, the same whichever engine fills it."""

from __future__ import annotations

from typing import TypeVar

from pyspark.sql.types import ArrayType, DataType, MapType, StructField, StructType

T = TypeVar("T", bound=DataType)


def nullable(kind: T) -> T:
    """Return the type with everything in it nullable, names and comments kept.

    Spark's file sources make every column nullable, whatever schema they are given, and there is
    no expression that says otherwise and lets filters through. Both engines say the same.
    """
    match kind:
        case StructType(fields=fields):
            inner = [StructField(f.name, nullable(f.dataType), True, f.metadata) for f in fields]
            return StructType(inner)  # type: ignore[return-value]
        case ArrayType(elementType=element):
            return ArrayType(nullable(element), True)  # type: ignore[return-value]
        case MapType(keyType=key, valueType=value):
            return MapType(nullable(key), nullable(value), True)  # type: ignore[return-value]
        case _:
            return kind
