"""How Spark shuffles the rows of a partitioned write: by many small tasks, large ones cut."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pyspark.sql import SparkSession

from iceberg_spark.errors import InvalidOptionError
from iceberg_spark.spark.native.arranged_frame import distribution
from iceberg_spark.spec.properties import ADVISORY_PARTITION_SIZE_BYTES, int_property
from iceberg_spark.write.context import WriteContext

_FIRST_PARTITIONS = "spark.sql.adaptive.coalescePartitions.initialPartitionNum"
_LEAST_PARTITIONS = 200
"""Spark's own default. Rows are shuffled by partition value, often by few values: into few tasks
several would fall into one while others have none. Adaptive execution puts small tasks together.
"""
_TASK_BYTES = "spark.sql.adaptive.advisoryPartitionSizeInBytes"
"""Of shuffled rows: adaptive execution cuts larger tasks into pieces, each of which writes a file,
and puts smaller ones together."""


@dataclass(frozen=True, slots=True)
class Shuffle:
    """Settings to hold while a write runs, and about how many bytes of shuffled rows a task gets.

    `defaults` give way to what the session sets. `task_bytes` is None where nothing is shuffled by
    hash, and where the session says it.
    """

    settings: Mapping[str, str] = field(default_factory=dict)
    defaults: Mapping[str, str] = field(default_factory=dict)
    task_bytes: int | None = None


NO_SHUFFLE = Shuffle()


def shuffle_of(context: WriteContext, asked: str | None, session: SparkSession) -> Shuffle:
    """Return how a write shuffles; without any settings where it doesn't by hash.

    A table's property counts before the session's setting, which is asked for before ours.
    Raises InvalidOptionError for a property that is no positive integer, and for a bad mode.
    """
    if distribution(context, asked) != "hash":
        return NO_SHUFFLE
    size = int_property(context.properties, ADVISORY_PARTITION_SIZE_BYTES)
    if size <= 0:
        raise InvalidOptionError(
            f"Table property '{ADVISORY_PARTITION_SIZE_BYTES}' is {size}; it must be positive"
        )
    usual = int(session.conf.get("spark.sql.shuffle.partitions", "0") or 0)
    first = {_FIRST_PARTITIONS: str(max(usual, _LEAST_PARTITIONS))}
    bytes_ = {_TASK_BYTES: f"{size}b"}
    if ADVISORY_PARTITION_SIZE_BYTES in context.properties:
        return Shuffle(bytes_, first, size)
    is_set = session.conf.get(_TASK_BYTES, None) is not None
    return Shuffle({}, {**first, **bytes_}, None if is_set else size)
