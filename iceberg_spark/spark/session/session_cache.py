"""Settings of a session and what follows from them, cached while one statement is planned.

Each value costs a round trip to the JVM, or a request over Connect, and a statement needs some of
them a dozen times. All parts of a statement see the same values.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pyspark.sql import SparkSession

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True, eq=False)
class _SessionValues:
    """The values of a session by their keys; they may hold secrets."""

    session: SparkSession
    values: dict[Hashable, Any] = field(default_factory=dict, repr=False)


_active: ContextVar[_SessionValues | None] = ContextVar("iceberg_spark_session_cache", default=None)


@contextmanager
def session_cache(session: SparkSession) -> Iterator[None]:
    """Cache the values of a session in this thread, for a block that does not change settings.

    A block within another one of the same session shares its values.
    """
    outer = _active.get()
    token = _active.set(outer if outer and outer.session is session else _SessionValues(session))
    try:
        yield
    finally:
        _active.reset(token)


@contextmanager
def bypass_cache() -> Iterator[None]:
    """Read all values from the session, for a block that may change its settings."""
    token = _active.set(None)
    try:
        yield
    finally:
        _active.reset(token)


def cached(session: SparkSession, key: Hashable, load: Callable[[], Value]) -> Value:
    """Return a value of a session, loaded once in a block of `session_cache`."""
    active = _active.get()
    if active is None or active.session is not session:
        return load()
    if key not in active.values:
        active.values[key] = load()
    value: Value = active.values[key]
    return value


def setting(session: SparkSession, name: str, *default: str | None) -> str | None:
    """Return a setting as `session.conf.get` does.

    A given default, also None, comes before Spark's own: `spark.sql.session.timeZone` is the zone
    of the JVM only if there is no default.
    """
    return cached(session, (name, default), lambda: session.conf.get(name, *default))
