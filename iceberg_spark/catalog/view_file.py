"""Metadata files of views: read and write (Java: BaseViewOperations, ViewMetadataParser)."""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass

from iceberg_spark.catalog.metadata_file import (
    Codec,
    codec_of,
    compress_text,
    inflated_text,
    metadata_location,
    numbered_name,
)
from iceberg_spark.errors import IcebergError
from iceberg_spark.io.decoding import decoding
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.io.limits import limits_of
from iceberg_spark.spec.json_node import parse_json
from iceberg_spark.spec.view import ViewMetadata
from iceberg_spark.spec.view_json import view_from_dict, view_to_dict


@dataclass(frozen=True, slots=True)
class StoredView:
    """A view and the metadata file that describes it."""

    identifier: str
    metadata: ViewMetadata
    metadata_location: str


def read_view(io: FileIO, identifier: str, path: str) -> StoredView:
    """Return the view in a metadata file.

    Raises NoSuchFileError, CorruptFileError naming the file, UnsupportedError (a newer format).
    """
    text = inflated_text(path, io.read_bytes(path), limits_of(io.properties))
    try:
        with decoding("The view"):
            return StoredView(identifier, view_from_dict(parse_json(text, "The view")), path)
    except IcebergError as cause:
        raise type(cause)(f"Metadata file {path}: {cause}") from cause


def write_view(io: FileIO, identifier: str, view: ViewMetadata, version: int) -> StoredView:
    """Write a metadata file of a new name, gzip unless a property disables it.

    Raises UnsupportedError (an unknown kind of query), InvalidOptionError.
    """
    codec = codec_of(view.properties, Codec.GZIP)
    text = json.dumps(view_to_dict(view), separators=(",", ":"), ensure_ascii=False)
    path = metadata_location(view, numbered_name(version, str(uuid.uuid4()), codec))
    io.create_if_absent(path, compress_text(text, codec))
    return StoredView(identifier, view, path)
