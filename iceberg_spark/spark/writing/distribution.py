"""A frame's rows sent to tasks and ordered as a table asks for (Java: SparkWriteUtil)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from pyspark.sql import Column, DataFrame

from iceberg_spark.errors import InvalidOptionError
from iceberg_spark.spark.session.engine import Distribution
from iceberg_spark.spark.writing.partition_keys import PartitionKey, packed
from iceberg_spark.spark.writing.transform_columns import folder_column, transform_column
from iceberg_spark.spec.properties import WRITE_DISTRIBUTION_MODE, text_property
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.sort import NullOrder, SortDirection, SortField
from iceberg_spark.spec.transforms import Transform
from iceberg_spark.spec.types import IcebergType
from iceberg_spark.write.context import WriteContext
from iceberg_spark.write.sorted_files import can_sort

_MODES: Mapping[str, Distribution] = {"none": "none", "hash": "hash", "range": "range"}
SourceOf: TypeAlias = Callable[[int], Column]
"""From a field id of the table to the frame's column."""


@dataclass(frozen=True, slots=True)
class Arrangement:
    """What a write asks for: columns that tell partitions, for folders, a mode, and sort keys."""

    keys: tuple[Column, ...]
    mode: Distribution
    order: tuple[Column, ...]


def distribution(context: WriteContext, requested: str | None = None) -> Distribution:
    """Return how rows go to tasks: as asked, else as the table's property says, else by its form.

    A sorted table takes range, a partitioned one hash, as in Java's SparkWriteConf. Raises
    InvalidOptionError for an unknown mode.
    """
    if requested is not None and requested.lower() not in _MODES:
        raise InvalidOptionError(
            f"distribution-mode: '{requested}' is unknown; use one of {', '.join(_MODES)}"
        )
    named = requested
    if named is None and WRITE_DISTRIBUTION_MODE in context.properties:
        named = text_property(context.properties, WRITE_DISTRIBUTION_MODE)
    partitioned, ordered = not context.spec.is_unpartitioned, is_sortable(context)
    if named is None:
        return "range" if ordered else ("hash" if partitioned else "none")
    mode = _MODES[named.lower()]
    if mode == "hash" and not partitioned:
        return "none"
    return "none" if mode == "range" and not partitioned and not ordered else mode


def is_sortable(context: WriteContext) -> bool:
    """Return whether the table has a sort order and all its transforms are known."""
    return can_sort(context.sort_order, context.schema)


def arrangement(context: WriteContext, requested: str | None, source_of: SourceOf) -> Arrangement:
    """Return what a write asks for, over the frame's columns."""
    schema = context.schema
    keys = packed(
        [
            _partition_key(
                part.transform, schema.find_type(part.source_id), source_of(part.source_id)
            )
            for part in context.spec.live_fields
        ]
    )
    order: tuple[Column, ...] = ()
    if is_sortable(context):
        order = tuple(_sort_key(key, schema, source_of) for key in context.sort_order.fields)
    return Arrangement(keys, distribution(context, requested), order)


def _partition_key(transform: Transform, kind: IcebergType, source: Column) -> PartitionKey:
    return PartitionKey(transform, kind, folder_column(transform, kind, source))


def _sort_key(key: SortField, schema: Schema, source_of: SourceOf) -> Column:
    kind = schema.find_type(key.source_id)
    column = transform_column(key.transform, kind, source_of(key.source_id))
    first = key.null_order is NullOrder.NULLS_FIRST
    if key.direction is SortDirection.ASC:
        return column.asc_nulls_first() if first else column.asc_nulls_last()
    return column.desc_nulls_first() if first else column.desc_nulls_last()


def arrange(
    frame: DataFrame, mode: Distribution, keys: Sequence[Column], order: Sequence[Column]
) -> DataFrame:
    """Return the frame distributed by `mode`, its tasks' rows sorted where there is an order.

    By hash, adaptive execution cuts what is too much for a task, as for Java's runtime.
    """
    clustering = [key.asc() for key in keys]
    if mode == "hash":
        frame = frame.hint("rebalance", *keys)
    elif mode == "range":
        frame = frame.repartitionByRange(*clustering, *order)
    return frame.sortWithinPartitions(*clustering, *order) if order else frame
