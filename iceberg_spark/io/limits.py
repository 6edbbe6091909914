"""How much a file may ask of the reader before it is taken for broken or hostile.

A few kilobytes can claim, or grow to, gigabytes. What a file of the table's own is allowed
follows from its size; storage properties raise that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from iceberg_spark.errors import CorruptFileError, InvalidOptionError

MAX_DECOMPRESSED_BYTES = "io.max-decompressed-bytes"
MAX_AVRO_TYPES = "io.max-avro-types"
MAX_EMPTY_RECORDS = "io.max-empty-records"

_LEAST_BYTES = 16 * 1024 * 1024
_MOST_GROWTH = 200
"""Times its size that a file may grow: manifests of equal entries reach 60 (see the tests)."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What one file may ask for.

    `decompressed_bytes` bounds a metadata file, a manifest list, a manifest, a block of an Avro
    data file; None: 16 MB or 200 times the stored size, whichever is more. `avro_types` bounds
    the types of an Avro schema, repeated ones counted each time; `empty_records` the records
    of a block that take no bytes, since nothing else bounds their number.
    """

    decompressed_bytes: int | None = None
    avro_types: int = 100_000
    empty_records: int = 1_000_000

    def bytes_for(self, stored: int) -> int:
        """Return how many bytes may come of `stored` ones."""
        if self.decompressed_bytes is not None:
            return self.decompressed_bytes
        return max(_LEAST_BYTES, stored * _MOST_GROWTH)


DEFAULT_LIMITS = Limits()


def limits_of(properties: Mapping[str, str]) -> Limits:
    """Return the limits that storage properties set. Raises InvalidOptionError naming one."""
    return Limits(
        _positive(properties, MAX_DECOMPRESSED_BYTES, None),
        _positive(properties, MAX_AVRO_TYPES, DEFAULT_LIMITS.avro_types) or 0,
        _positive(properties, MAX_EMPTY_RECORDS, DEFAULT_LIMITS.empty_records) or 0,
    )


def too_many_bytes(where: str, allowed: int) -> CorruptFileError:
    """Return the error for a file or a part of one that grows beyond its limit."""
    return CorruptFileError(
        f"{where} grows beyond {allowed:,} bytes when it is decompressed; if that is as it should "
        f"be, set the storage property {MAX_DECOMPRESSED_BYTES} to more"
    )


def _positive(properties: Mapping[str, str], key: str, default: int | None) -> int | None:
    text = properties.get(key)
    if text is None:
        return default
    if not (text.isascii() and text.isdecimal() and int(text) > 0):
        raise InvalidOptionError(
            f"Storage property {key} must be a whole number above 0, not '{text}'"
        )
    return int(text)
