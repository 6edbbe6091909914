"""How Spark shuffles the rows of a partitioned write: by many small tasks, large ones cut."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pyspark.sql import SparkSession

from iceberg_spark.errors import InvalidOptionError
from iceberg_spark.spark.writing.distribution import distribution
from iceberg_spark.spark.writing.limits import SIZES
from iceberg_spark.spec.data_file import FileFormat
from iceberg_spark.spec.properties import (
    ADVISORY_PARTITION_SIZE_BYTES,
    int_property,
    text_property,
)
from iceberg_spark.write.context import WriteContext

_FIRST_PARTITIONS = "spark.sql.adaptive.coalescePartitions.initialPartitionNum"
_TASK_BYTES = "spark.sql.adaptive.advisoryPartitionSizeInBytes"
"""Of shuffled rows: adaptive execution cuts larger tasks into pieces, each of which writes a file,
and puts smaller ones together."""
_STRONG = {"zstd", "gzip", "zlib"}
_RATIOS = {"none": (4.0, 3.0), "zstd": (2.0, 1.5)}
"""How many bytes of shuffled rows make a byte of a columnar file that is compressed by a strong
codec and by any other, by the codec of the shuffle (Java: `SparkCompressionUtil`)."""
_OTHER_RATIO = (3.0, 2.0)


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


def shuffle_of(context: WriteContext, requested: str | None, session: SparkSession) -> Shuffle:
    """Return how a write shuffles; without any settings where it doesn't by hash.

    A table's property counts before the session's setting, which is asked for before ours.
    Raises InvalidOptionError for a property that is no positive integer, and for a bad mode.
    """
    if distribution(context, requested) != "hash":
        return NO_SHUFFLE
    name = ADVISORY_PARTITION_SIZE_BYTES
    is_in_table = name in context.properties
    size = int_property(context.properties, name) if is_in_table else _usual_bytes(context, session)
    if size <= 0:
        raise InvalidOptionError(f"Table property '{name}' is {size}; it must be positive")
    # Asked for without a default: Spark checks one, where nothing is set, as if it were a setting.
    usual = int(session.conf.get("spark.sql.shuffle.partitions") or 0)
    first = {_FIRST_PARTITIONS: str(max(usual, SIZES.least_partitions))}
    bytes_ = {_TASK_BYTES: f"{size}b"}
    if is_in_table:
        return Shuffle(bytes_, first, size)
    is_set = session.conf.get(_TASK_BYTES, None) is not None
    return Shuffle({}, {**first, **bytes_}, None if is_set else size)


def _usual_bytes(context: WriteContext, session: SparkSession) -> int:
    """Return how many bytes of shuffled rows become a file of `task_file_bytes`, about."""
    is_compressed = session.conf.get("spark.shuffle.compress", "true") == "true"
    shuffled = session.conf.get("spark.io.compression.codec", "lz4") if is_compressed else "none"
    strong, weak = _RATIOS.get(str(shuffled).lower(), _OTHER_RATIO)
    written = context.file_format
    codec = text_property(context.properties, f"write.{written.lower()}.compression-codec")
    ratio = strong if codec.lower() in _STRONG else weak
    return int(SIZES.task_file_bytes * (ratio / 2 if written is FileFormat.AVRO else ratio))
