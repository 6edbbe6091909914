"""The columns that messages of change feeds have: by their schemas, else by their values.

Sources: Debezium, "Data type mappings"; Kafka Connect's logical types.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from itertools import count
from typing import Any

from iceberg_spark.spec import types as t
from iceberg_spark.spec.schema import Schema
from iceberg_spark.write.cdc_values import (
    CONNECT_DECIMAL,
    TIME_UNITS,
    TIMESTAMP_UNITS,
    VARIABLE_DECIMAL,
    Source,
)

_PRIMITIVES: dict[str, t.IcebergType] = {
    "int8": t.IntegerType(),
    "int16": t.IntegerType(),
    "int32": t.IntegerType(),
    "int64": t.LongType(),
    "float": t.FloatType(),
    "float32": t.FloatType(),
    "double": t.DoubleType(),
    "float64": t.DoubleType(),
    "boolean": t.BooleanType(),
    "string": t.StringType(),
    "bytes": t.BinaryType(),
}
_LOGICAL: dict[str, t.IcebergType] = {
    **dict.fromkeys(TIME_UNITS, t.TimeType()),
    **dict.fromkeys(TIMESTAMP_UNITS, t.TimestampType()),
    "io.debezium.time.IsoTime": t.TimeType(),
    "io.debezium.time.IsoTimestamp": t.TimestampType(),
    "io.debezium.time.ZonedTimestamp": t.TimestamptzType(),
    "io.debezium.time.Date": t.DateType(),
    "io.debezium.time.IsoDate": t.DateType(),
    "org.apache.kafka.connect.data.Date": t.DateType(),
    "io.debezium.data.Uuid": t.UUIDType(),
    VARIABLE_DECIMAL: t.StringType(),  # any scale: only text can represent all of them
}
_WIDEST_DECIMAL = 38
_WIDTH: tuple[type, ...] = (t.IntegerType, t.LongType, t.FloatType, t.DoubleType)


class ColumnTypes:
    """Collects the columns of rows; a column with values of several types gets a wider one."""

    def __init__(self, first_id: int = 1) -> None:
        self._types: dict[str, t.IcebergType] = {}
        self._sources: dict[str, Source] = {}
        self._ids = count(first_id)

    def add(self, row: Mapping[str, Any], fields: Iterable[Source]) -> None:
        """Add a row and the fields of its schema, none if the message has no schema."""
        declared = {str(part.get("field")): part for part in fields}
        for name, value in row.items():
            if name.startswith("__"):
                continue
            if name in declared:
                if self._sources.get(name) != declared[name]:
                    self._sources[name] = declared[name]
                    self._add(name, self._declared(declared[name]))
            elif value is not None:
                self._add(name, _of_value(value))

    def schema(self) -> Schema:
        """Return the columns, all of them optional."""
        return Schema(
            *(t.NestedField(next(self._ids), name, kind) for name, kind in self._types.items())
        )

    def _add(self, name: str, kind: t.IcebergType) -> None:
        before = self._types.get(name)
        if before is None or before != kind:
            self._types[name] = kind if before is None else _wider(before, kind)

    def _declared(self, source: Source) -> t.IcebergType:
        name, kind = source.get("name"), str(source.get("type"))
        if name == CONNECT_DECIMAL:
            parameters = source.get("parameters") or {}
            precision = int(parameters.get("connect.decimal.precision", _WIDEST_DECIMAL))
            scale = int(parameters.get("scale", 0))
            is_decimal = 0 <= scale <= precision <= _WIDEST_DECIMAL
            return t.DecimalType(precision, scale) if is_decimal else t.StringType()
        if name in _LOGICAL:
            return _LOGICAL[str(name)]
        if kind == "array":
            return t.ListType(next(self._ids), self._declared(source.get("items") or {}))
        if kind == "map":
            keys, values = source.get("keys") or {}, source.get("values") or {}
            key, value = self._declared(keys), self._declared(values)
            return t.MapType(next(self._ids), key, next(self._ids), value)
        if kind == "struct":
            parts = source.get("fields") or ()
            return t.StructType(
                *(
                    t.NestedField(next(self._ids), str(part["field"]), self._declared(part))
                    for part in parts
                )
            )
        return _PRIMITIVES.get(kind, t.StringType())


def _of_value(value: object) -> t.IcebergType:
    match value:
        case bool():
            return t.BooleanType()
        case int():
            return t.LongType()
        case Decimal():
            return t.DoubleType()
        case _:
            return t.StringType()


def _wider(before: t.IcebergType, kind: t.IcebergType) -> t.IcebergType:
    match before, kind:
        case t.DecimalType(), t.DecimalType():
            scale = max(before.scale, kind.scale)
            digits = max(before.precision - before.scale, kind.precision - kind.scale)
            is_decimal = digits + scale <= _WIDEST_DECIMAL
            return t.DecimalType(digits + scale, scale) if is_decimal else t.StringType()
        case _ if type(before) in _WIDTH and type(kind) in _WIDTH:
            wider = max(before, kind, key=lambda candidate: _WIDTH.index(type(candidate)))
            has_long = t.LongType in (type(before), type(kind))
            return t.DoubleType() if has_long and isinstance(wider, t.FloatType) else wider
        case _:
            return t.StringType()
