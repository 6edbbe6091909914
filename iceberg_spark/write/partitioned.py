"""Rows grouped by partition: transforms over columns, one sort and one take for many rows."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from iceberg_spark.arrow.arrays import concat, identity_bits
from iceberg_spark.arrow.transforms import apply_transform
from iceberg_spark.arrow.values import from_array
from iceberg_spark.errors import InvalidInputError
from iceberg_spark.spec.partition import PartitionField, PartitionSpec, partition_key
from iceberg_spark.spec.partition_type import partition_type
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.transforms import VoidTransform
from iceberg_spark.spec.types import IcebergType
from iceberg_spark.spec.values import is_nan

Codes = npt.NDArray[np.int64]
Partition = tuple[Any, ...]  # canonical values of any type


@dataclass(frozen=True, slots=True)
class Group:
    """The rows of one partition; `key` distinguishes partitions, also -0.0 from 0.0."""

    key: tuple[object, ...]
    partition: Partition
    rows: pa.Table


def group_rows(
    table: pa.Table, spec: PartitionSpec, schema: Schema, *, clustered: bool = False
) -> Iterator[Group]:
    """Yield the rows of each partition in their order, partitions by their first row.

    The table has the columns of `arrow.schema.to_arrow(schema)`. With `clustered` rows are not
    reordered: raises InvalidInputError if the rows of a partition are not adjacent.
    """
    if not table.num_rows:
        return
    types = [child.field_type for child in partition_type(spec, schema).fields]
    columns = [
        _encode(table, part, kind, schema) for part, kind in zip(spec.fields, types, strict=True)
    ]
    codes = combine_codes([codes for codes, _ in columns], [len(values) for _, values in columns])
    firsts, counts, order = _order(codes, table.num_rows)
    if clustered and order is not None and (np.diff(order) != 1).any():
        raise InvalidInputError(
            "Rows are not clustered by partition; sort them by the partition columns, or leave "
            "option fanout-enabled on"
        )
    moved = table if order is None else table.take(pa.array(order))
    start = 0
    for first, count in zip(firsts.tolist(), counts.tolist(), strict=True):
        partition = tuple(values[codes[first]] for codes, values in columns)
        yield Group(partition_key(partition), partition, moved.slice(start, count))
        start += count


def source_column(table: pa.Table, schema: Schema, field_id: int) -> pa.Array:
    """Return a column, nested in structs or not, by its field id; null where a parent is."""
    path = schema.path_ids(field_id)
    ids = [child.field_id for child in schema.fields]
    array = concat(table.column(ids.index(path[0])))
    for step in path[1:]:
        names = [child.name for child in array.type]
        field = schema.find_field(step)
        array = array.flatten()[names.index(field.name)]
    return array


def _encode(
    table: pa.Table, part: PartitionField, kind: IcebergType, schema: Schema
) -> tuple[Codes, list[Any]]:
    """Return a code for every row and the partition value of every code."""
    if isinstance(part.transform, VoidTransform):
        return np.zeros(table.num_rows, np.int64), [None]
    source = source_column(table, schema, part.source_id)
    source_type = schema.find_field(part.source_id).field_type
    result = apply_transform(part.transform, source_type, source)
    floating = pa.types.is_floating(result.type)
    told_apart = identity_bits(result) if floating else result
    encoded = told_apart.dictionary_encode(null_encoding="encode")
    codes = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    values = encoded.dictionary
    if floating:
        values = values.view(pa.float64()).cast(result.type)
    shown = from_array(kind, values)
    return codes, [math.nan if is_nan(value) else value for value in shown]


def combine_codes(columns: list[Codes], sizes: list[int]) -> Codes:
    """Return one code for every combination; codes stay dense, so that products can't overflow."""
    combined, size = columns[0], sizes[0]
    for codes, count in zip(columns[1:], sizes[1:], strict=True):
        combined = combined * count + codes
        size *= count
        if size > len(combined):
            values, combined = np.unique(combined, return_inverse=True)
            size = len(values)
    return combined


def _order(codes: Codes, rows: int) -> tuple[Codes, Codes, Codes | None]:
    """Return each group's first row, its count, and the order of rows (None: unchanged)."""
    if codes.min() == codes.max():
        return np.zeros(1, np.int64), np.array([rows]), None
    if codes.max() < 2**16:  # numpy sorts 16-bit numbers by radix
        order = np.argsort(codes.astype(np.uint16), kind="stable")
    else:
        order = np.argsort(codes, kind="stable")
    sorted_codes = codes[order]
    starts = np.flatnonzero(np.r_[True, sorted_codes[1:] != sorted_codes[:-1]])
    counts = np.diff(np.r_[starts, rows])
    by_first = np.argsort(order[starts], kind="stable")
    runs = np.repeat(starts[by_first] - _starts(counts[by_first]), counts[by_first])
    return order[starts][by_first], counts[by_first], order[runs + np.arange(rows)]


def _starts(counts: Codes) -> Codes:
    return np.cumsum(counts) - counts
