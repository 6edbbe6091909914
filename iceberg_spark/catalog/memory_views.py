"""Views of a catalog in this process's memory."""

from __future__ import annotations

from collections.abc import Callable

from iceberg_spark.catalog.catalog import Name
from iceberg_spark.catalog.memory_state import is_taken, swap, views
from iceberg_spark.catalog.view_file import StoredView
from iceberg_spark.errors import NoSuchViewError, ViewAlreadyExistsError


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
