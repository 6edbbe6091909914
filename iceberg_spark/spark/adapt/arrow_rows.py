"""Arrow rows as Spark frames, whatever the session's time zone and settings are."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
from pyspark.errors import PySparkTypeError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructField, StructType

from iceberg_spark.errors import InvalidInputError, InvalidSchemaError

_DIGITS = 38
_TYPES: Mapping[pa.DataType, pa.DataType] = {
    pa.uint8(): pa.int32(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.float16(): pa.float32(),
    pa.date64(): pa.date32(),
    pa.time32("s"): pa.time64("us"),
    pa.time32("ms"): pa.time64("us"),
    pa.string_view(): pa.string(),
    pa.binary_view(): pa.binary(),
}
"""What Spark has no type for, and what an append would store it as."""


def frame_of(spark: SparkSession, table: pa.Table) -> DataFrame:
    """Return a frame of an Arrow table; a timestamp without a zone stays one (TIMESTAMP_NTZ).

    By itself Spark takes it for an instant in the session's time zone, which skips some wall
    clocks and repeats others: Arrow refuses these then. Raises InvalidSchemaError naming a column
    that Spark has no type for, InvalidInputError for values that its type can't hold.
    """
    plain = [_plain(name, column) for name, column in zip(table.column_names, table, strict=True)]
    spark_table = pa.Table.from_arrays(plain, names=table.column_names)
    return spark.createDataFrame(
        spark_table, StructType([_spark_field(field) for field in spark_table.schema])
    )


def _spark_field(field: pa.Field) -> StructField:
    try:
        return from_arrow_schema(pa.schema([field]), prefer_timestamp_ntz=True).fields[0]
    except PySparkTypeError as error:
        raise InvalidSchemaError(
            f"Column '{field.name}' has Arrow type {field.type}, which Spark has no type for; "
            "cast it"
        ) from error


def _plain(name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column as PySpark can convert it.

    It knows fewer types, wants a chunk of every nested or encoded column, even of no rows, and
    can't convert slices of lists and maps: these are copied.
    """
    kind = _plain_type(column.type)
    if kind != column.type:
        try:
            column = column.cast(kind)
        except pa.ArrowInvalid as error:
            raise InvalidInputError(f"Column '{name}' can't be read as {kind}: {error}") from error
    if not (pa.types.is_nested(kind) or pa.types.is_dictionary(kind)):
        return column
    copied = [pa.concat_arrays([chunk]) if chunk.offset else chunk for chunk in column.chunks]
    return pa.chunked_array(copied or [pa.array([], kind)], kind)


def _plain_type(kind: pa.DataType) -> pa.DataType:
    types = pa.types
    if types.is_struct(kind):
        return pa.struct([field.with_type(_plain_type(field.type)) for field in kind])
    if types.is_map(kind):
        return pa.map_(_plain_type(kind.key_type), _plain_type(kind.item_type))
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return pa.list_(kind.value_field.with_type(_plain_type(kind.value_type)))
    if types.is_timestamp(kind) and kind.unit == "ns":
        return pa.timestamp("us", kind.tz)  # refuses what would be lost; Spark drops it silently
    if types.is_decimal(kind) and kind.bit_width != pa.decimal128(1).bit_width:
        return pa.decimal128(kind.precision, kind.scale) if kind.precision <= _DIGITS else kind
    return _TYPES.get(kind, kind)
