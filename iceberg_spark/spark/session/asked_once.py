"""What a statement asks of its session: once, so that all of its parts hear the same.

Each answer is a round trip, over Connect a request; some are asked for a dozen times in a query.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pyspark.sql import SparkSession

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True, eq=False)
class _Asked:
    """The answers of a session, by what was asked; they may hold secrets."""

    session: SparkSession
    answers: dict[Hashable, Any] = field(default_factory=dict, repr=False)


_asked: ContextVar[_Asked | None] = ContextVar("iceberg_spark_asked", default=None)


@contextmanager
def asking_once(session: SparkSession) -> Iterator[None]:
    """Ask a session once, in this thread, while the block runs: it sets nothing that it asks for.

    Inside another block of the same session that one's answers are good.
    """
    around = _asked.get()
    token = _asked.set(around if around and around.session is session else _Asked(session))
    try:
        yield
    finally:
        _asked.reset(token)


@contextmanager
def asking_anew() -> Iterator[None]:
    """Ask each time while the block runs, which may change what the session says."""
    token = _asked.set(None)
    try:
        yield
    finally:
        _asked.reset(token)


def once(session: SparkSession, what: Hashable, ask: Callable[[], Answer]) -> Answer:
    """Return what `ask` says, or what it said before in the same block."""
    asked = _asked.get()
    if asked is None or asked.session is not session:
        return ask()
    if what not in asked.answers:
        asked.answers[what] = ask()
    found: Answer = asked.answers[what]
    return found


def setting(session: SparkSession, name: str, *default: str | None) -> str | None:
    """Return a setting of SQL as `conf.get` does, asked for once.

    A default that is given, be it None, comes before Spark's own: `spark.sql.session.timeZone` is
    the JVM's zone only where none is given.
    """
    return once(session, (name, default), lambda: session.conf.get(name, *default))
