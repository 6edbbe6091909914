"""A catalog behind Iceberg's REST protocol: the server stores metadata and swaps it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from iceberg_spark.catalog.catalog import (
    Creation,
    LoadedTable,
    Namespaces,
    NewTable,
    TableChange,
    Views,
)
from iceberg_spark.catalog.rest.answers import TABLE
from iceberg_spark.catalog.rest.changes import Change, change_request, make
from iceberg_spark.catalog.rest.commit import Committed, TableCommit, commit_guards
from iceberg_spark.catalog.rest.creation import stage_table
from iceberg_spark.catalog.rest.credentials import is_of_storage
from iceberg_spark.catalog.rest.known_tables import Tagged
from iceberg_spark.catalog.rest.namespaces import RestNamespaces
from iceberg_spark.catalog.rest.paths import DROP_TABLE, TABLE_EXISTS
from iceberg_spark.catalog.rest.session import RestSession, session_of
from iceberg_spark.catalog.rest.settings import rest_settings
from iceberg_spark.catalog.rest.tables import RestTables
from iceberg_spark.catalog.rest.transport import Request
from iceberg_spark.catalog.rest.views import RestViews
from iceberg_spark.catalog.table_io import table_io
from iceberg_spark.errors import NoSuchTableError
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.io.storage import open_storage
from iceberg_spark.spec.requirements import TableRequirement
from iceberg_spark.spec.updates import TableUpdate


def rest_catalog(name: str, properties: Mapping[str, str]) -> RestCatalog:
    """Return the catalog of the server at the property `uri`; sends no request yet.

    Raises InvalidInputError, InvalidOptionError, UnsupportedError.
    """
    rest_settings(name, properties)
    return RestCatalog(name, properties)


class RestCatalog:
    """Loads, commits and drops by requests; catalogs of the same properties share a session."""

    __slots__ = ("_name", "_properties", "_tables")

    def __init__(
        self, name: str, properties: Mapping[str, str], session: RestSession | None = None
    ) -> None:
        """`session` is a session of its own (for tests)."""
        self._name = name
        self._properties = dict(properties)
        used = session or session_of(name, self._properties)
        self._tables = RestTables(name, self._properties, used)

    def __reduce__(self) -> tuple[Callable[..., RestCatalog], tuple[str, dict[str, str]]]:
        return rest_catalog, (self._name, self._properties)

    def __repr__(self) -> str:
        return f"RestCatalog({self._name})"

    @property
    def name(self) -> str:
        """The catalog's name."""
        return self._name

    @property
    def properties(self) -> Mapping[str, str]:
        """The properties that created it. They may hold secrets: never print them."""
        return MappingProxyType(self._properties)

    @property
    def _session(self) -> RestSession:
        return self._tables.session

    @property
    def namespaces(self) -> Namespaces | None:
        """The server's namespaces and tables."""
        return RestNamespaces(self._name, self._tables)

    @property
    def views(self) -> Views | None:
        """The server's views; a server without views refuses requests."""
        return RestViews(self._name, self._session)

    def io(self, location: str) -> FileIO:  # noqa: ARG002 (the server names a table's storage only)
        """Return storage with the catalog's own properties; a table's own storage may have more."""
        from_server = self._session.config.properties
        return open_storage({k: v for k, v in from_server.items() if is_of_storage(k)})

    def load(self, identifier: str) -> LoadedTable:
        """Return the newest metadata from the server. Raises NoSuchTableError."""
        return self._tables.load(identifier)

    def table_exists(self, identifier: str) -> bool:
        """Return whether the table exists."""
        paths = self._session.paths
        try:
            if not paths.has(TABLE_EXISTS):
                self.load(identifier)
                return True
            request = Request("HEAD", paths.table(identifier))
            shown = self._tables.shown(identifier)
            self._session.read(request, TABLE, f"look for table {shown}", lambda _: None)
        except NoSuchTableError:
            return False
        return True

    def stage(self, identifier: str, creation: Creation) -> NewTable:
        """Let the server stage a table: it returns the location and storage.

        A server that cannot stage creates it immediately. Raises NoSuchNamespaceError,
        TableAlreadyExistsError.
        """
        return stage_table(self._tables, identifier, creation)

    def commit(
        self,
        identifier: str,
        requirements: Iterable[TableRequirement],
        updates: Iterable[TableUpdate],
        base: LoadedTable | None,
    ) -> LoadedTable:
        """Let the server check requirements and apply updates, in one request."""
        change = TableChange(identifier, tuple(requirements), tuple(updates), base)
        return self._committed((change,))[0]

    def commit_tables(self, changes: Sequence[TableChange]) -> list[LoadedTable]:
        """Let the server change several tables in one transaction.

        Raises UnsupportedError if it has no such endpoint.
        """
        return self._committed(tuple(changes))

    def _committed(self, changes: tuple[TableChange, ...]) -> list[LoadedTable]:
        tables = self._tables
        tagged = [tables.tagged_tables.find(change.identifier) for change in changes]
        shown = ", ".join(tables.shown(change.identifier) for change in changes)
        guarded = tuple(replace(change, requirements=commit_guards(change)) for change in changes)
        committed = TableCommit(self._session, shown, guarded, tables.load).run()
        every = zip(changes, committed, tagged, strict=True)
        return [self._after(change, result, former) for change, result, former in every]

    def _after(
        self, change: TableChange, committed: Committed, former: Tagged | None
    ) -> LoadedTable:
        """Return a table after its commit, with the storage of before or the staged one."""
        table_location, tables, base = committed.metadata.location, self._tables, change.base
        self._session.trust.check_local(table_location)
        io = (
            base.io
            if base
            else tables.tagged_tables.staged(table_location) or self.io(table_location)
        )
        table = LoadedTable(
            change.identifier,
            committed.metadata,
            committed.metadata_location,
            table_io(io, committed.metadata.location),
            given_by_catalog=True,
            reporter=tables.reporter(change.identifier),
        )
        if former is None or base is None:
            tables.tagged_tables.forget(change.identifier)
        else:
            tables.tagged_tables.keep(table, committed.tag, former.until)
        return table

    def drop_table(self, identifier: str, purge: bool = False) -> None:
        """Let the server drop a table, with `purge` its files too. Raises NoSuchTableError."""
        paths = self._session.paths
        paths.need(DROP_TABLE)
        query = {"purgeRequested": "true"} if purge else {}
        request = change_request(self._session, "DELETE", paths.table(identifier), query=query)
        what = f"drop table {self._tables.shown(identifier)}"
        self._tables.tagged_tables.forget(identifier)

        def is_gone() -> bool:
            return not self.table_exists(identifier)

        make(self._session, Change(request, TABLE, what, is_gone))
