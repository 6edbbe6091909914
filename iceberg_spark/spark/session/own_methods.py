"""PySpark's own methods in an enabled session, for the library's internal steps.

`enable` replaces methods such as `SparkSession.sql`. The library calls the originals in steps whose
text names no Iceberg table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from pyspark.sql import DataFrame, SparkSession

_uses_originals: ContextVar[bool] = ContextVar("iceberg_spark_uses_originals", default=False)


@contextmanager
def original_methods() -> Iterator[None]:
    """Have replaced methods call the originals in this thread while the block runs."""
    token = _uses_originals.set(True)
    try:
        yield
    finally:
        _uses_originals.reset(token)


def uses_original_methods() -> bool:
    """Return whether a replaced method must call the original."""
    return _uses_originals.get()


def run_sql(
    session: SparkSession,
    text: str,
    args: Mapping[str, Any] | Sequence[Any] | None = None,
    /,
    **frames: DataFrame,
) -> DataFrame:
    """Run a statement by PySpark's own `SparkSession.sql`. Raises what that raises."""
    values = dict(args) if isinstance(args, Mapping) else list(args or ())
    with original_methods():
        return session.sql(text, args=values or None, **frames)
