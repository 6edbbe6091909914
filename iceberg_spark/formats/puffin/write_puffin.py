"""Puffin files written: blobs one after another, then a plain footer, as Java writes it."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from iceberg_spark.errors import InvalidInputError
from iceberg_spark.formats.puffin.blobs import (
    CREATED_BY,
    MAGIC,
    ZSTD,
    BlobMetadata,
    NewBlob,
    PuffinFile,
)
from iceberg_spark.io.file_io import FileIO

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

_NO_FLAGS = bytes(4)


def write_puffin(
    io: FileIO, path: str, blobs: Iterable[NewBlob], properties: Mapping[str, str] | None = None
) -> PuffinFile:
    """Write a file of blobs, which are consumed one by one, and return its footer.

    `created-by` is set unless `properties` have it. Raises InvalidInputError for an unsupported
    codec, StorageError.
    """
    named = {CREATED_BY: _us(), **(properties or {})}
    written: list[BlobMetadata] = []
    offset = len(MAGIC)
    with io.create(path) as out:
        out.write(MAGIC)
        for blob in blobs:
            stored = _stored(blob)
            out.write(stored)
            written.append(_described(blob, offset, len(stored)))
            offset += len(stored)
        footer = _footer(written, named)
        out.write(footer)
    return PuffinFile(path, offset + len(footer), len(footer), tuple(written), named)


def _us() -> str:
    try:
        return f"iceberg-spark {version('iceberg-spark')}"
    except PackageNotFoundError:  # on a PYTHONPATH, not installed
        return "iceberg-spark"


def _stored(blob: NewBlob) -> bytes:
    match blob.compression_codec:
        case None:
            return blob.data
        case "zstd":
            return zstd.compress(blob.data)  # one frame that has its content's size
        case other:
            raise InvalidInputError(f"Puffin blobs are written plain or by {ZSTD}, not '{other}'")


def _described(blob: NewBlob, offset: int, length: int) -> BlobMetadata:
    return BlobMetadata(
        blob.type,
        blob.fields,
        blob.snapshot_id,
        blob.sequence_number,
        offset,
        length,
        blob.compression_codec,
        blob.properties,
    )


def _footer(blobs: Iterable[BlobMetadata], properties: Mapping[str, str]) -> bytes:
    described = {"blobs": [_as_json(blob) for blob in blobs], "properties": dict(properties)}
    payload = json.dumps(described, separators=(",", ":"), ensure_ascii=False).encode()
    return MAGIC + payload + len(payload).to_bytes(4, "little") + _NO_FLAGS + MAGIC


def _as_json(blob: BlobMetadata) -> dict[str, Any]:
    node: dict[str, Any] = {
        "type": blob.type,
        "fields": list(blob.fields),
        "snapshot-id": blob.snapshot_id,
        "sequence-number": blob.sequence_number,
        "offset": blob.offset,
        "length": blob.length,
    }
    if blob.compression_codec is not None:
        node["compression-codec"] = blob.compression_codec
    if blob.properties:
        node["properties"] = dict(blob.properties)
    return node
