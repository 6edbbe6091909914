"""The enabled sessions, and the methods of PySpark that are replaced while there are any."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pyspark.sql import SparkSession

from iceberg_spark.errors import InvalidTypeError
from iceberg_spark.spark.session.classic_session import session_key
from iceberg_spark.spark.session.own_methods import restore_redirected
from iceberg_spark.spark.sql.current_namespace import current_namespace, use_namespace

lock = threading.Lock()
_enabled: set[str] = set()
"""Ids of the enabled sessions: a few characters for each."""
originals: dict[tuple[type, str], Any] = {}
"""PySpark's own `read`, `write`, `sql` and `table` while a session is enabled, of both kinds."""


def session_id(spark: SparkSession) -> str:
    """Return an id that is the same for all Python objects of one session."""
    key = session_key(spark)
    if key is None:
        raise InvalidTypeError(f"enable() takes a SparkSession, not {type(spark).__name__}")
    return key


def is_enabled(spark: SparkSession) -> bool:
    """Return whether a session is enabled."""
    return session_id(spark) in _enabled


def add(key: str) -> None:
    """Add a session to the enabled ones. The caller holds the lock."""
    _enabled.add(key)


def leave(spark: SparkSession) -> None:
    """Remove a session from the enabled ones. The last one restores PySpark's methods."""
    with lock:
        _enabled.discard(session_id(spark))
        use_namespace(spark, None)
        if not _enabled:
            restore_redirected()
            for (owner, name), original in originals.items():
                setattr(owner, name, original)
            originals.clear()


@contextmanager
def enabled_as(spark: SparkSession, other: SparkSession) -> Iterator[None]:
    """Enable a session like another one, with the namespace that USE chose there, for a block.

    Batches of a stream run in a clone of the stream's session.
    """
    with lock:
        is_new = session_id(spark) not in _enabled and session_id(other) in _enabled
        if is_new:
            _enabled.add(session_id(spark))
    if not is_new:
        yield
        return
    try:
        use_namespace(spark, current_namespace(other))
        yield
    finally:
        leave(spark)
