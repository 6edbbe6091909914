"""Whether a view may be stored at a location that a user chooses."""

from __future__ import annotations

from iceberg_spark.catalog.file_owner import at_the_ends, is_of_view
from iceberg_spark.catalog.foreign_folder import foreign_folder
from iceberg_spark.catalog.metadata_file import METADATA_FOLDER, is_metadata_file
from iceberg_spark.catalog.versions import is_pointer
from iceberg_spark.errors import InvalidInputError
from iceberg_spark.io import location
from iceberg_spark.io.file_io import FileIO

_LOOKED_AT = 100
"""Metadata files to read at each end, to find whether tables or views own them."""


def check_view_place(io: FileIO, folder: str) -> None:
    """Refuse a table's folder: the table would read a view's file or remove it (Java allows this).

    Views may share a folder: each has its own files, identified by UUID. Raises InvalidInputError,
    StorageError.
    """
    foreign = foreign_folder(io, folder)
    if foreign is not None and foreign.is_owned:
        raise _refused(folder, foreign.what)
    if _holds_table(io, folder):
        raise _refused(folder, "a table's")


def _holds_table(io: FileIO, folder: str) -> bool:
    """Return whether a folder's metadata is a table's, by its oldest and newest files."""
    infos = io.list(location.join(folder, METADATA_FOLDER))
    paths = [info.path for info in infos if is_pointer(info.path)]
    if not all(map(is_metadata_file, paths)):
        return True
    return not all(is_of_view(io, path) for path in at_the_ends(paths, _LOOKED_AT))


def _refused(folder: str, what: str) -> InvalidInputError:
    return InvalidInputError(
        f"A view can't be at {folder}, for it is {what}: say a folder of its own"
    )
