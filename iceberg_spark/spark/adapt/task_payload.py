"""Pickled values on their way to Spark's tasks and back; no other module unpickles.

Only bytes that this package pickled itself, on the driver or in a task of the same job, are
unpickled here: never bytes of a file or from a user.
"""

from __future__ import annotations

import pickle
import zlib
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

T = TypeVar("T")


def pickled(value: object) -> bytes:
    """Return a value as bytes."""
    return pickle.dumps(value, pickle.HIGHEST_PROTOCOL)


def unpickled(data: bytes) -> Any:
    """Return the value of bytes that `pickled` made."""
    return pickle.loads(data)  # noqa: S301 - bytes of our own


@dataclass(frozen=True, slots=True)
class Payload(Generic[T]):
    """What every task of a plan gets with its function: compressed, and opened where it is used."""

    data: bytes

    def opened(self) -> T:
        """Return the value."""
        value: T = unpickled(zlib.decompress(self.data))
        return value


def payload(value: T) -> Payload[T]:
    """Return a value ready to travel."""
    return Payload(zlib.compress(pickled(value)))
