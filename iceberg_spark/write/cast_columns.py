"""One primitive column of the caller's data as the table's type; only lossless casts."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from iceberg_spark.arrow.arrays import Step, plain
from iceberg_spark.arrow.promote import storage_type
from iceberg_spark.arrow.schema import to_arrow_type
from iceberg_spark.arrow.uuid_text import uuid_bytes
from iceberg_spark.errors import InvalidInputError, InvalidSchemaError
from iceberg_spark.spec import types as t

_Accepts = Callable[[pa.DataType], bool]
_MICROS_OF_DAY = 86_400_000_000
_INTS = (pa.int8(), pa.int16(), pa.int32(), pa.uint8(), pa.uint16())


def _is(*kinds: pa.DataType) -> _Accepts:
    return lambda kind: kind in kinds


def _text(kind: pa.DataType) -> bool:
    return bool(pt.is_string(kind) or pt.is_large_string(kind) or pt.is_string_view(kind))


def _bytes(kind: pa.DataType) -> bool:
    return bool(
        pt.is_binary(kind)
        or pt.is_large_binary(kind)
        or pt.is_binary_view(kind)
        or pt.is_fixed_size_binary(kind)
    )


def _uuid(kind: pa.DataType) -> bool:
    return _text(kind) or _bytes(kind)


def _zoned(kind: pa.DataType) -> bool:
    return bool(pt.is_timestamp(kind) and kind.tz is not None)


def _naive(kind: pa.DataType) -> bool:
    return bool(pt.is_timestamp(kind) and kind.tz is None)


_ACCEPTED: Mapping[type, _Accepts] = {
    t.BooleanType: _is(pa.bool_()),
    t.IntegerType: _is(*_INTS),
    t.LongType: _is(*_INTS, pa.int64(), pa.uint32()),
    t.FloatType: _is(pa.float16(), pa.float32()),
    t.DoubleType: _is(pa.float16(), pa.float32(), pa.float64()),
    t.DateType: pt.is_date,
    t.TimeType: pt.is_time,
    t.TimestampType: _naive,
    t.TimestamptzType: _zoned,
    t.TimestampNanoType: _naive,
    t.TimestamptzNanoType: _zoned,
    t.StringType: _text,
    t.BinaryType: _bytes,
    t.FixedType: _bytes,
    t.UUIDType: _uuid,
    t.GeometryType: _bytes,
    t.GeographyType: _bytes,
}
_SQL: Mapping[type, str] = {
    t.IntegerType: "int",
    t.LongType: "bigint",
    t.TimestampType: "timestamp_ntz",
    t.TimestamptzType: "timestamp",
    t.FixedType: "binary",
    t.UUIDType: "string",
}


def cast_step(kind: pa.DataType, expected: t.IcebergType, column: str) -> Step | None:
    """Return the conversion of a column to the table's type, None if there is nothing to do.

    Raises InvalidSchemaError naming the column, both types and a suitable cast. The step
    raises InvalidInputError for a value that the table's type can't represent exactly.
    """
    target = to_arrow_type(expected, column)
    if kind == target and not isinstance(expected, t.TimeType):
        return None
    if not pt.is_null(storage_type(kind)) and not _accepted(storage_type(kind), expected):
        raise InvalidSchemaError(
            f"Column '{column}' is {expected} in the table and {kind} in the data; "
            f"{_advice(kind, expected, column)}"
        )

    def convert(array: pa.Array) -> pa.Array:
        try:
            return _convert(array, target, expected)
        except (pa.ArrowInvalid, InvalidInputError) as cause:
            raise InvalidInputError(
                f"Column '{column}' has a value that {expected} can't represent: {cause}"
            ) from cause

    return convert


def _accepted(kind: pa.DataType, expected: t.IcebergType) -> bool:
    if isinstance(expected, t.DecimalType):
        digits = expected.precision - expected.scale
        return bool(
            pt.is_decimal(kind)
            and 0 <= kind.scale <= expected.scale
            and kind.precision - kind.scale <= digits
        )
    accepts = _ACCEPTED.get(type(expected))
    return accepts is not None and accepts(kind)


def _advice(kind: pa.DataType, expected: t.IcebergType, column: str) -> str:
    if isinstance(expected, t.TimestamptzType | t.TimestamptzNanoType) and pt.is_timestamp(kind):
        return f"set the zone of its values: cast('{column}' as timestamp)"
    name = _SQL.get(type(expected), str(expected).replace(" ", ""))
    return f"cast it: cast({column} as {name})"


def _convert(array: pa.Array, target: pa.DataType, expected: t.IcebergType) -> pa.Array:
    array = plain(array)
    if pt.is_null(array.type):
        return pa.nulls(len(array), target)
    if isinstance(expected, t.TimeType):
        return _times_of_day(array.cast(target))
    if array.type == target:
        return array
    if isinstance(expected, t.UUIDType) and _text(array.type):
        return uuid_bytes(array)
    if pt.is_fixed_size_binary(target) and not pt.is_binary(array.type):
        array = array.cast(pa.binary())  # from binary the next cast checks lengths
    if pt.is_timestamp(target):
        # Only the unit is converted: an instant is the same number in every zone.
        return array.cast(pa.timestamp(target.unit, array.type.tz)).view(target)
    return array.cast(target)


def _times_of_day(array: pa.Array) -> pa.Array:
    """Return times, checked to be before 24:00:00: Arrow's type holds any microseconds."""
    ends = pc.min_max(array.view(pa.int64()))
    for end in (ends["min"].as_py(), ends["max"].as_py()):
        if end is not None and not 0 <= end < _MICROS_OF_DAY:
            raise InvalidInputError(f"{end} microseconds from midnight are not a time of day")
    return array
