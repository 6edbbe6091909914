"""Key columns in a form in which equal keys, and only those, have equal bits.

NULL equals NULL; floats by their identity (`spec.floats`).
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.arrow.arrays import identity_bits
from iceberg_spark.spec import types as t

_LONG_DECIMAL = 18  # digits that fit 64 bits


def key_column(kind: t.IcebergType, column: pa.Array) -> pa.Array:
    """Return a column of the table's type as int64, string or binary; nulls stay."""
    match kind:
        case t.FloatType() | t.DoubleType():
            return identity_bits(column)
        case t.BooleanType():
            return column.cast(pa.int8()).cast(pa.int64())
        case t.DecimalType(precision=precision):
            return _decimal(column, precision)
        case t.IntegerType() | t.LongType():
            return column.cast(pa.int64())
        case t.DateType():
            return column.cast(pa.int32()).cast(pa.int64())
        case t.UUIDType() | t.FixedType():
            return column.cast(pa.binary())
        case t.StringType() | t.BinaryType():
            return column
        case _:  # time and timestamps are 64 bits wide
            return column.view(pa.int64())


def _decimal(column: pa.Array, precision: int) -> pa.Array:
    plain = pa.concat_arrays([column]) if column.offset else column
    words = np.frombuffer(plain.buffers()[1], np.int64, 2 * (plain.offset + len(plain)))
    words = words[2 * plain.offset :]
    missing = plain.is_null().to_numpy(zero_copy_only=False) if plain.null_count else None
    if precision <= _LONG_DECIMAL:
        return pa.array(words[0::2], mask=missing)
    fixed = pa.Array.from_buffers(
        pa.binary(16), len(plain), [None, pa.py_buffer(words.tobytes())]
    ).cast(pa.binary())
    return fixed if missing is None else pc.if_else(pa.array(missing), None, fixed)
