"""The session settings that Spark's Parquet writer obeys, and the shuffle before it."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field

from pyspark.sql import SparkSession

from iceberg_spark.errors import InvalidOptionError
from iceberg_spark.spark.session.classic_session import session_key
from iceberg_spark.spark.writing.distribution import distribution
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


_SQL = "org.apache.spark.sql.execution.datasources"
WRITE_SETTINGS: Mapping[str, str] = {
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.parquet.writeLegacyFormat": "false",
    "spark.sql.parquet.fieldId.write.enabled": "true",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.output.committer.class": "org.apache.parquet.hadoop.ParquetOutputCommitter",
    "spark.sql.sources.commitProtocolClass": f"{_SQL}.SQLHadoopMapReduceCommitProtocol",
    "spark.sql.maxConcurrentOutputFileWriters": "4",
}
"""None of these can be given as an option of one write."""
_EXCLUDED = "spark.sql.optimizer.excludedRules"
_FOLDABLE = "org.apache.spark.sql.catalyst.optimizer.FoldablePropagation"
"""Puts a constant in the place of columns that are one, which then lack their field ids."""


@dataclass(slots=True)
class _Held:
    """A session in which writes run: how many, and what the settings were before the first."""

    writes: int = 0
    settings: dict[str, str] = field(default_factory=dict)
    before: dict[str, str | None] = field(default_factory=dict)


_lock = threading.Lock()
_held: dict[str, _Held] = {}  # only of sessions in which a write runs at this moment


def write_settings(
    session: SparkSession, *, shuffle: Shuffle = NO_SHUFFLE
) -> AbstractContextManager[None]:
    """Hold what Spark's Parquet writer needs, and what the shuffle does, while a block runs."""
    excluded = str(session.conf.get(_EXCLUDED, None) or "")
    rules = {
        _EXCLUDED: excluded
        if _FOLDABLE in excluded
        else ",".join(filter(None, (excluded, _FOLDABLE)))
    }
    return held_settings(session, {**WRITE_SETTINGS, **rules, **shuffle.settings}, shuffle.defaults)


@contextmanager
def held_settings(
    session: SparkSession, settings: Mapping[str, str], defaults: Mapping[str, str]
) -> Iterator[None]:
    """Hold settings in a session while the block runs; writes in other threads share them.

    `defaults` are held where the session does not set them. The first write in a session sets
    them, the last one gives back what was there, unless somebody set another value meanwhile:
    then that stays.
    """
    key = str(session_key(session))
    with _lock:
        held = _held.setdefault(key, _Held())
        held.writes += 1
        try:
            free = {k: v for k, v in defaults.items() if session.conf.get(k, None) is None}
            _set(session, held, {**settings, **free})
        except BaseException:
            _leave(session, key, held)
            raise
    try:
        yield
    finally:
        with _lock:
            _leave(session, key, held)


def _set(session: SparkSession, held: _Held, settings: Mapping[str, str]) -> None:
    for name, value in settings.items():
        held.settings[name] = value
        if session.conf.get(name, None) != value:
            held.before.setdefault(name, session.conf.get(name, None))
            session.conf.set(name, value)


def _leave(session: SparkSession, key: str, held: _Held) -> None:
    held.writes -= 1
    if held.writes:
        return
    del _held[key]
    for name, value in held.before.items():
        if session.conf.get(name, None) != held.settings[name]:
            continue
        if value is None:
            session.conf.unset(name)
        else:
            session.conf.set(name, value)


@dataclass(frozen=True, slots=True)
class SizeLimits:
    """How sizes of rows and files are estimated."""

    sample_rows: int = 20_000
    """Rows that are encoded to learn how large one is."""
    surely_less: int = 2
    """Times: Spark's estimate of a frame may be too low, but hardly by more than this."""
    task_file_bytes: int = 128 * 1024 * 1024
    """Bytes that a task's file should have where nobody says it, as Java's runtime has it."""
    least_partitions: int = 200
    """Partitions, Spark's own default. Rows are shuffled by partition value, often by few values:
    into few tasks several would fall into one while others have none. Adaptive execution puts small
    tasks together."""


SIZES = SizeLimits()
