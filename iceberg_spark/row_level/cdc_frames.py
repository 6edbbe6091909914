"""Keys and sequences as Polars columns, comparable by their bits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.arrow.arrays import concat, identity_bits
from iceberg_spark.arrow.key_columns import key_column
from iceberg_spark.arrow.row_hashes import polars_frame
from iceberg_spark.lazy import LazyModule
from iceberg_spark.spec.types import NestedField

pl = LazyModule("polars")

Frame = Any  # Polars is loaded late
Longs = npt.NDArray[np.int64]


def key_columns(fields: Sequence[NestedField]) -> list[str]:
    """Return the names of the columns of `key_frame`."""
    return [str(index) for index in range(len(fields))]


def key_frame(rows: pa.Table | pa.RecordBatch, fields: Sequence[NestedField]) -> Frame:
    """Return the key columns of rows in a form in which equal keys have equal bits."""
    return polars_frame(
        [key_column(field.field_type, flat(rows.column(field.name))) for field in fields]
    )


def flat(column: Any) -> pa.Array:
    """Return a column as one array."""
    return concat(column) if isinstance(column, pa.ChunkedArray) else column


def series(column: Any, kind: pa.DataType) -> Any:
    """Return a column of sequences as a Polars series."""
    array = flat(column)
    return pl.Series("", pl.from_arrow(array if array.type == kind else array.cast(kind)))


def longs(frame: Frame, name: str) -> Longs:
    """Return a column of numbers without nulls."""
    numbers: Longs = frame.get_column(name).to_numpy()
    return numbers


def rows_equal(rows: pa.Table, left_rows: Longs, right_rows: Longs) -> npt.NDArray[np.bool_]:
    """Return which pairs of rows have equal values in all columns; NULL equals NULL."""
    same = np.ones(len(left_rows), bool)
    for column in rows.columns:
        left, right = (
            concat(column.take(pa.array(left_rows))),
            concat(column.take(pa.array(right_rows))),
        )
        same &= _equal(left, right)
    return same


def _equal(left: pa.Array, right: pa.Array) -> npt.NDArray[np.bool_]:
    if pa.types.is_nested(left.type) or pa.types.is_null(left.type):
        pairs = zip(left.to_pylist(), right.to_pylist(), strict=True)
        return np.array([repr(a) == repr(b) for a, b in pairs], bool)
    if pa.types.is_floating(left.type):
        left, right = (identity_bits(pc.add(side, 0.0)) for side in (left, right))
    nulls = pc.and_(left.is_null(), right.is_null())
    equal = pc.or_(pc.fill_null(pc.equal(left, right), fill_value=False), nulls)
    matches: npt.NDArray[np.bool_] = equal.to_numpy(zero_copy_only=False)
    return matches
