"""The session settings that Spark's Parquet writer obeys, as our files need them, for a while."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field

from pyspark.sql import SparkSession

from iceberg_spark.spark.session.classic_session import session_key
from iceberg_spark.spark.writing.shuffle import NO_SHUFFLE, Shuffle

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
