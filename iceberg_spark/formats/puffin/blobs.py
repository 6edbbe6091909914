"""Blobs in a Puffin file, and new blobs (puffin-spec)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

MAGIC = b"PFA1"
LZ4, ZSTD = "lz4", "zstd"
CREATED_BY = "created-by"
UNKNOWN = -1
"""The snapshot id and sequence number of a blob written before its snapshot exists."""


@dataclass(frozen=True, slots=True)
class BlobMetadata:
    """One blob: `offset` and `length` in stored bytes; `fields` are column ids."""

    type: str
    fields: tuple[int, ...]
    snapshot_id: int
    sequence_number: int
    offset: int
    length: int
    compression_codec: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PuffinFile:
    """A file's footer. `size` and `footer_size` are bytes; the footer's has its magic in it."""

    path: str
    size: int
    footer_size: int
    blobs: tuple[BlobMetadata, ...]
    properties: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class NewBlob:
    """A blob to be written: its plain bytes, and None or "zstd" to compress them."""

    type: str
    data: bytes
    fields: tuple[int, ...] = ()
    snapshot_id: int = UNKNOWN
    sequence_number: int = UNKNOWN
    compression_codec: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict)
