"""A catalog of Iceberg tables in a classic session, by which Spark itself resolves their names.

Spark loads catalogs by class name from its class path. `IcebergCatalog.java` is compiled while the
session runs and put into the session's `CatalogManager`, so that no JAR is needed. Spark's analyzer
then calls the functions of a `CatalogProvider`.
"""

from __future__ import annotations

import json
import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from pyspark.errors import IllegalArgumentException
from pyspark.java_gateway import ensure_callback_server_started
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from iceberg_spark.spark.catalyst.file_pruning import Expression, parse_expression
from iceberg_spark.spark.session.classic_session import (
    frame_of_plan,
    is_connect,
    java_list,
    session_key,
)
from iceberg_spark.spark.session.compiled_java import compiled_object

_log = logging.getLogger(__name__)
_CLASS = "IcebergCatalog"
_FAILURES = 64

Name = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RowsRequest:
    """What a query uses of a relation.

    All of `filters` hold for each row that it uses. `is_counted`: it uses the number of rows only.
    """

    columns: tuple[str, ...]
    filters: tuple[Expression, ...]
    is_counted: bool = False


class ResolvedRelation(Protocol):
    """A table, metadata table or view at one version, whose rows are planned when they are read."""

    @property
    def columns(self) -> StructType:
        """The columns."""

    @property
    def metadata_columns(self) -> StructType:
        """The columns that a query gets only by naming them."""

    @property
    def version(self) -> str:
        """Relations of the same version have the same rows."""

    def rows(self, used: RowsRequest) -> Sequence[DataFrame]:
        """Return DataFrames that together have the rows, with the used columns in order.

        Their columns may have other names. They may include rows that a filter excludes, or not.
        """


class CatalogProvider(Protocol):
    """A catalog, as Spark's analyzer needs it."""

    def table(
        self, namespace: Name, name: str, version: str | None, timestamp_us: int | None
    ) -> ResolvedRelation | None:
        """Return a table or view, None if there is none."""

    def tables(self, namespace: Name) -> list[str] | None:
        """Return the names of the tables of a namespace, None if there is no such namespace."""

    def namespaces(self, parent: Name) -> list[Name] | None:
        """Return the namespaces below another one, None if there is no such namespace."""

    def namespace(self, namespace: Name) -> dict[str, str] | None:
        """Return the properties of a namespace, None if there is no such namespace."""


_lock = threading.Lock()
_registered: dict[str, set[str]] = {}
"""The names of the catalogs that are registered in Spark, by session."""


def registered_catalogs(session: SparkSession) -> set[str] | None:
    """Return the names of the catalogs that Spark resolves in a session; None if it can have none.

    A session can have catalogs after `begin_catalogs`, but not over Connect.
    """
    return _registered.get(session_key(session) or "") if _registered else None


def begin_catalogs(session: SparkSession) -> None:
    """Let a session have catalogs from now on, if the classes that they need compile."""
    if _java(session) is not None:
        with _lock:
            _registered.setdefault(session_key(session) or "", set())


def register_catalog(session: SparkSession, name: str, provider: CatalogProvider) -> bool:
    """Register a catalog in a session; return whether it is there."""
    java, names = _java(session), registered_catalogs(session)
    if java is None or names is None:
        return False
    inside: Any = session
    try:
        ensure_callback_server_started(inside.sparkContext._gateway)  # type: ignore[no-untyped-call]
        java.register(inside._jsparkSession, name, _CatalogCalls(provider))
    except Exception:  # noqa: BLE001 - no callback server, other classes of Spark, ...
        _log.warning("Spark can't resolve tables of catalog %s by itself", name, exc_info=True)
        return False
    names.add(name)
    return True


def lazy_frame(session: SparkSession, name: str, relation: ResolvedRelation) -> DataFrame | None:
    """Return a DataFrame of a relation, whose rows are planned when a query is optimized.

    Returns None over Connect, and if the session does not compile the classes.
    """
    java = _java(session)
    if java is None:
        return None
    inside: Any = session
    try:
        ensure_callback_server_started(inside.sparkContext._gateway)  # type: ignore[no-untyped-call]
        plan = java.plan(_session(session), name, _TableCalls(relation))
    except Exception:  # noqa: BLE001 - no callback server, other classes of Spark, ...
        _log.info("Queries of %s do not prune its files", name, exc_info=True)
        return None
    return frame_of_plan(session, plan)


def has_class(session: SparkSession, name: str) -> bool:
    """Return whether Spark can load a class in a classic session."""
    java = _java(session)
    return java is not None and bool(java.hasClass(name))


def end_catalogs(session: SparkSession) -> None:
    """Remove all catalogs from a session."""
    with _lock:
        names = _registered.pop(session_key(session) or "", None)
    java = _java(session)
    if names and java is not None:
        java.unregister(_session(session))


def use_in_spark(session: SparkSession, catalog: str, namespace: Name) -> None:
    """Have Spark resolve names of one part in a namespace of a catalog that was registered."""
    java: Any = _java(session)
    inside: Any = session
    if java is None:
        return
    names = inside._sc._gateway.new_array(inside._jvm.java.lang.String, len(namespace))
    for index, part in enumerate(namespace):
        names[index] = part
    java.use(_session(session), catalog, names)


def original_error(error: Exception) -> Exception | None:
    """Return the Python error that an error of Spark stands for, None if it is Spark's own."""
    return _failures.find(str(error)) if isinstance(error, IllegalArgumentException) else None


def _java(session: SparkSession) -> Any:
    return None if is_connect(session) else compiled_object(session, _CLASS, __package__)


def _session(session: SparkSession) -> Any:
    inside: Any = session
    return inside._jsparkSession


class _Failures:
    """The latest errors of calls from Java, by their texts: Java can only raise a text."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._errors: OrderedDict[str, Exception] = OrderedDict()
        self._lock = threading.Lock()

    def add(self, error: Exception) -> str:
        """Store an error, without its frames, and return the text that Java raises for it."""
        text = str(error) or type(error).__name__
        with self._lock:
            self._errors.pop(text, None)
            self._errors[text] = error.with_traceback(None)
            if len(self._errors) > self._most:
                self._errors.popitem(last=False)
        return text

    def find(self, message: str) -> Exception | None:
        """Return the latest error whose text is in a message from Java."""
        with self._lock:
            texts = [text for text in reversed(self._errors) if text in message]
            return self._errors[texts[0]] if texts else None


_failures = _Failures(_FAILURES)


def _answered(call: Callable[[], Any]) -> Any:
    """Return the result of a call, or its error as a text with a leading "!", which Java raises."""
    try:
        return call()
    except Exception as error:  # noqa: BLE001 - py4j would make a text with a traceback of it
        _log.debug("A call of Spark's analyzer failed", exc_info=True)
        return f"!{_failures.add(error)}"


@dataclass(frozen=True, slots=True, eq=False)
class _CatalogCalls:
    """The calls of `IcebergCatalog`: JSON in, JSON or an object out."""

    provider: CatalogProvider

    def apply(self, operation: str, request: str) -> Any:
        """Answer one call."""
        return _answered(lambda: self._answer(operation, json.loads(request)))

    def _answer(self, operation: str, request: dict[str, Any]) -> Any:
        provider, namespace = self.provider, tuple(request["namespace"])
        answer: Any
        match operation:
            case "table":
                rows = provider.table(
                    namespace, request["name"], request.get("version"), request.get("timestamp_us")
                )
                return None if rows is None else _TableCalls(rows)
            case "tables":
                answer = provider.tables(namespace)
            case "namespaces":
                answer = provider.namespaces(namespace)
            case _:
                answer = provider.namespace(namespace)
        return None if answer is None else json.dumps(answer)

    class Java:
        """The interface of Java that the class implements."""

        implements: ClassVar = ["java.util.function.BiFunction"]


@dataclass(frozen=True, slots=True, eq=False)
class _TableCalls:
    """The calls of `LazyTable`."""

    table: ResolvedRelation

    def apply(self, request: str | None) -> Any:
        """Describe the table, or return a Java list of DataFrames for a request."""
        return _answered(self._description if request is None else lambda: self._rows(request))

    def _description(self) -> str:
        table = self.table
        return json.dumps(
            {
                "schema": table.columns.jsonValue(),
                "metadata": table.metadata_columns.jsonValue(),
                "version": table.version,
            }
        )

    def _rows(self, request: str) -> Any:
        query = json.loads(request)
        filters = tuple(map(parse_expression, query["filters"]))
        rows = RowsRequest(tuple(query["columns"]), filters, query["counted"])
        frames: Any = self.table.rows(rows)
        return java_list(frames[0].sparkSession, (frame._jdf for frame in frames))

    class Java:
        """The interface of Java that the class implements."""

        implements: ClassVar = ["java.util.function.Function"]
