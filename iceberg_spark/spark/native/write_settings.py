"""The session settings that Spark's Parquet writer obeys, as our files need them, for a while."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from pyspark.sql import SparkSession

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
_FIRST_PARTITIONS = "spark.sql.adaptive.coalescePartitions.initialPartitionNum"
_LEAST_PARTITIONS = 200
"""Spark's own default. Rows are shuffled by partition value, often by few values: into few tasks
several would fall into one while others have none. Adaptive execution puts small tasks together.
"""
TASK_BYTES = "spark.sql.adaptive.advisoryPartitionSizeInBytes"
"""Of shuffled rows: adaptive execution cuts larger tasks into pieces, each of which writes a file,
and puts smaller ones together."""


@dataclass(slots=True)
class _Held:
    """A session in which writes run: how many, and what the settings were before the first."""

    writes: int = 0
    wanted: dict[str, str] = field(default_factory=dict)
    before: dict[str, str | None] = field(default_factory=dict)


_lock = threading.Lock()
_held: dict[str, _Held] = {}  # only of sessions in which a write runs at this moment


@contextmanager
def write_settings(
    session: SparkSession, *, spread: bool = False, task_bytes: int | None = None
) -> Iterator[None]:
    """Hold the settings in a session while the block runs; writes in other threads share them.

    With `spread` shuffles start with at least as many tasks as Spark's own default says, and
    `task_bytes` is about how much a task gets, None for what the session says.
    The first write in a session sets them, the last one gives back what was there, unless
    somebody set another value meanwhile: then that stays.
    """
    key = _session_key(session)
    with _lock:
        held = _held.setdefault(key, _Held())
        held.writes += 1
        try:
            _set(session, held, _wanted(session, spread, task_bytes))
        except BaseException:
            _leave(session, key, held)
            raise
    try:
        yield
    finally:
        with _lock:
            _leave(session, key, held)


def _set(session: SparkSession, held: _Held, settings: Mapping[str, str]) -> None:
    for name, wanted in settings.items():
        held.wanted[name] = wanted
        if session.conf.get(name, None) != wanted:
            held.before.setdefault(name, session.conf.get(name, None))
            session.conf.set(name, wanted)


def _wanted(session: SparkSession, spread: bool, task_bytes: int | None) -> Mapping[str, str]:
    wanted = dict(WRITE_SETTINGS)
    if spread and session.conf.get(_FIRST_PARTITIONS, None) is None:
        usual = int(session.conf.get("spark.sql.shuffle.partitions", "0") or 0)
        wanted[_FIRST_PARTITIONS] = str(max(usual, _LEAST_PARTITIONS))
    if task_bytes is not None:
        wanted[TASK_BYTES] = f"{task_bytes}b"
    return wanted


def _leave(session: SparkSession, key: str, held: _Held) -> None:
    held.writes -= 1
    if held.writes:
        return
    del _held[key]
    for name, value in held.before.items():
        if session.conf.get(name, None) != held.wanted[name]:
            continue
        if value is None:
            session.conf.unset(name)
        else:
            session.conf.set(name, value)


def _session_key(session: SparkSession) -> str:
    """Return what is the same for all Python objects of one session, classic or Connect."""
    classic = getattr(session, "_jsparkSession", None)
    return str(session.session_id if classic is None else classic.sessionUUID())  # type: ignore[attr-defined]
