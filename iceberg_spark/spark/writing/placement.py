"""Rows put where a rewrite wants them, whatever the table asks of other writes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from iceberg_spark.spark.writing.distribution import Arrangement, SourceOf

KeysOf: TypeAlias = Callable[[SourceOf], Sequence[Column]]
"""From the table's columns to values by which rows are sorted, ascending, nulls first."""
_STEM = "sort key "


@dataclass(frozen=True, slots=True)
class Placement:
    """Rows go to `tasks` tasks by ranges of an order, and are sorted in each.

    The order is that of the write's context, or of `keys` computed from the rows. With
    `by_partition` rows belong to several partitions: ranges and order begin with these.
    """

    tasks: int
    by_partition: bool = False
    keys: KeysOf | None = None


def placed(
    frame: DataFrame,
    partition: Sequence[Column],
    arrangement: Arrangement,
    placement: Placement,
    source_of: SourceOf,
) -> DataFrame:
    """Return the frame with its rows placed; `partition` are columns of it that tell partitions.

    Computed keys are columns while rows are sorted: a sort would compute them at each comparison.
    """
    order, names = arrangement.order, list[str]()
    if placement.keys is not None:
        computed = placement.keys(source_of)
        names = [f"{_STEM}{number}" for number in range(len(computed))]
        named = [key.alias(name) for key, name in zip(computed, names, strict=True)]
        frame = frame.select("*", *named)
        order = tuple(sf.col(f"`{name}`").asc_nulls_first() for name in names)
    clustering = [column.asc() for column in partition]
    ranges = [*clustering, *order] if placement.by_partition else order
    if ranges:
        frame = frame.repartitionByRange(placement.tasks, *ranges)
    elif placement.by_partition:  # all into one partition, in no order: as few files as that takes
        frame = frame.coalesce(placement.tasks)
    if clustering or order:
        frame = frame.sortWithinPartitions(*clustering, *order)
    return frame.drop(*names) if names else frame
