"""A place for a table that somebody asks for, instead of the one that its catalog would give it."""

from __future__ import annotations

from iceberg_spark.catalog.catalog import Catalog
from iceberg_spark.catalog.filesystem import FileSystemCatalog
from iceberg_spark.errors import InvalidInputError, UnsupportedError
from iceberg_spark.io import location as locations
from iceberg_spark.spec.secrets import check_place


def chosen_location(catalog: Catalog, identifier: str, asked: str) -> str:
    """Return the place, without a slash at its end.

    Raises InvalidInputError for one that holds a secret, or depends on the current folder, and
    UnsupportedError for another place than the name says where names are places (Java:
    HadoopCatalog).
    """
    check_place(asked)
    if not locations.is_absolute(asked):
        raise InvalidInputError(f"LOCATION '{asked}': say the whole path, or one with a scheme")
    place = asked.rstrip("/") or asked
    if isinstance(catalog, FileSystemCatalog):
        named = catalog.location_of(identifier)
        if not locations.same_file(place, named):
            raise UnsupportedError(
                f"Catalog '{catalog.name}' finds tables by their folders, so the table can't be "
                f"at {asked}: leave LOCATION out"
            )
        return named
    return place


def moved_location(catalog: Catalog, identifier: str, before: str, asked: str) -> str:
    """Return where new files of a table go that is at `before`; raises as `chosen_location`.

    Another store is refused too, since files of a table are opened in its own store only.
    """
    place = chosen_location(catalog, identifier, asked)
    if locations.store_of(place) != locations.store_of(before):
        raise UnsupportedError(
            f"The table is at {before}, and its files can't be of two stores: make another table "
            f"at {asked}"
        )
    return place
