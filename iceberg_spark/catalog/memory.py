"""A catalog in this process's memory, for tests and trials.

It names its metadata files like a metastore. Catalogs of one name share their namespaces and tables
within a process. A table does not need an explicitly created namespace.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from iceberg_spark.catalog.catalog import LoadedTable, Name
from iceberg_spark.catalog.pointer_catalog import Move, PointerCatalog
from iceberg_spark.catalog.view_file import StoredView
from iceberg_spark.errors import (
    InvalidInputError,
    NamespaceAlreadyExistsError,
    NamespaceNotEmptyError,
    NoSuchNamespaceError,
    NoSuchTableError,
    NoSuchViewError,
    TableAlreadyExistsError,
    ViewAlreadyExistsError,
)
from iceberg_spark.io import location

_LOCATION = "location"


def memory_catalog(name: str, properties: Mapping[str, str] | None = None) -> PointerCatalog:
    """Return the catalog of that name; its tables' files are stored at their locations."""
    settings = properties or {}
    warehouse = settings.get("warehouse", f"memory://{name}")
    listed = MemoryNamespaces(name)
    pointers = MemoryCatalog(name, warehouse)
    named = MemoryViews(name, listed.check, pointers.default_location)
    return PointerCatalog(name, settings, pointers, listed, memory_catalog, named)


class MemoryCatalog:
    """A pointer for each table, moved under a lock."""

    __slots__ = ("_name", "_warehouse")

    def __init__(self, name: str, warehouse: str) -> None:
        self._name = name
        self._warehouse = warehouse

    def find(self, identifier: str) -> str | None:
        """Return the location of a table's newest metadata file, None if there is no table."""
        return tables.get((self._name, identifier))

    def insert(self, created: LoadedTable) -> bool:
        """Add a table; False if the name is taken."""
        path = created.metadata_location
        with swap:
            if is_taken(self._name, created.identifier):
                return self.find(created.identifier) == path
            tables[self._name, created.identifier] = path
            return True

    def move(self, base: LoadedTable, created: LoadedTable) -> bool:
        """Move a table's pointer; False if it is not at `base`."""
        return self.move_all((Move(base, created),))

    def move_all(self, moves: Sequence[Move]) -> bool:
        """Move several pointers in one step; False, without any move, if one is not at its base."""
        with swap:
            fit = all(
                self.find(moved.identifier) == base.metadata_location for base, moved in moves
            )
            for moved in [move.created for move in moves] if fit else ():
                tables[self._name, moved.identifier] = moved.metadata_location
            return fit

    def remove(self, identifier: str, expected: str | None = None) -> bool:
        """Remove a table's pointer; False if there is none, or it differs from `expected`."""
        with swap:
            pointer = self.find(identifier)
            if pointer is None or pointer != (expected or pointer):
                return False
            del tables[self._name, identifier]
            return True

    def default_location(self, identifier: str) -> str:
        """Return the location of a new table: in its namespace's `location` or the warehouse."""
        parts = identifier.split(".")
        if not all(parts):
            raise InvalidInputError(f"'{identifier}' is no name of a table: a part of it is empty")
        home = namespaces.get((self._name, tuple(parts[:-1])), {}).get(_LOCATION)
        if home:
            return location.join(home, parts[-1])
        return location.join(location.absolute(self._warehouse), *parts)


class MemoryNamespaces:
    """Namespaces that were created, and those of tables without one."""

    __slots__ = ("_catalog",)

    def __init__(self, catalog: str) -> None:
        self._catalog = catalog

    def list_namespaces(self, parent: Name) -> list[Name]:
        """Return the child namespaces of a namespace. Raises NoSuchNamespaceError."""
        self.check(parent)
        depth = len(parent)
        return sorted(
            {namespace[: depth + 1] for namespace in self._all() if _is_below(namespace, parent)}
        )

    def exists(self, namespace: Name) -> bool:
        """Return whether the namespace exists."""
        return any(existing[: len(namespace)] == namespace for existing in self._all())

    def create(self, namespace: Name, properties: Mapping[str, str]) -> None:
        """Create a namespace. Raises NamespaceAlreadyExistsError."""
        with swap:
            if self.exists(namespace):
                raise NamespaceAlreadyExistsError(
                    f"Namespace {'.'.join(namespace)} is in catalog '{self._catalog}' already"
                )
            namespaces[self._catalog, namespace] = dict(properties)

    def drop(self, namespace: Name) -> None:
        """Remove an empty namespace. Raises NoSuchNamespaceError, NamespaceNotEmptyError."""
        with swap:
            self.check(namespace)
            inner = any(_is_below(existing, namespace) for existing in self._all())
            named = [existing for existing in self._names() if existing[:-1] == namespace]
            if inner or named:
                raise NamespaceNotEmptyError(
                    f"Namespace {'.'.join(namespace)} of catalog '{self._catalog}' is not empty"
                )
            del namespaces[self._catalog, namespace]

    def what_stays(self, namespace: Name) -> str | None:  # noqa: ARG002 (of all the same)
        """Return nothing: a namespace holds only tables and views."""
        return None

    def properties(self, namespace: Name) -> dict[str, str]:
        """Return a namespace's properties. Raises NoSuchNamespaceError."""
        self.check(namespace)
        return dict(namespaces.get((self._catalog, namespace), {}))

    def update_properties(
        self, namespace: Name, removals: Collection[str], updates: Mapping[str, str]
    ) -> None:
        """Remove and set properties in one step. Raises NoSuchNamespaceError."""
        with swap:
            remaining = self.properties(namespace)
            remaining = {key: value for key, value in remaining.items() if key not in removals}
            namespaces[self._catalog, namespace] = {**remaining, **updates}

    def list_tables(self, namespace: Name) -> list[Name]:
        """Return the tables in a namespace. Raises NoSuchNamespaceError."""
        self.check(namespace)
        return sorted(name for name in self._names(tables) if name[:-1] == namespace)

    def rename_table(self, identifier: str, new_identifier: str) -> None:
        """Rename a table; its files stay."""
        with swap:
            path = tables.get((self._catalog, identifier))
            if path is None:
                raise NoSuchTableError(f"No table {identifier} in catalog '{self._catalog}'")
            self.check(tuple(new_identifier.split(".")[:-1]))
            if is_taken(self._catalog, new_identifier):
                raise TableAlreadyExistsError(
                    f"Table {new_identifier} is in catalog '{self._catalog}' already"
                )
            tables[self._catalog, new_identifier] = path
            del tables[self._catalog, identifier]

    def register_table(self, identifier: str, metadata_location: str) -> bool:
        """Register a table; False if the name is taken."""
        with swap:
            self.check(tuple(identifier.split(".")[:-1]))
            if is_taken(self._catalog, identifier):
                return False
            tables[self._catalog, identifier] = metadata_location
            return True

    def _names(self, *kinds: Mapping[tuple[str, str], str]) -> Iterator[Name]:
        """Yield the tables and views that have names; tables created by location have none."""
        listed = [name for kind in kinds or (tables, views) for name in list(kind)]
        for catalog, identifier in listed:
            if catalog == self._catalog and not location.is_absolute(identifier):
                yield tuple(identifier.split("."))

    def _all(self) -> Iterator[Name]:
        yield from (name for catalog, name in list(namespaces) if catalog == self._catalog)
        yield from (name[:-1] for name in self._names() if len(name) > 1)

    def check(self, namespace: Name) -> None:
        """Raise NoSuchNamespaceError unless the namespace exists."""
        if namespace and not self.exists(namespace):
            raise NoSuchNamespaceError(
                f"No namespace {'.'.join(namespace)} in catalog '{self._catalog}'"
            )


def _is_below(name: Name, parent: Name) -> bool:
    return len(name) > len(parent) and name[: len(parent)] == parent


class MemoryViews:
    """A pointer for each view, moved under a lock (implements `ViewPointers`)."""

    __slots__ = ("_check", "_default_location", "_name")

    def __init__(
        self, name: str, check: Callable[[Name], None], default_location: Callable[[str], str]
    ) -> None:
        """`check` raises NoSuchNamespaceError, `default_location` returns a new view's folder."""
        self._name = name
        self._check = check
        self._default_location = default_location

    def list_views(self, namespace: Name) -> list[Name]:
        """Return the views in a namespace. Raises NoSuchNamespaceError."""
        self._check(namespace)
        names = [tuple(view.split(".")) for catalog, view in list(views) if catalog == self._name]
        return sorted(name for name in names if name[:-1] == namespace)

    def find(self, identifier: str) -> str | None:
        """Return the location of a view's newest metadata file, None if there is no view."""
        return views.get((self._name, identifier))

    def insert(self, created: StoredView) -> bool:
        """Add a view; False if a view or table has its name."""
        with swap:
            if is_taken(self._name, created.identifier):
                return False
            views[self._name, created.identifier] = created.metadata_location
            return True

    def move(self, base: StoredView, created: StoredView) -> bool:
        """Move a view's pointer; False if it is not at `base`."""
        with swap:
            if self.find(created.identifier) != base.metadata_location:
                return False
            views[self._name, created.identifier] = created.metadata_location
            return True

    def remove(self, identifier: str, metadata_location: str) -> bool:
        """Remove a view; False if no view is at the metadata file `metadata_location`."""
        with swap:
            is_there = self.find(identifier) == metadata_location
            if is_there:
                del views[self._name, identifier]
            return is_there

    def rename(self, identifier: str, new_identifier: str) -> None:
        """Rename a view.

        Raises NoSuchViewError, NoSuchNamespaceError, ViewAlreadyExistsError.
        """
        with swap:
            path = self.find(identifier)
            if path is None:
                raise NoSuchViewError(f"No view {identifier} in catalog '{self._name}'")
            self._check(tuple(new_identifier.split(".")[:-1]))
            if is_taken(self._name, new_identifier):
                raise ViewAlreadyExistsError(
                    f"{new_identifier} is in catalog '{self._name}' already"
                )
            views[self._name, new_identifier] = path
            del views[self._name, identifier]

    def default_location(self, identifier: str) -> str:
        """Return the location of a new view: the one of a table of this name."""
        return self._default_location(identifier)


tables: dict[tuple[str, str], str] = {}
"""The newest metadata file of a table, by catalog and identifier."""
views: dict[tuple[str, str], str] = {}
"""The newest metadata file of a view, by catalog and identifier."""
namespaces: dict[tuple[str, Name], dict[str, str]] = {}
"""Properties of the namespaces that were created."""
swap = threading.Lock()


def is_taken(catalog: str, identifier: str) -> bool:
    """Return whether a table or view has a name."""
    return (catalog, identifier) in tables or (catalog, identifier) in views
