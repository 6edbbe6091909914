"""The folders that a purge emptied, in stores that keep empty folders."""

from __future__ import annotations

import os
from collections.abc import Collection
from contextlib import suppress

from iceberg_spark.catalog.metadata_file import METADATA_FOLDER
from iceberg_spark.catalog.own_folders import own_folders
from iceberg_spark.catalog.purge import DATA_FOLDER
from iceberg_spark.errors import IcebergError
from iceberg_spark.io import location
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.spec.metadata import TableMetadata


def remove_empty_folders(io: FileIO, home: str, metadata: TableMetadata) -> None:
    """Remove a purged table's own folders and its home, each unless it contains a file.

    An empty home would be a namespace in a catalog of folders. Never fails: folders that cannot be
    removed stay.
    """
    within = f"{location.normalise(home)}/"
    own = [location.join(home, name) for name in (DATA_FOLDER, METADATA_FOLDER)]
    own += [
        folder for folder in own_folders(metadata) if location.normalise(folder).startswith(within)
    ]
    if location.is_local(home):
        for folder in own:
            for current, _, _ in os.walk(location.strip_scheme(folder), topdown=False):
                _remove_local(current)
        _remove_local(location.strip_scheme(home))
    elif location.store_of(home) in location.HADOOP:
        with suppress(IcebergError):
            used = _used(io, home)
            for folder in own:
                _remove(io, folder, used)
            _remove_one(io, home, used)


def _remove_local(folder: str) -> None:
    with suppress(OSError):  # the folder has a file
        os.rmdir(folder)


def _used(io: FileIO, home: str) -> set[str]:
    """Return the folders that contain a file at any depth."""
    used = set()
    for info in io.list(home):
        path = location.normalise(info.path)
        while len(above := location.parent(path)) < len(path):
            used.add(path := above)
    return used


def _remove(io: FileIO, folder: str, used: Collection[str]) -> None:
    for child in io.list_folders(folder):
        _remove(io, child, used)
    _remove_one(io, folder, used)


def _remove_one(io: FileIO, folder: str, used: Collection[str]) -> None:
    if location.normalise(folder) not in used:
        io.delete(folder)  # refused if the folder got a file since
