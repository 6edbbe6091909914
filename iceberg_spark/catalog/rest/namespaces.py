"""Namespaces and lists of tables on a server (implements `Namespaces`)."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from iceberg_spark.catalog.catalog import Name
from iceberg_spark.catalog.rest import paths as p
from iceberg_spark.catalog.rest.answers import (
    DROPPED_NAMESPACE,
    NAMESPACE,
    NEW_TABLE,
    TABLE,
)
from iceberg_spark.catalog.rest.changes import Change, change_request, make
from iceberg_spark.catalog.rest.credentials import texts
from iceberg_spark.catalog.rest.session import RestSession, pages
from iceberg_spark.catalog.rest.tables import RestTables
from iceberg_spark.catalog.rest.transport import Request
from iceberg_spark.errors import (
    InvalidInputError,
    NoSuchNamespaceError,
    NoSuchTableError,
    TableAlreadyExistsError,
)


class RestNamespaces:
    """Namespaces of one catalog."""

    __slots__ = ("_name", "_session", "_tables")

    def __init__(self, name: str, tables: RestTables) -> None:
        self._name = name
        self._tables = tables
        self._session: RestSession = tables.session

    def list_namespaces(self, parent: Name) -> list[Name]:
        """Return the child namespaces of a namespace. Raises NoSuchNamespaceError."""
        paths = self._session.paths
        paths.need(p.LIST_NAMESPACES)
        query = {"parent": paths.parent(parent)} if parent else {}
        members = pages(
            self._session, paths.namespaces, query, "namespaces", self._what("list", parent)
        )
        return [tuple(map(str, member)) for member in members]

    def list_tables(self, namespace: Name) -> list[Name]:
        """Return the tables in a namespace. Raises NoSuchNamespaceError."""
        paths = self._session.paths
        paths.need(p.LIST_TABLES)
        path = paths.namespace(namespace, "tables")
        members = pages(
            self._session, path, {}, "identifiers", self._what("list the tables of", namespace)
        )
        return [(*map(str, member["namespace"]), str(member["name"])) for member in members]

    def exists(self, namespace: Name) -> bool:
        """Return whether the namespace exists."""
        paths = self._session.paths
        has = paths.has(p.NAMESPACE_EXISTS)
        try:
            request = Request("HEAD" if has else "GET", paths.namespace(namespace))
            self._session.read(
                request, NAMESPACE, self._what("look for", namespace), lambda _: None
            )
        except NoSuchNamespaceError:
            return False
        return True

    def create(self, namespace: Name, properties: Mapping[str, str]) -> None:
        """Create a namespace. Raises NamespaceAlreadyExistsError."""
        paths = self._session.paths
        paths.need(p.CREATE_NAMESPACE)
        body = {"namespace": list(namespace), "properties": dict(properties)}
        request = change_request(self._session, "POST", paths.namespaces, body)

        def is_made() -> bool:
            return self.exists(namespace) and (
                not properties or properties.items() <= self.properties(namespace).items()
            )

        make(self._session, Change(request, NAMESPACE, self._what("create", namespace), is_made))

    def drop(self, namespace: Name) -> None:
        """Remove an empty namespace. Raises NoSuchNamespaceError, NamespaceNotEmptyError."""
        paths = self._session.paths
        paths.need(p.DROP_NAMESPACE)
        request = change_request(self._session, "DELETE", paths.namespace(namespace))
        what = self._what("drop", namespace)

        def is_gone() -> bool:
            return not self.exists(namespace)

        make(self._session, Change(request, DROPPED_NAMESPACE, what, is_gone))

    def what_stays(self, namespace: Name) -> str | None:  # noqa: ARG002 (of all the same)
        """Return nothing: a namespace holds only tables and views."""
        return None

    def properties(self, namespace: Name) -> dict[str, str]:
        """Return a namespace's properties. Raises NoSuchNamespaceError."""
        paths = self._session.paths
        paths.need(p.LOAD_NAMESPACE)
        return self._session.read(
            Request("GET", paths.namespace(namespace)),
            NAMESPACE,
            self._what("load", namespace),
            lambda answer: texts(answer.node().get("properties")),
        )

    def update_properties(
        self, namespace: Name, removals: Collection[str], updates: Mapping[str, str]
    ) -> None:
        """Remove and set properties in one step. Raises NoSuchNamespaceError."""
        paths = self._session.paths
        paths.need(p.UPDATE_NAMESPACE)
        body = {"removals": sorted(removals), "updates": dict(updates)}
        path = paths.namespace(namespace, "properties")
        request = change_request(self._session, "POST", path, body)

        def is_made() -> bool:
            now = self.properties(namespace)
            return updates.items() <= now.items() and not now.keys() & set(removals)

        what = self._what("change the properties of", namespace)
        make(self._session, Change(request, NAMESPACE, what, is_made))

    def rename_table(self, identifier: str, new_identifier: str) -> None:
        """Rename a table; its files stay.

        Raises NoSuchTableError, NoSuchNamespaceError, TableAlreadyExistsError.
        """
        paths = self._session.paths
        paths.need(p.RENAME)
        body = {"source": p.table_node(identifier), "destination": p.table_node(new_identifier)}
        request = change_request(self._session, "POST", paths.rename, body)
        what = f"rename table {self._tables.shown(identifier)} to {new_identifier}"
        for name in (identifier, new_identifier):
            self._tables.tagged_tables.forget(name)

        def is_made() -> bool:
            return not self._has(identifier) and self._has(new_identifier)

        make(self._session, Change(request, TABLE, what, is_made))

    def _has(self, identifier: str) -> bool:
        try:
            self._tables.load(identifier)
        except NoSuchTableError:
            return False
        return True

    def register_table(self, identifier: str, metadata_location: str) -> bool:
        """Register a table by a metadata file; False if the name is taken.

        Raises NoSuchNamespaceError.
        """
        paths = self._session.paths
        paths.need(p.REGISTER)
        namespace, name = p.split_name(identifier)
        body = {"name": name, "metadata-location": metadata_location}
        path = paths.namespace(namespace, "register")
        request = change_request(self._session, "POST", path, body)

        def is_made() -> bool:
            return self._has(identifier) and (
                self._tables.load(identifier).metadata_location == metadata_location
            )

        what = f"register table {self._tables.shown(identifier)}"
        try:
            make(self._session, Change(request, NEW_TABLE, what, is_made))
        except TableAlreadyExistsError:
            return False
        return True

    def _what(self, doing: str, namespace: Name) -> str:
        if not namespace:
            return f"{doing} namespaces of catalog '{self._name}'"
        if not all(namespace):
            raise InvalidInputError(f"'{'.'.join(namespace)}' is no namespace")
        return f"{doing} namespace {'.'.join(namespace)} of catalog '{self._name}'"
