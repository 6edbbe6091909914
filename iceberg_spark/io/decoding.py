"""Convert decoders' errors about malformed bytes to one error that names the file."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa

from iceberg_spark.errors import CorruptFileError, IcebergError

MALFORMED = (
    ArithmeticError, AttributeError, EOFError, LookupError, MemoryError, RecursionError,
    TypeError, ValueError, struct.error, pa.ArrowException,
)  # fmt: skip
"""Malformed bytes lead a decoder anywhere: to a missing name, a number out of range, invalid
text, a length that exceeds memory."""


@contextmanager
def decoding(location: str) -> Iterator[None]:
    """Convert a decoder's errors to CorruptFileError naming the file."""
    try:
        yield
    except IcebergError:
        raise
    except MALFORMED as broken:
        raise CorruptFileError(
            f"{location} is truncated or malformed: {type(broken).__name__}: {broken}"
        ) from broken
