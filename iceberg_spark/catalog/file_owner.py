"""Whose a metadata file is: tables and views may come to share a folder, by their renaming."""

from __future__ import annotations

import json
from collections.abc import Sequence

from iceberg_spark.catalog.metadata_file import inflated_text, number_of, version_of
from iceberg_spark.errors import CorruptFileError, NoSuchFileError
from iceberg_spark.io import location
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.io.limits import limits_of

_ANY_NUMBER = -1


def owner_of(io: FileIO, path: str) -> str | None:
    """Return the UUID of the table or view that a metadata file describes, of any version.

    That of a table of version 1 may be "". None: there is no such file, or no metadata in it.
    Raises StorageError, UnsupportedError (too large to be read here).
    """
    try:
        node = json.loads(inflated_text(path, io.read_bytes(path), limits_of(io.properties)))
    except (NoSuchFileError, CorruptFileError, ValueError, RecursionError):
        return None
    if not isinstance(node, dict) or not {"format-version", "location"} & node.keys():
        return None
    return str(node.get("table-uuid", node.get("view-uuid", "")))


def at_the_ends(paths: Sequence[str], most: int) -> list[str]:
    """Return the metadata files of the highest and lowest numbers, so many of each, newest first.

    A table that nobody knows of has its newest or its first ones there, if not both.
    """
    ordered = sorted(paths, key=_number, reverse=True)
    return ordered if len(ordered) <= 2 * most else [*ordered[:most], *ordered[-most:]]


def _number(path: str) -> tuple[int, str]:
    name = location.name(path)
    number = version_of(name)
    number = number_of(name) if number is None else number
    return _ANY_NUMBER if number is None else number, path
