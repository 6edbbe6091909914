"""Views of a catalog that stores one pointer per view: the location of its newest metadata file.

They change like the tables of such catalogs: by a metadata file of a new name, and a pointer that
moves from the file that it was derived from (Java: BaseMetastoreViewCatalog).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Protocol

from tenacity import (
    Retrying,
    retry_if_exception_type,
    stop_after_attempt,
    wait_random_exponential,
)

from iceberg_spark.catalog.catalog import Name
from iceberg_spark.catalog.foreign_folder import foreign_folder
from iceberg_spark.catalog.metadata_file import (
    METADATA_FOLDER,
    is_metadata_file,
    metadata_location,
    number_of,
)
from iceberg_spark.catalog.new_version import unknown
from iceberg_spark.catalog.owned import at_the_ends, is_of_view, owner_of
from iceberg_spark.catalog.table_io import check_write_place, table_io
from iceberg_spark.catalog.trust import Trust
from iceberg_spark.catalog.versions import is_pointer
from iceberg_spark.catalog.view_file import StoredView, read_view, write_view
from iceberg_spark.errors import (
    CommitFailedException,
    CorruptFileError,
    IcebergError,
    InvalidInputError,
    InvalidSchemaError,
    NoSuchFileError,
    NoSuchViewError,
    StorageError,
    UnsupportedError,
    ViewAlreadyExistsError,
)
from iceberg_spark.io import location
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.spec.next_view import create_view, replace_view, with_properties
from iceberg_spark.spec.secrets import check_place
from iceberg_spark.spec.view import NewView, ViewMetadata

_TRIES = 4
"""How often to repeat a move without a response, or a change that others overtake."""
_LONGEST_PAUSE = 5.0  # seconds
_KEPT_FILES = "gc.enabled"
_LOOKED_AT = 100
"""Metadata files to read at each end of a dropped view's folder, to find their owner."""
_UNREADABLE = (NoSuchFileError, CorruptFileError, InvalidSchemaError, UnsupportedError)


class ViewPointers(Protocol):
    """The location of each view's newest metadata file.

    After a StorageError the outcome is unknown; every other IcebergError is a refusal.
    """

    def list_views(self, namespace: Name) -> list[Name]:
        """Return the views in a namespace. Raises NoSuchNamespaceError."""
        ...

    def find(self, identifier: str) -> str | None:
        """Return the location of a view's newest metadata file, None if there is no view."""
        ...

    def insert(self, created: StoredView) -> bool:
        """Add a view; False if a view or table has its name. Raises NoSuchNamespaceError."""
        ...

    def move(self, base: StoredView, created: StoredView) -> bool:
        """Move a view's pointer; False if it is not at `base`."""
        ...

    def remove(self, identifier: str, metadata_location: str) -> bool:
        """Remove a view; False if no view is at the metadata file `metadata_location`."""
        ...

    def rename(self, identifier: str, new_identifier: str) -> None:
        """Rename a view.

        Raises NoSuchViewError, NoSuchNamespaceError, ViewAlreadyExistsError.
        """
        ...

    def default_location(self, identifier: str) -> str:
        """Return the location of a new view of this name."""
        ...


class PointerViews:
    """Views of one catalog (implements `Views`)."""

    __slots__ = ("_io", "_name", "_pointers", "_trust")

    def __init__(self, name: str, pointers: ViewPointers, io: FileIO, trust: Trust) -> None:
        self._name = name
        self._pointers = pointers
        self._io = io
        self._trust = trust

    def list_views(self, namespace: Name) -> list[Name]:
        """Return the views in a namespace. Raises NoSuchNamespaceError."""
        return self._pointers.list_views(namespace)

    def exists(self, identifier: str) -> bool:
        """Return whether the view exists."""
        return self._pointers.find(identifier) is not None

    def load(self, identifier: str) -> ViewMetadata:
        """Load a view. Raises NoSuchViewError, CorruptFileError."""
        return self._stored(identifier).metadata

    def create(self, identifier: str, view: NewView) -> ViewMetadata:
        """Create a view.

        Raises:
            ViewAlreadyExistsError: a view or table has this name.
            NoSuchNamespaceError: the namespace does not exist.
            InvalidInputError: the location is a table's folder.
        """
        if self.exists(identifier):
            raise self._taken(identifier)
        view_location = view.location or self._pointers.default_location(identifier)
        check_place(view_location)
        if view.location is not None:
            check_view_place(self._io, view_location)
        new_view = write_view(self._io, identifier, create_view(view, view_location), 0)
        if not self._landed(new_view, lambda: self._pointers.insert(new_view)):
            raise self._taken(identifier)
        return new_view.metadata

    def replace(self, identifier: str, base: ViewMetadata, view: NewView) -> ViewMetadata:
        """Replace a view's definition; earlier versions stay in its history.

        Raises:
            NoSuchViewError: there is no view of this name.
            CommitFailedException: the name belongs to another view now.
            ValidationException: a query in another dialect would be lost.
            InvalidInputError: the location is a table's folder.
        """
        if view.location is not None and not location.same_file(view.location, base.location):
            check_place(view.location)
            check_view_place(self._io, view.location)
        return self._changed(
            identifier, base, lambda now: replace_view(now, view, int(time.time() * 1000))
        )

    def update_properties(
        self, identifier: str, base: ViewMetadata, updates: Mapping[str, str], removals: Name
    ) -> None:
        """Set and remove properties of a view.

        Raises NoSuchViewError, CommitFailedException (the name belongs to another view now).
        """
        self._changed(identifier, base, lambda now: with_properties(now, updates, removals))

    def drop(self, identifier: str) -> None:
        """Remove a view, and its metadata files unless `gc.enabled` is false.

        Raises NoSuchViewError, CommitFailedException (others change it each time).
        """
        for _ in range(_TRIES):
            path = self._pointers.find(identifier)
            if path is None:
                raise self._missing(identifier)
            try:
                stored = self._read(identifier, path)
            except _UNREADABLE:  # missing, broken or of a newer format: the name can be removed
                stored = None
            if self._pointers.remove(identifier, path):
                if stored is not None:
                    self._forget_all(stored)
                return
        raise CommitFailedException(f"View {identifier} is changed by others: try again")

    def rename(self, identifier: str, new_identifier: str) -> None:
        """Rename a view; its files stay where they are.

        Raises NoSuchViewError, NoSuchNamespaceError, ViewAlreadyExistsError.
        """
        self._pointers.rename(identifier, new_identifier)

    def _changed(
        self, identifier: str, base: ViewMetadata, change: Callable[[ViewMetadata], ViewMetadata]
    ) -> ViewMetadata:
        """Apply a change to the newest version of a view; repeat it if others changed the view."""
        trying = Retrying(
            retry=retry_if_exception_type(_Overtaken),
            stop=stop_after_attempt(_TRIES),
            wait=wait_random_exponential(multiplier=0.1, max=_LONGEST_PAUSE),
            reraise=True,
        )
        return trying(self._change, identifier, base.view_uuid, change)

    def _change(
        self, identifier: str, view_uuid: str, change: Callable[[ViewMetadata], ViewMetadata]
    ) -> ViewMetadata:
        now = self._stored(identifier)
        if now.metadata.view_uuid != view_uuid:
            raise CommitFailedException(f"{identifier} is another view now: load it again")
        changed = change(now.metadata)
        if changed == now.metadata:
            return changed
        self._check_place(now, changed)
        version = (number_of(location.name(now.metadata_location)) or 0) + 1
        changed_view = write_view(self._io, identifier, changed, version)
        if not self._landed(changed_view, lambda: self._pointers.move(now, changed_view)):
            raise _Overtaken(f"View {identifier} was changed by others meanwhile: try again")
        return changed

    def _check_place(self, now: StoredView, changed: ViewMetadata) -> None:
        """Refuse to follow metadata to another bucket; only the user changes the location."""
        folder = metadata_location(changed, "")
        if folder == metadata_location(now.metadata, ""):
            name = "location or property write.metadata.path"
            check_write_place(name, folder, table_io(self._io, now.metadata_location))

    def _read(self, identifier: str, path: str) -> StoredView:
        self._trust.check_local(path)
        return read_view(self._io, identifier, path)

    def _stored(self, identifier: str) -> StoredView:
        path = self._pointers.find(identifier)
        if path is None:
            raise self._missing(identifier)
        for _ in range(_TRIES):
            try:
                return self._read(identifier, path)
            except NoSuchFileError:  # dropped and created again since, or missing: load again
                before, path = path, self._pointers.find(identifier)
                if path is None:
                    raise self._missing(identifier) from None
                if path == before:
                    break
        raise CorruptFileError(
            f"View {identifier} of catalog '{self._name}' is at {path}, and there is no such file"
        )

    def _landed(self, created: StoredView, ask: Callable[[], bool]) -> bool:
        """Return whether the pointer was moved to a file; otherwise delete the file.

        Repeats a move without a response. The file's name belongs to this change alone, so a second
        move fails if the first one succeeded, and the pointer shows it. Raises
        CommitStateUnknownException.
        """
        asking = Retrying(
            retry=retry_if_exception_type(StorageError),
            stop=stop_after_attempt(_TRIES),
            wait=wait_random_exponential(multiplier=0.1, max=_LONGEST_PAUSE),
            reraise=True,
        )
        try:
            if asking(ask):
                return True
            if was_sent_again(asking):
                if self._pointers.find(created.identifier) == created.metadata_location:
                    return True
                raise StorageError(f"{created.identifier} was changed by others since")
        except IcebergError as error:
            if isinstance(error, StorageError) or was_sent_again(asking):
                raise unknown(created.metadata_location, error) from error
            self._forget(created)
            raise
        self._forget(created)
        return False

    def _forget_all(self, stored: StoredView) -> None:
        """Delete a dropped view's files: a table of its name would have them in its folder."""
        if stored.metadata.properties.get(_KEPT_FILES, "").lower() == "false":
            return
        with suppress(IcebergError):
            for path in self._files_of(stored):
                self._io.delete(path)

    def _files_of(self, stored: StoredView) -> list[str]:
        folder = location.parent(stored.metadata_location)
        listed = [info.path for info in self._io.list(folder) if is_metadata_file(info.path)]
        newest = location.normalise(stored.metadata_location)
        return [
            path
            for path in at_the_ends(listed, _LOOKED_AT)
            if location.normalise(path) == newest
            or owner_of(self._io, path) == stored.metadata.view_uuid
        ]

    def _forget(self, created: StoredView) -> None:
        with suppress(IcebergError):  # nothing names it
            self._io.delete(created.metadata_location)

    def _missing(self, identifier: str) -> NoSuchViewError:
        return NoSuchViewError(f"No view {identifier} in catalog '{self._name}'")

    def _taken(self, identifier: str) -> ViewAlreadyExistsError:
        return ViewAlreadyExistsError(
            f"A view or table {identifier} is in catalog '{self._name}' already"
        )


class _Overtaken(CommitFailedException):
    """Another change of the view came first; the next attempt may succeed."""


def was_sent_again(asking: Retrying) -> bool:
    """Return whether a request was sent more than once."""
    return int(asking.statistics["attempt_number"]) > 1


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
