"""Settings of a session for a while."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any


@contextmanager
def settings(spark: Any, given: Mapping[str, str]) -> Iterator[None]:
    """Set them, and put back what was there."""
    before = {key: spark.conf.get(key, None) for key in given}
    try:
        for key, value in given.items():
            spark.conf.set(key, value)
        yield
    finally:
        for key, value in before.items():
            spark.conf.unset(key) if value is None else spark.conf.set(key, value)
