"""What decoders raise for bytes that are not what they say, as one error that names the file."""

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
"""A file's bytes lead a decoder anywhere: to a name that is missing, a number out of range, a
text that is none, a length that no machine holds."""


@contextmanager
def decoding(location: str) -> Iterator[None]:
    """Turn what a decoder raises into CorruptFileError naming the file."""
    try:
        yield
    except IcebergError:
        raise
    except MALFORMED as broken:
        raise CorruptFileError(
            f"{location} is truncated or malformed: {type(broken).__name__}: {broken}"
        ) from broken
