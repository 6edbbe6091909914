"""One primitive column of a file as the type that the table has for it now."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pyarrow as pa
import pyarrow.types as pt

from iceberg_spark.arrow.arrays import Step, plain
from iceberg_spark.arrow.schema import to_arrow_type
from iceberg_spark.errors import CorruptFileError
from iceberg_spark.spec import types as t

_Accepts = Callable[[pa.DataType], bool]


def _is(*kinds: pa.DataType) -> _Accepts:
    return lambda kind: kind in kinds


_SMALL_INTS = (pa.int8(), pa.int16(), pa.int32(), pa.uint8(), pa.uint16())
_INTS = (*_SMALL_INTS, pa.int64(), pa.uint32())


def _bytes_like(kind: pa.DataType) -> bool:
    return bool(
        pt.is_binary(kind)
        or pt.is_large_binary(kind)
        or pt.is_binary_view(kind)
        or pt.is_fixed_size_binary(kind)
    )


def _text_or_bytes(kind: pa.DataType) -> bool:
    text = pt.is_string(kind) or pt.is_large_string(kind) or pt.is_string_view(kind)
    return bool(text or _bytes_like(kind))


def _time(kind: pa.DataType) -> bool:
    # ORC and Avro may store a time as a plain long of microseconds (specification, Appendix A).
    return bool(pt.is_time(kind) or kind == pa.int64())


def _timestamp(kind: pa.DataType) -> bool:
    return bool(pt.is_timestamp(kind) or kind == pa.int64())


def _timestamp_or_date(kind: pa.DataType) -> bool:
    return bool(_timestamp(kind) or pt.is_date(kind))


_READS: Mapping[type, _Accepts] = {
    # Types in a file for a column of the table's type: the type itself in any of Arrow's layouts,
    # and those that the specification ("Schema Evolution") promotes to it.
    t.BooleanType: _is(pa.bool_()),
    t.IntegerType: _is(*_SMALL_INTS),
    t.LongType: _is(*_INTS),
    t.FloatType: _is(pa.float32(), pa.float16()),
    t.DoubleType: _is(pa.float64(), pa.float32(), pa.float16()),
    t.DateType: _is(pa.date32(), pa.date64()),
    t.TimeType: _time,
    t.TimestampType: _timestamp_or_date,
    t.TimestamptzType: _timestamp,
    t.TimestampNanoType: _timestamp_or_date,
    t.TimestamptzNanoType: _timestamp,
    t.StringType: _text_or_bytes,
    t.BinaryType: _text_or_bytes,
    t.FixedType: _bytes_like,
    t.UUIDType: _bytes_like,
    t.GeometryType: _bytes_like,
    t.GeographyType: _bytes_like,
}


_NANOS = (t.TimestampNanoType, t.TimestamptzNanoType)


def leaf_step(kind: pa.DataType, expected: t.IcebergType, column: str, where: str) -> Step | None:
    """Return the conversion of a file's column to the table's type; None if there is nothing to do.

    Casts are checked: a value that doesn't fit (nanoseconds, a date outside the range of
    timestamps) raises CorruptFileError naming the column and `where` (the file). So does a
    type that can't be converted, immediately.
    """
    target = to_arrow_type(expected, column)
    if kind == target and not isinstance(expected, _NANOS):
        return None  # an ORC file's nanoseconds may be microseconds of any year
    if isinstance(expected, t.UnknownType):  # whatever is stored is ignored
        return lambda array: pa.nulls(len(array))
    if not pt.is_null(kind) and not _readable(storage_type(kind), expected):
        raise CorruptFileError(
            f"Column '{column}' of {where} holds {kind}, which can't be read as {expected}"
        )

    def convert(array: pa.Array) -> pa.Array:
        try:
            return _convert(array, target)
        except pa.ArrowInvalid as cause:
            raise CorruptFileError(
                f"Column '{column}' of {where} holds a value that {expected} can't: {cause}"
            ) from cause

    return convert


def storage_type(kind: pa.DataType) -> pa.DataType:
    """Return the type below dictionaries, run ends and extension types."""
    if pt.is_dictionary(kind) or pt.is_run_end_encoded(kind):
        return storage_type(kind.value_type)
    if isinstance(kind, pa.BaseExtensionType):
        return storage_type(kind.storage_type)
    return kind


def _readable(kind: pa.DataType, expected: t.IcebergType) -> bool:
    if isinstance(expected, t.DecimalType):
        same_scale = pt.is_decimal(kind) and kind.scale == expected.scale
        return bool(same_scale and kind.precision <= expected.precision)
    if isinstance(expected, t.FixedType | t.UUIDType) and pt.is_fixed_size_binary(kind):
        return bool(kind == to_arrow_type(expected))
    accepts = _READS.get(type(expected))
    return accepts is not None and accepts(kind)


def _convert(array: pa.Array, target: pa.DataType) -> pa.Array:
    array = plain(array)
    if array.type == target:
        return array
    if pt.is_null(array.type):
        return pa.nulls(len(array), target)
    if pt.is_fixed_size_binary(array.type) and pt.is_string(target):
        array = array.cast(pa.binary())
    if pt.is_fixed_size_binary(target) and not pt.is_binary(array.type):
        array = array.cast(pa.binary())  # lengths are checked by the next cast only from binary
    if pt.is_timestamp(array.type) and pt.is_timestamp(target):
        # The number is the same with and without a zone; INT96 columns never carry one.
        return array.cast(pa.timestamp(target.unit, array.type.tz)).view(target)
    return array.cast(target)
