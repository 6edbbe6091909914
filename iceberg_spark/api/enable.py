"""`enable(spark)`: the session's own `spark.read` and `df.write` reach the native engine.

PySpark has no hook for a source that is a frame of other sources, so the properties `read` of
the session's class and `write` of its frames' class are replaced. What they return is PySpark's
own reader or writer, of a class that asks us first (`reader_hook`, `writer_hook`); everything
but our format falls through. This file is all of the patch.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, cast

from pyspark.sql import SparkSession

from iceberg_spark.api.reader_hook import ReaderHook
from iceberg_spark.api.writer_hook import WriterHook
from iceberg_spark.errors import InvalidTypeError
from iceberg_spark.spark.session.active_session import checked_session
from iceberg_spark.spark.session.classic_session import session_key
from iceberg_spark.spark.session.worker_python import check_worker_python

_lock = threading.Lock()
_enabled: set[str] = set()
"""Ids of the sessions that are enabled: a few characters for each."""
_originals: dict[tuple[type, str], property] = {}
"""PySpark's own properties while a session is enabled: `read` and `write`, classic and Connect."""


def enable(spark: SparkSession) -> None:
    """Let `format("pyiceberg-lite")` of this session, classic or Connect, use the native engine.

    `spark.read...load(T)` then gives the frame of `t.scan(...).to_df()`: the same rows and
    options, Spark's own column pruning and filter push-down, the snapshot pinned when it is made.
    `df.write` takes all save modes, `partitionBy` and `distribution-mode`. Other formats, other
    sessions and readers made before stay as they are. Again for an enabled session: no change.
    """
    key = _session_id(checked_session(spark))
    check_worker_python(spark)
    frame = spark.range(0)
    with _lock:
        _enabled.add(key)
        _replace(type(spark), "read", ReaderHook, lambda session: session)
        _replace(type(frame), "write", WriterHook, lambda frame: frame.sparkSession)


def disable(spark: SparkSession) -> None:
    """Undo `enable` for this session; with the last one PySpark is as it was."""
    with _lock:
        _enabled.discard(_session_id(spark))
        if not _enabled:
            for (owner, name), original in _originals.items():
                setattr(owner, name, original)
            _originals.clear()


def _session_id(spark: SparkSession) -> str:
    """Return what stays the same for all Python objects of one session."""
    found = session_key(spark)
    if found is None:
        raise InvalidTypeError(f"enable() takes a SparkSession, not {type(spark).__name__}")
    return found


def _replace(owner: type, name: str, hook: type, session_of: Callable[[Any], SparkSession]) -> None:
    """Replace a property of one of PySpark's classes, once."""
    if (owner, name) in _originals:
        return
    original: property = vars(owner)[name]
    get = cast(Callable[[Any], Any], original.fget)
    hooked: dict[type, type] = {}  # by PySpark's class, one for each of classic and Connect

    def made(self: Any) -> Any:
        given = get(self)
        session = session_of(self)
        if _session_id(session) in _enabled:
            kind = type(given)
            if kind not in hooked:
                hooked[kind] = type(kind.__name__, (hook, kind), {})
            given.__class__ = hooked[kind]
            given.begin(self)
        return given

    _originals[owner, name] = original
    setattr(owner, name, property(made, doc=original.__doc__))
