"""How often PySpark asks Java."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from pyspark.sql import SparkSession


class RoundTrips:
    """Commands that PySpark sent to Java; not those by which it lets Java's objects go.

    `longest` is the longest answer, in characters.
    """

    count = 0
    longest = 0


@contextmanager
def counted_round_trips(spark: SparkSession) -> Iterator[RoundTrips]:
    """Count them while the block runs."""
    found = RoundTrips()
    kind: Any = type(spark._jvm._gateway_client)  # type: ignore[union-attr]
    send = kind.send_command

    def counted(self: Any, command: str, *args: Any, **options: Any) -> Any:
        found.count += not command.startswith("m\n")
        answer = send(self, command, *args, **options)
        found.longest = max(found.longest, len(answer))
        return answer

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(kind, "send_command", counted)
        yield found
