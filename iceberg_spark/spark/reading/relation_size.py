"""What a relation that reads some columns of its files says of its size: Spark joins by that.

A relation of three columns of forty that claimed its files' bytes would not be broadcast.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.spark.reading.column_plan import ColumnPlan
from iceberg_spark.spec import types as t
from iceberg_spark.spec.schema import Schema

_LEAST_ROW_BYTES = 8
"""Bytes of a row without columns, of which a broadcast would still have all."""
_TEXT_BYTES, _BINARY_BYTES, _VARIANT_BYTES = 20, 100, 2048
"""Bytes of a value (Spark: `DataType.defaultSize`)."""


_LOOSE = (t.StringType, t.BinaryType, t.VariantType, t.GeometryType, t.GeographyType)


def row_bytes(columns: ColumnPlan, schema: Schema, files: pa.Table) -> float:
    """Return how many bytes a row of a relation takes, as Java says it of a scan.

    Where the files have more bytes a row than all columns should take, texts and the like are that
    much longer: who reads them reads these bytes. `files` are rows of FILES_SCHEMA.
    Java: `SparkSchemaUtil.estimateSize`.
    """
    read = [one.asked for one in (*columns.read, *columns.keys) if one.asked is not None]
    some = _leaves({one.field_id: one.field_type for one in read}.values())
    every = _leaves([one.field_type for one in schema.fields])
    return max(_LEAST_ROW_BYTES, _sum(some, _longer(every, files)))


@dataclass(frozen=True, slots=True)
class _Leaf:
    """The bytes of a value as Spark estimates them; `is_loose` if it may have any number."""

    width: int
    is_loose: bool


def _longer(every: list[_Leaf], files: pa.Table) -> float:
    """Return by how many bytes a loose value is longer than Spark estimates, about."""
    rows = pc.sum(files.column("record_count")).as_py() or 0
    size = pc.sum(files.column("file_size_in_bytes")).as_py() or 0
    loose = sum(leaf.is_loose for leaf in every)
    if not rows or not loose:
        return 0.0
    return max(0.0, (size / rows - _sum(every, 0.0)) / loose)


def _sum(leaves: list[_Leaf], longer: float) -> float:
    return sum(leaf.width + longer * leaf.is_loose for leaf in leaves)


def _leaves(kinds: Iterable[t.IcebergType], *, repeated: bool = False) -> list[_Leaf]:
    """Return the leaves of types; those of lists and maps may be there any number of times."""
    found: list[_Leaf] = []
    for kind in kinds:
        match kind:
            case t.StructType(fields=fields):
                found += _leaves([one.field_type for one in fields], repeated=repeated)
            case t.ListType(element_type=element):
                found += _leaves([element], repeated=True)
            case t.MapType(key_type=key, value_type=value):
                found += _leaves([key, value], repeated=True)
            case _:
                found.append(_Leaf(_width(kind), repeated or isinstance(kind, _LOOSE)))
    return found


def _width(kind: t.IcebergType) -> int:
    """Return the bytes of a value as Spark's own types estimate them."""
    match kind:
        case t.BooleanType() | t.UnknownType():
            return 1
        case t.IntegerType() | t.FloatType() | t.DateType():
            return 4
        case t.DecimalType(precision=precision):
            return 8 if precision <= 18 else 16
        case t.StringType() | t.UUIDType():
            return _TEXT_BYTES
        case t.BinaryType() | t.FixedType():
            return _BINARY_BYTES
        case t.VariantType() | t.GeometryType() | t.GeographyType():
            return _VARIANT_BYTES
        case _:
            return 8
