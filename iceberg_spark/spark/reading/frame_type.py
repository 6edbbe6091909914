"""The type of a DataFrame, which is the same for both engines."""

from __future__ import annotations

from typing import TypeVar

from pyspark.sql.types import ArrayType, DataType, MapType, StructField, StructType

T = TypeVar("T", bound=DataType)


def nullable(kind: T) -> T:
    """Return the type with all fields nullable, and names and comments unchanged.

    Spark's file sources make every column nullable, whatever schema they get. No expression
    restores it and lets filters through, so both engines return nullable columns.
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
