"""Namespaces of a catalog, as PyIceberg's catalogs store them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, Protocol

from iceberg_spark.catalog.aws.aws_errors import as_ours
from iceberg_spark.catalog.catalog import LoadedTable, Name, exists_by_properties
from iceberg_spark.catalog.metadata_file import load_version
from iceberg_spark.catalog.table_name import has_two_parts
from iceberg_spark.errors import InvalidInputError, NoSuchNamespaceError
from iceberg_spark.io import location
from iceberg_spark.io.file_io import FileIO

WAREHOUSE = "warehouse"
_LOCATION = "location"


class Theirs:
    """A catalog of PyIceberg, created at first use: some call their service when created."""

    __slots__ = ("_catalog", "_make", "name")

    def __init__(self, name: str, make: Callable[[], Any]) -> None:
        self.name = name
        self._make = make
        self._catalog: Any = None

    @property
    def catalog(self) -> Any:
        """PyIceberg's catalog."""
        if self._catalog is None:
            with as_ours():
                self._catalog = self._make()
        return self._catalog


class MovableNames(Protocol):
    """Pointers whose tables can be added and renamed."""

    def insert(self, created: LoadedTable) -> bool:
        """Add a table; False if the name is taken."""
        ...

    def rename(self, identifier: str, new_identifier: str) -> None:
        """Rename a table."""
        ...

    def others(self, namespace: str) -> list[str]:
        """Return the names of a namespace's tables that are not Iceberg tables."""
        ...


class TheirNamespaces:
    """Namespaces of one level."""

    __slots__ = ("_io", "_pointers", "_theirs")

    def __init__(self, theirs: Theirs, pointers: MovableNames, io: FileIO) -> None:
        self._theirs = theirs
        self._pointers = pointers
        self._io = io

    def list_namespaces(self, parent: Name) -> list[Name]:
        """Return the namespaces, which have one level. Raises NoSuchNamespaceError."""
        if parent:
            self.properties(parent)
            return []
        with as_ours():
            return sorted(tuple(namespace) for namespace in self._theirs.catalog.list_namespaces())

    def exists(self, namespace: Name) -> bool:
        """Return whether the namespace exists."""
        return exists_by_properties(self, namespace)

    def create(self, namespace: Name, properties: Mapping[str, str]) -> None:
        """Create a namespace. Raises NamespaceAlreadyExistsError."""
        if len(namespace) != 1:
            raise InvalidInputError(f"{'.'.join(namespace)}: namespaces here have one level")
        with as_ours():
            self._theirs.catalog.create_namespace(namespace, dict(properties))

    def drop(self, namespace: Name) -> None:
        """Remove an empty namespace. Raises NoSuchNamespaceError, NamespaceNotEmptyError."""
        self.properties(namespace)
        with as_ours():
            self._theirs.catalog.drop_namespace(namespace)

    def what_stays(self, namespace: Name) -> str | None:
        """Return the first table that is not an Iceberg table. Raises NoSuchNamespaceError."""
        self.properties(namespace)
        others = self._pointers.others(namespace[0])
        return f"table {others[0]} in it is no table of Iceberg" if others else None

    def properties(self, namespace: Name) -> dict[str, str]:
        """Return a namespace's properties. Raises NoSuchNamespaceError."""
        return properties_of(self._theirs, namespace)

    def update_properties(
        self, namespace: Name, removals: Collection[str], updates: Mapping[str, str]
    ) -> None:
        """Remove and set properties in one step. Raises NoSuchNamespaceError."""
        self.properties(namespace)
        gone = set(removals) - updates.keys()
        with as_ours():
            self._theirs.catalog.update_namespace_properties(namespace, gone, dict(updates))

    def list_tables(self, namespace: Name) -> list[Name]:
        """Return the Iceberg tables in a namespace. Raises NoSuchNamespaceError."""
        self.properties(namespace)
        with as_ours():
            return sorted(
                tuple(identifier) for identifier in self._theirs.catalog.list_tables(namespace)
            )

    def rename_table(self, identifier: str, new_identifier: str) -> None:
        """Rename a table; its files stay.

        Raises NoSuchTableError, NoSuchNamespaceError, TableAlreadyExistsError.
        """
        self.properties(split_name(new_identifier)[:1])
        self._pointers.rename(identifier, new_identifier)

    def register_table(self, identifier: str, metadata_location: str) -> bool:
        """Register a table by a metadata file; False if the name is taken.

        Raises NoSuchNamespaceError.
        """
        self.properties(split_name(identifier)[:1])
        return self._pointers.insert(load_version(self._io, identifier, metadata_location))


def split_name(identifier: str) -> tuple[str, str]:
    """Return a table's namespace and name. Raises InvalidInputError."""
    namespace, _, name = identifier.rpartition(".")
    if not has_two_parts(identifier):
        raise InvalidInputError(f"'{identifier}' is not namespace.table, of one level each")
    return namespace, name


def properties_of(theirs: Theirs, namespace: Name) -> dict[str, str]:
    """Return a namespace's properties. Raises NoSuchNamespaceError."""
    if len(namespace) != 1:
        raise NoSuchNamespaceError(
            f"No namespace {'.'.join(namespace)} in catalog '{theirs.name}': they have one level"
        )
    with as_ours():
        stored = theirs.catalog.load_namespace_properties(namespace)
    return {str(key): str(value) for key, value in stored.items()}


def default_location(theirs: Theirs, identifier: str, warehouse: str | None) -> str:
    """Return the location of a new table: in its namespace's location or the warehouse."""
    namespace, name = split_name(identifier)
    home = properties_of(theirs, (namespace,)).get(_LOCATION)
    if home:
        return location.join(home.rstrip("/"), name)
    if not warehouse:
        raise InvalidInputError(
            f"Catalog '{theirs.name}' has no property {WAREHOUSE}, nor has namespace {namespace} a "
            "location: one of them says where new tables go"
        )
    return location.join(location.absolute(warehouse), f"{namespace}.db", name)
