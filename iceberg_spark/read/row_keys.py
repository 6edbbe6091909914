"""Keys that the rows of a plan have, which rows of other tables have to have where they are joined.

`orders JOIN lineitem` needs no line of an order that some condition, or another join, leaves out.
So the keys of the orders that stay are read here, and lines of others are left out where they are
read, before they are shuffled. What is left out of one table leaves out rows of the next.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.arrow.schema import to_arrow_type
from iceberg_spark.read.limits import KEYS
from iceberg_spark.read.task_reader import read_task
from iceberg_spark.scan.plan import ScanPlan
from iceberg_spark.spec import types as t
from iceberg_spark.spec.schema import Schema

_WHOLE = (t.IntegerType, t.LongType, t.DateType, t.TimestampType, t.TimestamptzType)
_LONG_DIGITS = 18
"""Digits of a decimal that a whole number of eight bytes holds."""


@dataclass(frozen=True, slots=True, eq=False)
class RowKeys:
    """The distinct values, without null, that a column of needed rows has one of."""

    field: t.NestedField
    values: pa.Array

    def __len__(self) -> int:
        return len(self.values)


@dataclass(frozen=True, slots=True, eq=False)
class KeysRead:
    """Key columns of rows: the values of each, in the order they were asked for.

    `rows` is the number of rows that have them.
    """

    rows: int
    keys: tuple[pa.Array, ...]


def can_be_key(kind: t.IcebergType) -> bool:
    """Return whether equal values of a type are equal to Spark and have one form: no floats."""
    match kind:
        case t.DecimalType(precision=digits):
            return digits <= _LONG_DIGITS
        case _:
            return isinstance(kind, (*_WHOLE, t.StringType))


def is_readable(plan: ScanPlan) -> bool:
    """Return whether the keys of a plan's rows may be read: `KEYS` says how many."""
    of = plan.metrics
    return (
        len(plan) <= KEYS.files
        and of.total_record_count <= KEYS.rows
        and of.total_file_size_in_bytes <= KEYS.bytes
    )


def read_keys(
    plan: ScanPlan, fields: Sequence[t.NestedField], having: Sequence[RowKeys] = ()
) -> KeysRead:
    """Return the values that fields have in a plan's rows, those of rows that have some keys.

    Raises what reading files raises.
    """
    asked = {field.field_id: field for field in (*fields, *(one.field for one in having))}
    context = replace(plan.context, read_schema=Schema(*asked.values()))
    places = list(asked)
    rows, found = 0, [list[Any]() for _ in fields]
    for task in plan:
        for batch in read_task(context, context.io, task):
            kept = _having(batch, places, having)
            rows += kept.num_rows
            for field, values in zip(fields, found, strict=True):
                values.append(pc.unique(kept.column(places.index(field.field_id))))
    pairs = zip(fields, found, strict=True)
    return KeysRead(rows, tuple(_distinct(field, values) for field, values in pairs))


def whole_numbers(keys: RowKeys) -> bytes | None:
    """Return keys as numbers of eight bytes, the lowest first; None of texts.

    Days, microseconds, or decimals without their point.
    """
    match keys.field.field_type:
        case t.StringType():
            return None
        case t.DecimalType():
            pairs = np.frombuffer(keys.values.buffers()[1], "<i8")
            first = keys.values.offset * 2
            return bytes(pairs[first : first + len(keys) * 2 : 2].tobytes())
        case t.IntegerType() | t.DateType():
            numbers = keys.values.cast(pa.int32()).cast(pa.int64())
        case _:
            numbers = keys.values.cast(pa.int64())
    return bytes(numbers.to_numpy(zero_copy_only=False).astype("<i8").tobytes())


def _having(batch: Any, places: Sequence[int], having: Sequence[RowKeys]) -> Any:
    if not having:
        return batch
    masks = [pc.is_in(batch.column(places.index(one.field.field_id)), one.values) for one in having]
    return batch.filter(reduce(pc.and_, masks))


def _distinct(field: t.NestedField, values: Sequence[Any]) -> pa.Array:
    if not values:
        return pa.array([], to_arrow_type(field.field_type))
    found = pc.unique(pa.chunked_array(values)).drop_null()
    return found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found
