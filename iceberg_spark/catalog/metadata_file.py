"""Metadata files: their names and locations, plain or gzip."""

from __future__ import annotations

import gzip
import hashlib
import re
from collections.abc import Mapping
from enum import StrEnum

from iceberg_spark.catalog.catalog import LoadedTable
from iceberg_spark.catalog.decoded_tables import decode_table, decoded_file
from iceberg_spark.catalog.table_io import table_io
from iceberg_spark.errors import CorruptFileError, InvalidOptionError
from iceberg_spark.io import location
from iceberg_spark.io.decoding import BROKEN, GZIP, decoding, inflate
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.io.limits import DEFAULT_LIMITS, Limits, limits_of
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.metadata_json import metadata_from_json, metadata_to_json
from iceberg_spark.spec.properties import (
    METADATA_COMPRESSION,
    WRITE_METADATA_PATH,
    text_property,
)
from iceberg_spark.spec.view import ViewMetadata

METADATA_FOLDER = "metadata"

_GZIP_MAGIC = b"\x1f\x8b"
_SUFFIX = r"(?:\.gz\.metadata\.json|\.metadata\.json|\.metadata\.json\.gz)"
_VERSIONED = re.compile(rf"^v(\d+){_SUFFIX}$")
_NUMBERED = re.compile(rf"^(\d+)-.+?{_SUFFIX}$")
_METADATA_FILE = re.compile(rf"^.+{_SUFFIX}$")


class Codec(StrEnum):
    """The compression of a metadata file."""

    NONE = "none"
    GZIP = "gzip"


def codec_of(properties: Mapping[str, str], default: Codec | None = None) -> Codec:
    """Return the codec of table properties. Raises InvalidOptionError."""
    text = text_property(properties, METADATA_COMPRESSION, default)
    try:
        return Codec(text.lower())
    except ValueError:
        raise InvalidOptionError(
            f"Table property {METADATA_COMPRESSION} must be none or gzip, not '{text}'"
        ) from None


def versioned_name(version: int, codec: Codec = Codec.NONE) -> str:
    """Return the file name of a version of a file-system table."""
    return f"v{version}{_extension(codec)}"


def versioned_names(version: int) -> tuple[str, ...]:
    """Return every spelling of a version's file name (specification: "Naming for GZIP ...")."""
    return (
        versioned_name(version),
        versioned_name(version, Codec.GZIP),
        f"v{version}.metadata.json.gz",
    )


def numbered_name(version: int, unique: str, codec: Codec = Codec.NONE) -> str:
    """Return the file name of a version of a metastore table."""
    return f"{version:05d}-{unique}{_extension(codec)}"


def _extension(codec: Codec) -> str:
    return ".gz.metadata.json" if codec is Codec.GZIP else ".metadata.json"


def version_of(name: str) -> int | None:
    """Return the version in `v<N>.metadata.json`, None for another name."""
    match = _VERSIONED.match(name)
    return int(match.group(1)) if match else None


def number_of(name: str) -> int | None:
    """Return the version in `<N>-<uuid>.metadata.json`, None for another name."""
    match = _NUMBERED.match(name)
    return int(match.group(1)) if match else None


def is_metadata_file(path: str) -> bool:
    """Return whether a location is a metadata file rather than a table's folder."""
    return _METADATA_FILE.match(location.name(path)) is not None


def read_metadata(io: FileIO, path: str) -> TableMetadata:
    """Return the metadata in a file, gzip or not, whatever its name says.

    Raises:
        NoSuchFileError: the file does not exist.
        CorruptFileError: the file cannot be decoded; the message names it.
        UnsupportedError: the format version is newer than this library.
    """
    return decode_metadata(path, io.read_bytes(path), limits_of(io.properties))


def load_version(
    io: FileIO, table: str, path: str, cached: LoadedTable | None = None
) -> LoadedTable:
    """Return a table at one of its metadata files; raises as `read_metadata` does.

    If the bytes are those of `cached`, reuses its metadata: parsing thousands of snapshots is most
    of the time of a small commit.
    """
    data = io.read_bytes(path)
    digest = digest_of(data)
    if cached is not None and cached.digest == digest:
        metadata = cached.metadata
    else:
        limits = limits_of(io.properties)
        metadata = decoded_file((digest, limits), lambda: _sized(path, data, limits))
    return LoadedTable(table, metadata, path, table_io(io, path), digest)


def digest_of(data: bytes) -> bytes:
    """Return a digest of the bytes of a metadata file."""
    return hashlib.blake2b(data, digest_size=16).digest()


def decode_metadata(path: str, data: bytes, limits: Limits = DEFAULT_LIMITS) -> TableMetadata:
    """Return the metadata in the bytes of the file `path`."""
    return _sized(path, data, limits)[0]


def _sized(path: str, data: bytes, limits: Limits) -> tuple[TableMetadata, int]:
    """Return metadata and the number of its uncompressed bytes."""
    data = inflated_text(path, data, limits)
    with decoding(f"Metadata file {path}"):
        return metadata_from_json(data, f"Metadata file {path}", decode_table), len(data)


def inflated_text(path: str, data: bytes, limits: Limits) -> bytes:
    """Return the text in a metadata file, gzip or not, whatever its name says.

    Raises CorruptFileError, which names the file.
    """
    if not data.startswith(_GZIP_MAGIC):
        return data
    try:
        return inflate(data, GZIP, limits, f"Metadata file {path}")
    except BROKEN as error:
        raise CorruptFileError(f"Metadata file {path} is truncated or not gzip: {error}") from error


def encode_metadata(metadata: TableMetadata, codec: Codec) -> bytes:
    """Return metadata as the bytes of its file; the same metadata gives the same bytes."""
    return compress_text(metadata_to_json(metadata), codec)


def compress_text(text: str, codec: Codec) -> bytes:
    """Return the bytes of a file for its text; the same text gives the same bytes."""
    data = text.encode()
    return gzip.compress(data, mtime=0) if codec is Codec.GZIP else data


def metadata_location(metadata: TableMetadata | ViewMetadata, name: str) -> str:
    """Return the location of a new metadata file (a manifest, a list) of a table or view.

    `write.metadata.path` if it is set, relative to the table's location or absolute (specification:
    "Path Construction"), otherwise the folder `metadata`.
    """
    folder = metadata.properties.get(WRITE_METADATA_PATH, METADATA_FOLDER)
    if location.is_absolute(folder):
        return location.join(folder, name)
    return location.join(metadata.location, folder, name)
