"""Namespaces of a file-system catalog: the folders below its warehouse (Java: HadoopCatalog).

A folder is a table where its folder `metadata` has metadata files, else a namespace. A store of
objects has no empty folders: there a namespace that was created holds the empty object
`.namespace`, and one that holds a table needs none. Hadoop's S3A makes an object `db/` for it,
which shows as a folder and can't be removed by a client that knows no such names.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Collection, Iterator, Mapping

from iceberg_spark.catalog.catalog import Name
from iceberg_spark.catalog.metadata_file import METADATA_FOLDER
from iceberg_spark.catalog.versions import newest_version
from iceberg_spark.errors import (
    FileAlreadyExistsError,
    InvalidInputError,
    NamespaceAlreadyExistsError,
    NamespaceNotEmptyError,
    NoSuchNamespaceError,
    UnsupportedError,
)
from iceberg_spark.io import location
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.io.foreign_errors import named_errors

MARK = ".namespace"


class FolderNamespaces:
    """Namespaces and tables found by listing folders; no properties and no renames."""

    __slots__ = ("_catalog", "_io", "_warehouse")

    def __init__(self, catalog: str, io: FileIO, warehouse: str) -> None:
        self._catalog = catalog
        self._io = io
        self._warehouse = warehouse

    def list_namespaces(self, parent: Name) -> list[Name]:
        """Return the child namespaces of a namespace. Raises NoSuchNamespaceError."""
        self._check(parent)
        return [
            (*parent, name) for name in self._folders(parent) if not self._is_table(parent, name)
        ]

    def exists(self, namespace: Name) -> bool:
        """Return whether the folder exists and is not a table's."""
        folder = self._folder(namespace)
        if location.is_local(folder):
            if not os.path.isdir(location.strip_scheme(folder)):
                return False
        elif not self._is_there(folder):
            return False
        return newest_version(self._io, folder) is None

    def create(self, namespace: Name, properties: Mapping[str, str]) -> None:
        """Create a folder. Raises NamespaceAlreadyExistsError, UnsupportedError for properties."""
        if properties:
            raise self._without_properties()
        folder = self._folder(namespace)
        if location.is_local(folder):
            with named_errors("create", folder, location.store_of(folder)):
                try:
                    os.makedirs(location.strip_scheme(folder))
                except FileExistsError:
                    raise self._taken(namespace) from None
            return
        if self._is_there(folder):
            raise self._taken(namespace)
        mark = location.join(folder, MARK)
        try:
            self._io.create_if_absent(mark, b"")
        except FileAlreadyExistsError:
            raise self._taken(namespace) from None
        if _has_folders(folder):  # the folder stays: Java drops no folder with a file
            self._io.delete(mark)

    def drop(self, namespace: Name) -> None:
        """Remove an empty folder. Raises NoSuchNamespaceError, NamespaceNotEmptyError."""
        self._check(namespace)
        folder = self._folder(namespace)
        if location.is_local(folder):
            with named_errors("delete", folder, location.store_of(folder)):
                try:
                    os.rmdir(location.strip_scheme(folder))
                except OSError as error:
                    if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
                        raise self._not_empty(namespace) from None
                    raise
            return
        mark = location.join(folder, MARK)
        if any(not location.same_file(info.path, mark) for info in self._io.list(folder)):
            raise self._not_empty(namespace)
        self._io.delete(mark)
        if not _has_folders(folder):
            if self._is_there(folder):
                raise UnsupportedError(
                    f"Can't drop namespace {'.'.join(namespace)} of catalog '{self._catalog}': it "
                    f"is the object {folder}/, as Hadoop makes one; drop it with Java's catalog"
                )
            return
        for child in self._io.list_folders(folder):
            below = set(map(location.name, self._io.list_folders(child)))
            if METADATA_FOLDER not in below:  # otherwise a purge left the folder
                raise self._not_empty(namespace)
        self._remove(folder)

    def what_stays(self, namespace: Name) -> str | None:
        """Return the folders of its tables: a drop leaves their files where they are."""
        tables = self.list_tables(namespace)
        if not tables:
            return None
        return (
            f"the folder of table {'.'.join(tables[0])} stays when that is dropped. Drop its "
            "tables first, each by DROP TABLE ... PURGE"
        )

    def _remove(self, folder: str) -> None:
        """Remove folders without a file; the store refuses a folder that got a file since."""
        for child in self._io.list_folders(folder):
            self._remove(child)
        self._io.delete(folder)

    def _is_there(self, folder: str) -> bool:
        """Return whether a folder exists; in an object store, whether a name begins with it.

        Only the listing of the parent shows an empty folder of HDFS or an object `folder/`.
        """
        if next(iter(self._io.list(folder)), None) is not None:
            return True
        seen = location.store_of(folder) in _EMPTY_FOLDERS
        above = self._io.list_folders(location.parent(folder)) if seen else ()
        return any(location.same_file(child, folder) for child in above)

    def properties(self, namespace: Name) -> dict[str, str]:
        """Return the folder's location as a property. Raises NoSuchNamespaceError."""
        self._check(namespace)
        return {"location": self._folder(namespace)}

    def update_properties(
        self, namespace: Name, removals: Collection[str], updates: Mapping[str, str]
    ) -> None:
        """Raise UnsupportedError: folders have no properties; or NoSuchNamespaceError."""
        self._check(namespace)
        if removals or updates:
            raise self._without_properties()

    def list_tables(self, namespace: Name) -> list[Name]:
        """Return the tables in a namespace. Raises NoSuchNamespaceError."""
        self._check(namespace)
        return [
            (*namespace, name)
            for name in self._folders(namespace)
            if self._is_table(namespace, name)
        ]

    def rename_table(self, identifier: str, new_identifier: str) -> None:
        """Raise UnsupportedError: a table is its folder."""
        raise UnsupportedError(
            f"Catalog '{self._catalog}' can't rename {identifier} to {new_identifier}: its tables "
            "are folders"
        )

    def register_table(self, identifier: str, metadata_location: str) -> bool:
        """Raise UnsupportedError: a table is its folder."""
        raise UnsupportedError(
            f"Catalog '{self._catalog}' can't register {identifier}: its tables are folders below "
            f"{self._warehouse}; load {metadata_location} by its location"
        )

    def _folder(self, namespace: Name) -> str:
        return folder_of(self._warehouse, namespace)

    def _folders(self, namespace: Name) -> Iterator[str]:
        names = (location.name(child) for child in self._io.list_folders(self._folder(namespace)))
        return iter(sorted(name for name in names if name != METADATA_FOLDER))

    def _is_table(self, namespace: Name, name: str) -> bool:
        return newest_version(self._io, location.join(self._folder(namespace), name)) is not None

    def _check(self, namespace: Name) -> None:
        if namespace and not self.exists(namespace):
            raise NoSuchNamespaceError(
                f"No namespace {'.'.join(namespace)} in catalog '{self._catalog}': there is no "
                f"folder {self._folder(namespace)}"
            )

    def _taken(self, namespace: Name) -> NamespaceAlreadyExistsError:
        return NamespaceAlreadyExistsError(
            f"Namespace {'.'.join(namespace)} is in catalog '{self._catalog}' already"
        )

    def _not_empty(self, namespace: Name) -> NamespaceNotEmptyError:
        return NamespaceNotEmptyError(
            f"Namespace {'.'.join(namespace)} of catalog '{self._catalog}' is not empty: "
            f"there are files in {self._folder(namespace)}"
        )

    def _without_properties(self) -> UnsupportedError:
        return UnsupportedError(
            f"Namespaces of catalog '{self._catalog}' are folders, which have no properties"
        )


def folder_of(warehouse: str, name: Name) -> str:
    """Return the folder of a name. Raises InvalidInputError if a part cannot be a folder."""
    if any("/" in part or not part for part in name):
        raise InvalidInputError(
            f"'{'.'.join(name)}' is no name of a folder: a part of it is empty or has a slash"
        )
    return location.join(warehouse, *name)


_EMPTY_FOLDERS = location.HADOOP | {"s3", "gs", "abfs"}
"""Stores whose listings show empty folders."""


def _has_folders(folder: str) -> bool:
    """Return whether a store has folders of its own, including empty ones."""
    return location.store_of(folder) in location.HADOOP
