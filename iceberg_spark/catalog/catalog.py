"""The port to catalogs: load metadata, and swap it atomically."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

from iceberg_spark.errors import NoSuchNamespaceError, NotFoundError, UnsupportedError
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.requirements import TableRequirement
from iceberg_spark.spec.updates import SetLocation, TableUpdate
from iceberg_spark.spec.view import NewView, ViewMetadata

Name: TypeAlias = tuple[str, ...]
"""The parts of a namespace's or a table's name."""


class Reporter(Protocol):
    """Takes reports about one table; never waits and never fails."""

    def take(self, report: Mapping[str, Any]) -> None:
        """Accept a report: JSON of the REST specification, without the table's name."""
        ...


@dataclass(frozen=True, slots=True)
class LoadedTable:
    """Metadata that a catalog loaded or has just committed.

    `identifier` is what the catalog calls the table (a location for file-system tables). `io` is
    the storage of the table's files, which a catalog may give for each table. `digest` identifies
    the bytes of the metadata file if its name alone does not. With `given_by_catalog`, the metadata
    came from the catalog itself, so that its file need not be read.
    """

    identifier: str
    metadata: TableMetadata
    metadata_location: str
    io: FileIO = field(repr=False, compare=False)
    digest: bytes | None = field(default=None, repr=False)
    tag: str = field(default="", repr=False, compare=False)
    """The store's tag for the bytes of the metadata file (`FileInfo.tag`)."""
    given_by_catalog: bool = False
    reporter: Reporter | None = field(default=None, repr=False, compare=False)
    """Receives reports of scans and commits of the table."""
    recorded_location: str = ""
    """The table's location by its catalog, if its name and its metadata file do not show it."""


@dataclass(frozen=True, slots=True)
class MadeTable:
    """A table as it was created, before any change: empty, its only files are its metadata."""

    uuid: str
    metadata_location: str


@dataclass(frozen=True, slots=True)
class NewTable:
    """A table to create: the updates that create it, and storage for its files.

    A server that cannot stage tables has created it already (`table`): the commit changes that
    table. `ours` is set if nobody else can have created it, so that it may be dropped again.
    """

    updates: tuple[TableUpdate, ...]
    io: FileIO = field(repr=False, compare=False)
    table: LoadedTable | None = None
    ours: MadeTable | None = None

    @property
    def location(self) -> str:
        """The location of the new table."""
        return next(update.location for update in self.updates if isinstance(update, SetLocation))


Creation: TypeAlias = Callable[[str], tuple[TableUpdate, ...]]
"""The updates that create a table at a location."""


@dataclass(frozen=True, slots=True)
class TableChange:
    """The change of one table in a commit. `base` is what it was planned on, None creates it."""

    identifier: str
    requirements: tuple[TableRequirement, ...]
    updates: tuple[TableUpdate, ...]
    base: LoadedTable | None


class Catalog(Protocol):
    """Loads tables and commits changes; rebuilt in workers from `name` and `properties`."""

    @property
    def name(self) -> str:
        """The catalog's name."""
        ...

    @property
    def properties(self) -> Mapping[str, str]:
        """The properties that created it. They may hold secrets: never print them."""
        ...

    @property
    def namespaces(self) -> Namespaces | None:
        """Its namespaces and tables; None if it keeps no list."""
        ...

    @property
    def views(self) -> Views | None:
        """Its views; None if it supports none."""
        ...

    def io(self, location: str) -> FileIO:
        """Return storage for a new table at this location; an existing table has its own `io`."""
        ...

    def stage(self, identifier: str, creation: Creation) -> NewTable:
        """Prepare a table that `commit` creates: the catalog chooses its location.

        Creates nothing, except at a REST server that can only create the table immediately.

        Raises:
            NoSuchNamespaceError: the namespace does not exist.
            TableAlreadyExistsError: the table exists. Some catalogs find that at the commit only.
        """
        ...

    def load(self, identifier: str) -> LoadedTable:
        """Return the newest committed metadata. Raises NoSuchTableError."""
        ...

    def commit(
        self,
        identifier: str,
        requirements: Iterable[TableRequirement],
        updates: Iterable[TableUpdate],
        base: LoadedTable | None,
    ) -> LoadedTable:
        """Check requirements against the newest metadata, apply updates, swap atomically.

        `base` is what the caller planned on; None creates the table (with AssertCreate). The result
        is built on `base` if that is still the newest version. Otherwise the commit fails, except
        at a REST server, which applies updates to the newest version if their requirements still
        hold.

        Raises:
            CommitFailedException: nothing was committed; the caller may retry.
            TableAlreadyExistsError: the table to create exists.
            CommitStateUnknownException: the commit may have succeeded.
            IcebergError: any other one is a refusal. Nothing was committed, and no request is under
                way that could still commit. After any other exception the outcome is unknown.
        """
        ...

    def commit_tables(self, changes: Sequence[TableChange]) -> list[LoadedTable]:
        """Commit changes of several existing tables, all or none, each as `commit` does.

        Raises what `commit` raises, and UnsupportedError if the catalog changes one table at a
        time.
        """
        ...

    def table_exists(self, identifier: str) -> bool:
        """Return whether the table exists."""
        ...

    def drop_table(self, identifier: str, purge: bool = False) -> None:
        """Remove the table from the catalog; with `purge` its files too."""
        ...


class Namespaces(Protocol):
    """The namespaces of a catalog and the tables in them; names are tuples of texts."""

    def list_namespaces(self, parent: Name) -> list[Name]:
        """Return the child namespaces of a namespace. Raises NoSuchNamespaceError."""
        ...

    def exists(self, namespace: Name) -> bool:
        """Return whether the namespace exists."""
        ...

    def create(self, namespace: Name, properties: Mapping[str, str]) -> None:
        """Create a namespace. Raises NamespaceAlreadyExistsError."""
        ...

    def drop(self, namespace: Name) -> None:
        """Remove an empty namespace. Raises NoSuchNamespaceError, NamespaceNotEmptyError."""
        ...

    def what_stays(self, namespace: Name) -> str | None:
        """Return what prevents dropping a namespace after its tables and views are dropped."""
        ...

    def properties(self, namespace: Name) -> dict[str, str]:
        """Return a namespace's properties. Raises NoSuchNamespaceError."""
        ...

    def update_properties(
        self, namespace: Name, removals: Collection[str], updates: Mapping[str, str]
    ) -> None:
        """Remove and set properties in one step. Raises NoSuchNamespaceError."""
        ...

    def list_tables(self, namespace: Name) -> list[Name]:
        """Return the tables in a namespace. Raises NoSuchNamespaceError."""
        ...

    def rename_table(self, identifier: str, new_identifier: str) -> None:
        """Rename a table; its files stay.

        Raises:
            NoSuchTableError: the table does not exist.
            NoSuchNamespaceError: the new namespace does not exist.
            TableAlreadyExistsError: the new name is taken.
        """
        ...

    def register_table(self, identifier: str, metadata_location: str) -> bool:
        """Register a table by a metadata file; False if the name is taken.

        Raises NoSuchNamespaceError.
        """
        ...


class Views(Protocol):
    """The views of a catalog: queries with names like those of its tables."""

    def list_views(self, namespace: Name) -> list[Name]:
        """Return the views in a namespace. Raises NoSuchNamespaceError."""
        ...

    def exists(self, identifier: str) -> bool:
        """Return whether the view exists."""
        ...

    def load(self, identifier: str) -> ViewMetadata:
        """Load a view. Raises NoSuchViewError."""
        ...

    def create(self, identifier: str, view: NewView) -> ViewMetadata:
        """Create a view. Raises ViewAlreadyExistsError, NoSuchNamespaceError."""
        ...

    def replace(self, identifier: str, base: ViewMetadata, view: NewView) -> ViewMetadata:
        """Replace a view's definition; earlier versions stay in its history.

        Raises NoSuchViewError, CommitFailedException (the name belongs to another view now).
        """
        ...

    def update_properties(
        self, identifier: str, base: ViewMetadata, updates: Mapping[str, str], removals: Name
    ) -> None:
        """Set and remove properties of a view.

        Raises NoSuchViewError, CommitFailedException (the name belongs to another view now).
        """
        ...

    def drop(self, identifier: str) -> None:
        """Remove a view. Raises NoSuchViewError."""
        ...

    def rename(self, identifier: str, new_identifier: str) -> None:
        """Rename a view.

        Raises NoSuchViewError, NoSuchNamespaceError, ViewAlreadyExistsError.
        """
        ...


def exists_by_properties(namespaces: Namespaces, namespace: Name) -> bool:
    """Return whether a namespace exists, by loading its properties."""
    try:
        namespaces.properties(namespace)
    except NoSuchNamespaceError:
        return False
    return True


def view_if_there(views: Views, identifier: str) -> ViewMetadata | None:
    """Return a view, None if it does not exist or the server has no views.

    Raises UnsupportedError for a view of a newer format.
    """
    try:
        return views.load(identifier)
    except NotFoundError:
        return None
    except UnsupportedError:
        if _has_view(views, identifier):
            raise
        return None


def _has_view(views: Views, identifier: str) -> bool:
    try:
        return views.exists(identifier)
    except UnsupportedError:
        return False


def one_table_only(catalog: str, identifiers: Iterable[str]) -> UnsupportedError:
    """Return the error of a catalog that cannot change several tables in one commit."""
    names = ", ".join(identifiers)
    return UnsupportedError(
        f"Catalog '{catalog}' can't change several tables ({names}) in one commit; catalogs of "
        "type rest whose server has the endpoint, sql and memory can"
    )
