"""The server's endpoints, and the paths of namespaces and tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote

from iceberg_spark.catalog.catalog import Name
from iceberg_spark.errors import (
    InvalidInputError,
    NoSuchNamespaceError,
    NoSuchTableError,
    NoSuchViewError,
    NotFoundError,
    UnsupportedError,
)

CONFIG = "v1/config"
TOKENS = "v1/oauth/tokens"

_NAMESPACES = "/v1/{prefix}/namespaces"
_NAMESPACE = "/v1/{prefix}/namespaces/{namespace}"
_TABLES = "/v1/{prefix}/namespaces/{namespace}/tables"
_VIEWS = "/v1/{prefix}/namespaces/{namespace}/views"
_VIEW = "/v1/{prefix}/namespaces/{namespace}/views/{view}"
_TABLE = "/v1/{prefix}/namespaces/{namespace}/tables/{table}"

LIST_NAMESPACES = f"GET {_NAMESPACES}"
CREATE_NAMESPACE = f"POST {_NAMESPACES}"
NAMESPACE_EXISTS = f"HEAD {_NAMESPACE}"
LOAD_NAMESPACE = f"GET {_NAMESPACE}"
DROP_NAMESPACE = f"DELETE {_NAMESPACE}"
UPDATE_NAMESPACE = f"POST {_NAMESPACE}/properties"
LIST_TABLES = f"GET {_TABLES}"
CREATE_TABLE = f"POST {_TABLES}"
LOAD_TABLE = f"GET {_TABLE}"
TABLE_EXISTS = f"HEAD {_TABLE}"
COMMIT = f"POST {_TABLE}"
DROP_TABLE = f"DELETE {_TABLE}"
REGISTER = f"POST {_NAMESPACE}/register"
RENAME = "POST /v1/{prefix}/tables/rename"
LIST_VIEWS = f"GET {_VIEWS}"
CREATE_VIEW = f"POST {_VIEWS}"
LOAD_VIEW = f"GET {_VIEW}"
VIEW_EXISTS = f"HEAD {_VIEW}"
REPLACE_VIEW = f"POST {_VIEW}"
DROP_VIEW = f"DELETE {_VIEW}"
RENAME_VIEW = "POST /v1/{prefix}/views/rename"
REPORT_METRICS = f"POST {_TABLE}/metrics"
CREDENTIALS = f"GET {_TABLE}/credentials"
PLAN_SCAN = f"POST {_TABLE}/plan"
FETCH_PLAN = f"GET {_TABLE}/plan/{{plan-id}}"
CANCEL_PLAN = f"DELETE {_TABLE}/plan/{{plan-id}}"
SIGN = f"POST {_TABLE}/sign"
FETCH_SCAN_TASKS = f"POST {_TABLE}/tasks"
COMMIT_TABLES = "POST /v1/{prefix}/transactions/commit"

DEFAULT_ENDPOINTS = frozenset({
    LIST_NAMESPACES, CREATE_NAMESPACE, LOAD_NAMESPACE, DROP_NAMESPACE, UPDATE_NAMESPACE,
    LIST_TABLES, CREATE_TABLE, LOAD_TABLE, COMMIT, DROP_TABLE, REGISTER, RENAME, REPORT_METRICS,
    COMMIT_TABLES,
})  # fmt: skip
"""The endpoints of a server that lists none (specification, `/v1/config`)."""
VIEW_ENDPOINTS = frozenset({
    LIST_VIEWS, CREATE_VIEW, LOAD_VIEW, REPLACE_VIEW, DROP_VIEW, RENAME_VIEW,
})  # fmt: skip
"""Further endpoints if the property `view-endpoints-supported` is true (Java)."""


def split_name(
    identifier: str, missing: type[NotFoundError] = NoSuchTableError
) -> tuple[Name, str]:
    """Return the namespace and the name of a table or view.

    Raises InvalidInputError, and `missing` for a name in the root namespace, which has neither
    tables nor views (Java: RESTSessionCatalog).
    """
    *namespace, name = identifier.split(".")
    if not all((*namespace, name)):
        raise InvalidInputError(f"'{identifier}' is not namespace.table: a part of it is empty")
    if not namespace:
        raise missing(f"There is no {name} in the root namespace: name another before it")
    return tuple(namespace), name


def table_node(identifier: str) -> dict[str, Any]:
    """Return a table's identifier for the body of a request."""
    namespace, name = split_name(identifier)
    return {"namespace": list(namespace), "name": name}


def _quoted(part: str) -> str:
    try:
        return quote(part, safe="")
    except UnicodeEncodeError:
        raise InvalidInputError(f"{part!r} is no name: it has half of a character") from None


@dataclass(frozen=True, slots=True)
class Paths:
    """Paths of one server, with its `prefix` and `separator`."""

    prefix: str
    separator: str
    endpoints: frozenset[str]

    def has(self, endpoint: str) -> bool:
        """Return whether the server has an endpoint."""
        return endpoint in self.endpoints

    def need(self, endpoint: str) -> None:
        """Raise UnsupportedError if the server lacks an endpoint."""
        if endpoint not in self.endpoints:
            raise UnsupportedError(f"The catalog's server does not have the endpoint {endpoint}")

    @property
    def namespaces(self) -> str:
        """The path of the list of namespaces."""
        return self._of("namespaces")

    def namespace(self, namespace: Name, *below: str) -> str:
        """The path of a namespace, or below it. Raises NoSuchNamespaceError for the root."""
        if not namespace:
            raise NoSuchNamespaceError("The root namespace has no tables: name another one")
        self._check(namespace)
        parts = self.separator.join(_quoted(part) for part in namespace)
        return self._of("namespaces", parts, *below)

    def parent(self, namespace: Name) -> str:
        """A namespace as a query parameter, which the client encodes."""
        self._check(namespace)
        return unquote(self.separator).join(namespace)

    def _check(self, namespace: Name) -> None:
        """Refuse a part with the separator: the server would read another namespace."""
        between = unquote(self.separator)
        if any(between in part for part in namespace):
            raise InvalidInputError(
                f"A part of namespace {'.'.join(namespace)} has {between!r} in it, which the "
                "server puts between parts: it would be taken for another namespace"
            )

    def table(self, identifier: str, *below: str) -> str:
        """The path of a table, or below it."""
        namespace, name = split_name(identifier)
        return self.namespace(namespace, "tables", _quoted(name), *below)

    def plan(self, identifier: str, plan_id: str) -> str:
        """The path of a plan of a table's scan."""
        return self.table(identifier, "plan", _quoted(plan_id))

    def view(self, identifier: str) -> str:
        """The path of a view."""
        namespace, name = split_name(identifier, NoSuchViewError)
        return self.namespace(namespace, "views", _quoted(name))

    @property
    def rename_view(self) -> str:
        """The path for renaming views."""
        return self._of("views", "rename")

    @property
    def tables(self) -> str:
        """The path for commits of several tables."""
        return self._of("transactions", "commit")

    @property
    def rename(self) -> str:
        """The path for renaming tables."""
        return self._of("tables", "rename")

    def _of(self, *parts: str) -> str:
        return "/".join(part for part in ("v1", self.prefix, *parts) if part)
