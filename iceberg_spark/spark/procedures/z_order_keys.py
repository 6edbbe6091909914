"""A z-order curve in Spark's expressions: what `maintenance.z_order` does in Arrow.

Bits are spread by a table of 256 numbers for each byte: arithmetic would name each byte many times,
and Spark's trees grow with each naming.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import cast

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as sf
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.types import LongType

from iceberg_spark.maintenance.rewrite_options import RewriteOptions
from iceberg_spark.maintenance.row_order import BitChunk, bit_chunks, float_words, width_of
from iceberg_spark.spark.session.expressions import expression
from iceberg_spark.spark.writing.distribution import SourceOf
from iceberg_spark.spark.writing.placement import KeysOf
from iceberg_spark.spec import types as t
from iceberg_spark.spec.schema import Schema

_HIGH = -(1 << 63)
_WORD = 64


def z_order_keys(schema: Schema, columns: Sequence[int], options: RewriteOptions) -> KeysOf:
    """Return what computes the words of the curve's value. Raises UnsupportedError for a type."""
    kinds = [schema.find_type(field_id) for field_id in columns]
    widths = [width_of(kind, options) for kind in kinds]
    chunks = list(bit_chunks(widths, options.max_output_size))

    def keys(source_of: SourceOf) -> list[Column]:
        words = [
            _words(source_of(field_id), kind, width)
            for field_id, kind, width in zip(columns, kinds, widths, strict=True)
        ]
        return [_key(words, chunk) for chunk in chunks]

    return keys


def _words(column: Column, kind: t.IcebergType, width: int) -> list[Column]:
    """Return a value's bytes as words of eight, the first byte highest; zeros for null."""
    if isinstance(kind, t.StringType | t.BinaryType):
        size = 8 * -(-width // 8)
        prefix = sf.substring(column.cast("binary"), 1, width)
        text = sf.rpad(sf.hex(prefix), 2 * size, "0")
        parts = [
            sf.conv(sf.substring(text, 1 + 8 * index, 8), 16, 10) for index in range(size // 4)
        ]
        longs = [sf.coalesce(part.cast("bigint"), sf.lit(0)) for part in parts]
        pairs = zip(longs[::2], longs[1::2], strict=True)
        return [sf.shiftleft(high, 32).bitwiseOR(low) for high, low in pairs]
    return [sf.coalesce(_word(column, kind), sf.lit(0))]


def _word(column: Column, kind: t.IcebergType) -> Column:
    match kind:
        case t.BooleanType():
            return sf.when(column, sf.lit((0x81 << 56) - (1 << 64))).otherwise(sf.lit(0))
        case t.FloatType() | t.DoubleType():
            return _of_floats(column.cast("double"))
        case t.DateType():
            number = sf.unix_date(column).cast("bigint")
        case t.TimestamptzType():
            number = sf.unix_micros(column)
        case t.TimestampType():
            epoch = sf.lit("1970-01-01 00:00:00").cast("timestamp_ntz")
            number = sf.timestamp_diff("MICROSECOND", epoch, column)
        case _:
            number = column.cast("bigint")
    return number.bitwiseXOR(sf.lit(_HIGH))


def _of_floats(column: Column) -> Column:
    """Return the words of doubles: Spark SQL has no function that gives a double's bits."""

    def words(array: pa.Array) -> pa.Array:
        return pa.array(float_words(array).view("int64"))

    # PySpark's overloads know iterators only; a plain array is as good.
    words_of = arrow_udf(words, LongType())  # type: ignore[call-overload]
    return cast(Column, words_of(column))


def _key(words: Sequence[Sequence[Column]], chunk: BitChunk) -> Column:
    turns = len(chunk.columns)
    parts = []
    for turn, column in enumerate(chunk.columns):
        bit, end = chunk.first_bit, chunk.first_bit + chunk.bits
        while bit < end:  # byte by byte, or what lies in this chunk of one
            stop = min(end, (bit // 8 + 1) * 8)
            bits = _bits(words[column], bit, stop - bit)
            shift = (end - stop) * turns + turns - 1 - turn
            parts.append(_shifted(_spread(bits, stop - bit, turns), shift))
            bit = stop
    joined = reduce(Column.bitwiseOR, parts)
    cut = chunk.bits * turns - chunk.bit_count
    return sf.shiftrightunsigned(joined, cut) if cut else joined


def _bits(words: Sequence[Column], first: int, count: int) -> Column:
    """Return some bits of one byte."""
    word, offset = words[first // _WORD], first % _WORD
    moved = sf.shiftrightunsigned(word, _WORD - offset - count) if offset + count < _WORD else word
    return moved.bitwiseAND(sf.lit((1 << count) - 1))


def _spread(bits: Column, count: int, turns: int) -> Column:
    """Return bits with gaps for those of the other columns."""
    if turns == 1:
        return bits
    table = [
        sum(((value >> bit) & 1) << (bit * turns) for bit in range(count))
        for value in range(1 << count)
    ]
    return sf.get(
        expression(f"array({','.join(f'{entry}L' for entry in table)})"), bits.cast("int")
    )


def _shifted(column: Column, by: int) -> Column:
    return sf.shiftleft(column, by) if by else column
