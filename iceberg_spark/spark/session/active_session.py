"""The SparkSession that a call uses, classic or Connect."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import cast

from pyspark.errors import PySparkRuntimeError
from pyspark.sql import SparkSession

from iceberg_spark.errors import InvalidInputError, InvalidTypeError
from iceberg_spark.spark.session.classic_session import is_stopped
from iceberg_spark.spark.session.session_cache import setting

TIME_ZONE_SETTING = "spark.sql.session.timeZone"
CASE_SETTING = "spark.sql.caseSensitive"
_chosen: ContextVar[SparkSession | None] = ContextVar("iceberg_spark_session", default=None)
"""The session that a statement, or a frame, is of: Spark's active one may be another."""


@contextmanager
def in_session(spark: SparkSession) -> Iterator[None]:
    """Make a session the active one for this library, in this thread, while the block runs.

    Neither PySpark's `sql` nor a DataFrame makes its session active.
    """
    token = _chosen.set(spark)
    try:
        yield
    finally:
        _chosen.reset(token)


def needed_session(spark: SparkSession | None = None) -> SparkSession:
    """Return the given session, or the active one. Raises InvalidInputError if there is none."""
    session = active_session() if spark is None else checked_session(spark)
    if session is None:
        raise InvalidInputError(
            "This runs on Spark, and there is no active SparkSession: start one with "
            "SparkSession.builder.getOrCreate(), or pass one where that can be done: to_df(spark)"
        )
    return session


def checked_session(spark: object) -> SparkSession:
    """Return a session that can be used, classic or Connect.

    Raises InvalidTypeError if it is not a session, InvalidInputError if it was stopped.
    """
    if not isinstance(spark, SparkSession) and not hasattr(spark, "session_id"):
        raise InvalidTypeError(
            f"A SparkSession is needed, not {type(spark).__name__}: start one with "
            "SparkSession.builder.getOrCreate() and pass it first, as in sql(spark, query)"
        )
    session = cast("SparkSession", spark)
    if is_stopped(session):
        raise InvalidInputError(
            "This SparkSession was stopped: start a new one with SparkSession.builder.getOrCreate()"
        )
    return session


def active_session() -> SparkSession | None:
    """Return this thread's session, else the process's, classic or Connect; None without one.

    Within `in_session` it is the session of the block. As in Spark, a thread that did not create
    the session has no active session, and gets the default one.
    """
    try:
        session = _chosen.get() or SparkSession.active()
    except PySparkRuntimeError:
        return None
    return None if is_stopped(session) else session


def is_case_sensitive(spark: SparkSession) -> bool:
    """Return whether names are case sensitive in a session's SQL."""
    return str(setting(spark, CASE_SETTING, "false")).lower() == "true"


def session_time_zone(spark: SparkSession | None = None) -> str | None:
    """Return the session's time zone, None without a session."""
    session = spark if spark is not None else active_session()
    return None if session is None else setting(session, TIME_ZONE_SETTING)
