"""Values of ours on their way to Spark's tasks and back; nothing else here takes pickles apart.

Only what this package pickled a moment ago, on the driver or in a task of the same job, comes back
through here: no bytes of a file or of a user.
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
class Parcel(Generic[T]):
    """What every task of a plan gets with its function: compressed, and opened where it is used."""

    data: bytes

    def opened(self) -> T:
        """Return the value."""
        value: T = unpickled(zlib.decompress(self.data))
        return value


def parcel(value: T) -> Parcel[T]:
    """Return a value ready to travel."""
    return Parcel(zlib.compress(pickled(value)))
