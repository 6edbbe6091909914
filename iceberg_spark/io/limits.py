"""Limits of decompression and decoding: beyond them a file counts as broken or hostile.

A few kilobytes can claim, or grow to, gigabytes. The limits of a table's own file follow from its
size; storage properties raise them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from iceberg_spark.errors import CorruptFileError, InvalidOptionError

MAX_DECOMPRESSED_BYTES = "io.max-decompressed-bytes"
MAX_AVRO_TYPES = "io.max-avro-types"
MAX_EMPTY_RECORDS = "io.max-empty-records"


@dataclass(frozen=True, slots=True)
class Growth:
    """Limits of the decompressed size, unless a storage property sets one."""

    least_bytes: int = 16 * 1024 * 1024
    """Bytes that any file may grow to."""
    times_of_equals: int = 1_000
    """Times its size that a file may grow whose entries differ by a number only, ..."""
    bytes_of_equals: int = 256 * 1024 * 1024
    """... up to so many bytes: 30,000 such entries, with statistics of 10 columns, grow 120 times
    and to 36 MB."""
    times: int = 200
    """Times its size that a manifest of a wide table may grow (mostly null columns), ..."""
    bytes_of_wide: int = 512 * 1024 * 1024
    """... up to so many bytes: four times the manifests that Java writes of 100 such columns."""
    times_of_large: int = 32
    """Times its size that any file may grow: entries have names and bounds of their own, so that
    a million of them, in 100 MB, grow 5 to 20 times."""
    read_whole_bytes: int = 2 << 30
    """Bytes of a file that is read whole: metadata, a manifest list, a manifest. A sparse file of
    a few kilobytes may claim more; a manifest of a million files has some 100 MB."""
    parts: int = 1_000
    """Members or frames in sequence; each needs a decompressor, and may be empty."""
    fixed_bytes: int = 1 << 30
    """Bytes of a column of type fixed: a null takes a byte in the file and its whole length in
    Arrow."""


GROWTH = Growth()


@dataclass(frozen=True, slots=True)
class RangeLimits:
    """How objects are read by ranges; a request costs as much as some megabytes."""

    tail_bytes: int = 128 * 1024
    """Size of the first request, for a file's end: most footers, and small files completely."""
    least_bytes: int = 64 * 1024
    """Bytes of the smallest request."""
    part_bytes: int = 8 * 1024 * 1024
    """Bytes of the largest request; more is fetched by several at the same time."""
    at_once: int = 8
    """Requests of a process for parts at the same time."""
    upload_bytes: int = 8 * 1024 * 1024
    """Bytes of a part of an upload; less is put whole."""
    uploads_at_once: int = 4
    """Parts of a file that are sent at the same time."""


RANGES = RangeLimits()


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one file.

    `decompressed_bytes` limits a metadata file, a manifest list, a manifest, a block of an Avro
    data file; None: 32 times the stored size, up to 512 MB 200 times, up to 256 MB 1,000 times,
    and always 16 MB. `avro_types` limits the types of an Avro schema, repetitions counted;
    `empty_records` the records of a block that take no bytes, which have no other limit.
    """

    decompressed_bytes: int | None = None
    avro_types: int = 100_000
    empty_records: int = 1_000_000

    def bytes_for(self, stored: int) -> int:
        """Return the limit of the decompressed size of `stored` bytes."""
        if self.decompressed_bytes is not None:
            return self.decompressed_bytes
        of_equals = min(stored * GROWTH.times_of_equals, GROWTH.bytes_of_equals)
        of_wide = min(stored * GROWTH.times, GROWTH.bytes_of_wide)
        return max(GROWTH.least_bytes, of_equals, of_wide, stored * GROWTH.times_of_large)


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


def check_read_whole(where: str, size: int) -> None:
    """Refuse to read a whole file that no honest writer makes. Raises CorruptFileError."""
    if size > GROWTH.read_whole_bytes:
        raise CorruptFileError(
            f"{where} has {size:,} bytes; metadata, manifests and Avro files with more than "
            f"{GROWTH.read_whole_bytes:,} bytes are not read"
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
