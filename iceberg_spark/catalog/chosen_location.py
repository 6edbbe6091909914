"""Locations and properties of a new table that the caller or the catalog chooses."""

from __future__ import annotations

from collections.abc import Mapping

from iceberg_spark.catalog.catalog import Catalog, LoadedTable
from iceberg_spark.catalog.filesystem import FileSystemCatalog
from iceberg_spark.catalog.foreign_folder import check_free
from iceberg_spark.catalog.metadata_file import METADATA_FOLDER
from iceberg_spark.catalog.versions import holds_table
from iceberg_spark.errors import InvalidInputError, UnsupportedError
from iceberg_spark.io import location as locations
from iceberg_spark.spec.secrets import check_place


def chosen_location(catalog: Catalog, identifier: str, requested: str) -> str:
    """Return the location without a trailing slash.

    Raises:
        InvalidInputError: the location holds a secret or depends on the current folder.
        UnsupportedError: names are locations in this catalog, and the name is another one (Java:
            HadoopCatalog).
    """
    check_place(requested)
    if not locations.is_absolute(requested):
        raise InvalidInputError(f"LOCATION '{requested}': say the whole path, or one with a scheme")
    chosen = requested.rstrip("/") or requested
    if isinstance(catalog, FileSystemCatalog):
        named = catalog.location_of(identifier)
        if not locations.same_file(chosen, named):
            raise UnsupportedError(
                f"Catalog '{catalog.name}' finds tables by their folders, so the table can't be "
                f"at {requested}: leave LOCATION out"
            )
        return named
    return chosen


def moved_location(catalog: Catalog, base: LoadedTable, requested: str) -> str:
    """Return the location of a table's new files from now on.

    Raises:
        InvalidInputError: as `chosen_location`. Also for another store, since a table's files are
            opened in its own store only, and for the folder of another table, whose clean-up would
            remove these files.
        UnsupportedError: as `chosen_location`.
    """
    chosen, before = chosen_location(catalog, base.identifier, requested), base.metadata.location
    if locations.store_of(chosen) != locations.store_of(before):
        raise UnsupportedError(
            f"The table is at {before}, and its files can't be of two stores: make another table "
            f"at {requested}"
        )
    if not _was_at(base, chosen):
        check_free(base.io, chosen, requested=True)
        if holds_table(base.io, chosen):
            raise InvalidInputError(
                f"Another table is at {requested}, and would delete this one's files as orphans: "
                "choose a separate folder"
            )
    return chosen


def _was_at(base: LoadedTable, folder: str) -> bool:
    """Return whether a table is or was at a location, by its metadata log."""
    former = (entry.metadata_file for entry in base.metadata.metadata_log)
    return base.metadata.location == folder or any(
        path.startswith(f"{folder}/{METADATA_FOLDER}/") for path in former
    )


DEFAULT = "table-default."
OVERRIDE = "table-override."


def new_table_properties(catalog: Mapping[str, str], chosen: Mapping[str, str]) -> dict[str, str]:
    """Return a new table's properties: the catalog's defaults, the caller's, the overrides."""
    return {**_under(DEFAULT, catalog), **chosen, **_under(OVERRIDE, catalog)}


def _under(prefix: str, properties: Mapping[str, str]) -> dict[str, str]:
    start = len(prefix)
    return {key[start:]: value for key, value in properties.items() if key.startswith(prefix)}
