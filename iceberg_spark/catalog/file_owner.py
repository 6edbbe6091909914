"""The owner of a metadata file: after renames, tables and views can share a folder."""

from __future__ import annotations

import json
from collections.abc import Sequence

from iceberg_spark.catalog.metadata_file import inflated_text, number_of, version_of
from iceberg_spark.errors import CorruptFileError, NoSuchFileError
from iceberg_spark.io import location
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.io.limits import limits_of

_ANY_NUMBER = -1
_VIEW = "view-uuid"


def owner_of(io: FileIO, path: str) -> str | None:
    """Return the UUID of the table or view that a metadata file of any version describes.

    The UUID of a table of version 1 can be "". None: the file does not exist or has no metadata.
    Raises StorageError, UnsupportedError (too large to read here).
    """
    node = _metadata_in(io, path)
    return None if node is None else str(node.get("table-uuid", node.get(_VIEW, "")))


def is_of_view(io: FileIO, path: str) -> bool:
    """Return whether a metadata file describes a view; raises as `owner_of`."""
    return _VIEW in (_metadata_in(io, path) or {})


def _metadata_in(io: FileIO, path: str) -> dict[str, object] | None:
    try:
        node = json.loads(inflated_text(path, io.read_bytes(path), limits_of(io.properties)))
    except (NoSuchFileError, CorruptFileError, ValueError, RecursionError):
        return None
    is_metadata = isinstance(node, dict) and {"format-version", "location"} & node.keys()
    return node if is_metadata else None


def at_the_ends(paths: Sequence[str], most: int) -> list[str]:
    """Return that many metadata files of the highest and of the lowest numbers, newest first.

    A table that no catalog has still has its newest or its first metadata files there, or both.
    """
    ordered = sorted(paths, key=_number, reverse=True)
    return ordered if len(ordered) <= 2 * most else [*ordered[:most], *ordered[-most:]]


def _number(path: str) -> tuple[int, str]:
    name = location.name(path)
    number = version_of(name)
    number = number_of(name) if number is None else number
    return _ANY_NUMBER if number is None else number, path
