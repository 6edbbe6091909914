"""The port to catalogs: load metadata, and swap it atomically."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

from iceberg_spark.errors import NotFoundError, UnsupportedError
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.requirements import TableRequirement
from iceberg_spark.spec.updates import SetLocation, TableUpdate
from iceberg_spark.spec.view import NewView, ViewMetadata

Name: TypeAlias = tuple[str, ...]
"""The parts of a namespace's or a table's name."""


class Reporter(Protocol):
    """Takes reports about one table, and neither waits nor fails."""

    def take(self, report: Mapping[str, Any]) -> None:
        """Take a report: JSON of the REST specification, without the table's name."""
        ...


@dataclass(frozen=True, slots=True)
class LoadedTable:
    """Metadata as loaded from, or just committed to, a catalog.

    `identifier` is what the catalog calls the table (a location for file-system tables). `io` is
    the storage of this table's files, which a catalog may give for each table. `digest` is that of
    the metadata file's bytes, where the name alone does not prove that it is the same. With
    `given_by_catalog` the metadata came from the catalog itself, and nobody need read its file.
    """

    identifier: str
    metadata: TableMetadata
    metadata_location: str
    io: FileIO = field(repr=False, compare=False)
    digest: bytes | None = field(default=None, repr=False)
    tag: str = field(default="", repr=False, compare=False)
    """What the store tells the metadata file's bytes by (`FileInfo.tag`)."""
    given_by_catalog: bool = False
    reporter: Reporter | None = field(default=None, repr=False, compare=False)
    """Who wants to know what is read of the table and committed to it."""
    recorded_location: str = ""
    """The table's location by its catalog, where its name and its metadata file do not show it."""


@dataclass(frozen=True, slots=True)
class MadeTable:
    """A table as it was made, before anybody changed it: empty, and its files are its metadata."""

    uuid: str
    metadata_location: str


@dataclass(frozen=True, slots=True)
class NewTable:
    """A table that is about to be created: the updates that make it, and storage for its files.

    A server that prepares no tables has made it already (`table`): what follows is a commit to it.
    `ours` is set where nobody else can have made that one, so that it may be dropped again.
    """

    updates: tuple[TableUpdate, ...]
    io: FileIO = field(repr=False, compare=False)
    table: LoadedTable | None = None
    ours: MadeTable | None = None

    @property
    def location(self) -> str:
        """Where it goes."""
        return next(update.location for update in self.updates if isinstance(update, SetLocation))


Creation: TypeAlias = Callable[[str], tuple[TableUpdate, ...]]
"""The updates that create a table at a location."""


@dataclass(frozen=True, slots=True)
class TableChange:
    """What a commit asks of one table; `base` is what it was planned on, None creates it."""

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
        """What it was made from (may hold secrets: never print)."""
        ...

    @property
    def namespaces(self) -> Namespaces | None:
        """The list of its tables; None where it keeps none."""
        ...

    @property
    def views(self) -> Views | None:
        """Its views; None where it has none."""
        ...

    def io(self, location: str) -> FileIO:
        """Return storage for a new table at this location; one that is there has its own `io`."""
        ...

    def stage(self, identifier: str, creation: Creation) -> NewTable:
        """Prepare a table that `commit` creates: the catalog says where it goes.

        Nothing is made yet, but by a server of REST that can only make it at once.

        Raises NoSuchNamespaceError; TableAlreadyExistsError here or at the commit.
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

        `base` is what the caller planned on: None creates the table (with AssertCreate). The
        result builds on `base` where it is still the newest, else CommitFailedException; a
        server of REST applies updates whose requirements still hold to the newest.
        Raises CommitFailedException (nothing landed, may be retried), TableAlreadyExistsError,
        CommitStateUnknownException (it may have landed). Any other IcebergError is a refusal too:
        nothing landed, and nothing that is under way still can. Any other exception leaves
        it open.
        """
        ...

    def commit_tables(self, changes: Sequence[TableChange]) -> list[LoadedTable]:
        """Commit changes of several tables that are there, all or none, each as `commit` does.

        Raises what `commit` raises, and UnsupportedError where a commit has one table only.
        """
        ...

    def table_exists(self, identifier: str) -> bool:
        """Return whether there is a table."""
        ...

    def drop_table(self, identifier: str, purge: bool = False) -> None:
        """Remove the table from the catalog; with `purge` its files too."""
        ...


class Namespaces(Protocol):
    """The list of its tables that a catalog keeps; names are tuples of texts."""

    def list_namespaces(self, parent: Name) -> list[Name]:
        """Return the namespaces right below one. Raises NoSuchNamespaceError."""
        ...

    def exists(self, namespace: Name) -> bool:
        """Return whether there is such a namespace."""
        ...

    def create(self, namespace: Name, properties: Mapping[str, str]) -> None:
        """Create a namespace. Raises NamespaceAlreadyExistsError."""
        ...

    def drop(self, namespace: Name) -> None:
        """Remove an empty namespace. Raises NoSuchNamespaceError, NamespaceNotEmptyError."""
        ...

    def what_stays(self, namespace: Name) -> str | None:
        """Return what keeps a namespace from being dropped once its tables and views are."""
        ...

    def properties(self, namespace: Name) -> dict[str, str]:
        """Return a namespace's properties. Raises NoSuchNamespaceError."""
        ...

    def update_properties(
        self, namespace: Name, removals: Collection[str], updates: Mapping[str, str]
    ) -> None:
        """Remove properties and set others, at once. Raises NoSuchNamespaceError."""
        ...

    def list_tables(self, namespace: Name) -> list[Name]:
        """Return the tables in a namespace. Raises NoSuchNamespaceError."""
        ...

    def rename_table(self, identifier: str, new_identifier: str) -> None:
        """Give a table another name; its files stay.

        Raises NoSuchTableError, NoSuchNamespaceError, TableAlreadyExistsError.
        """
        ...

    def register_table(self, identifier: str, metadata_location: str) -> bool:
        """Add a table that is there, at one of its metadata files; False where the name is taken.

        Raises NoSuchNamespaceError.
        """
        ...


class Views(Protocol):
    """The views of a catalog that has such: queries under names like those of its tables."""

    def list_views(self, namespace: Name) -> list[Name]:
        """Return the views in a namespace. Raises NoSuchNamespaceError."""
        ...

    def exists(self, identifier: str) -> bool:
        """Return whether there is such a view."""
        ...

    def load(self, identifier: str) -> ViewMetadata:
        """Return a view as it is now. Raises NoSuchViewError."""
        ...

    def create(self, identifier: str, view: NewView) -> ViewMetadata:
        """Create a view. Raises ViewAlreadyExistsError, NoSuchNamespaceError."""
        ...

    def replace(self, identifier: str, base: ViewMetadata, view: NewView) -> ViewMetadata:
        """Give a view another definition; versions of before stay in its history.

        Raises NoSuchViewError, CommitFailedException (another view has the name now).
        """
        ...

    def update_properties(
        self, identifier: str, base: ViewMetadata, updates: Mapping[str, str], removals: Name
    ) -> None:
        """Set and take away properties of a view.

        Raises NoSuchViewError, CommitFailedException (another view has the name now).
        """
        ...

    def drop(self, identifier: str) -> None:
        """Remove a view. Raises NoSuchViewError."""
        ...

    def rename(self, identifier: str, new_identifier: str) -> None:
        """Give a view another name.

        Raises NoSuchViewError, NoSuchNamespaceError, ViewAlreadyExistsError.
        """
        ...


def view_if_there(views: Views, identifier: str) -> ViewMetadata | None:
    """Return a view, None where there is none: a server without views has none.

    Raises UnsupportedError for one of a format to come.
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
    """Return the error of a catalog that can't change several tables in one commit."""
    names = ", ".join(identifiers)
    return UnsupportedError(
        f"Catalog '{catalog}' can't change several tables ({names}) in one commit; catalogs of "
        "type rest whose server has the endpoint, sql and memory can"
    )
