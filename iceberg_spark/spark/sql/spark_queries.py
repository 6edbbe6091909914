"""Queries that Spark runs itself on a classic session: the catalog that answers its analyzer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeVar

from pyspark.sql import SparkSession
from sqlglot.tokenizer_core import Token, TokenType

from iceberg_spark.catalog.catalog import LoadedTable, Namespaces
from iceberg_spark.catalog.registry import LOCAL_CATALOG
from iceberg_spark.catalog.table_name import joined_name
from iceberg_spark.errors import (
    InvalidInputError,
    NoSuchNamespaceError,
    NoSuchTableError,
)
from iceberg_spark.inspect.pinned_inspection import pin_metadata_table
from iceberg_spark.read.changes_table import refuse_as_of
from iceberg_spark.scan.incremental import is_changes
from iceberg_spark.scan.request import ScanRequest
from iceberg_spark.spark.adapt.builder_state import FORMAT_NAME
from iceberg_spark.spark.catalyst.spark_catalog import (
    Name,
    ResolvedRelation,
    has_class,
    register_catalog,
    registered_catalogs,
)
from iceberg_spark.spark.session.active_session import is_case_sensitive, session_time_zone
from iceberg_spark.spark.session.session_cache import session_cache
from iceberg_spark.spark.session.session_catalogs import (
    described_names,
    is_ours,
    load_session_catalog,
    spark_catalog_class,
)
from iceberg_spark.spark.session.session_dialect import session_dialect
from iceberg_spark.spark.sql.current_namespace import current_namespace
from iceberg_spark.spark.sql.query import TableAddress, load_table_or_view, queried_view
from iceberg_spark.spark.sql.references import TableReference
from iceberg_spark.spark.sql.resolved_relations import (
    ResolvedChanges,
    ResolvedMetadataTable,
    ResolvedTable,
    ResolvedView,
)
from iceberg_spark.spark.sql.statement_context import StatementContext
from iceberg_spark.spark.sql.statements.cursor import script_tokens
from iceberg_spark.spark.sql.statements.read import EXPLAIN_MODES, QUERY_WORDS
from iceberg_spark.spark.sql.table_planner import selected_snapshot
from iceberg_spark.spark.sql.wap_branch import branch_to_read
from iceberg_spark.spec.view import ViewMetadata

_SPARKS_OWN = "spark_catalog"
_CHANGES = frozenset({"INSERT", "MERGE", "UPDATE", "DELETE"})
_CHANGES_IN_SCRIPTS = _CHANGES | {"TRUNCATE", "ALTER", "CALL"}
_DEFINED = frozenset({"TABLE", "EXTERNAL", "NAMESPACE", "SCHEMA", "DATABASE"})
_FUNCTIONS = "SYSTEM"


def register_catalogs(spark: SparkSession, text: str = "") -> bool:
    """Register new catalogs in Spark; return whether Spark resolves the tables of all catalogs.

    The catalog `local`, which needs no settings, is registered if a statement mentions it. Returns
    False unless the session is enabled and classic. Also returns False for a statement about a
    catalog of Java's runtime if the JVM has that: its data source needs the catalog's own class.
    """
    registered = registered_catalogs(spark)
    if registered is None:
        return False
    names = described_names(spark) | ({LOCAL_CATALOG} if LOCAL_CATALOG in text else set())
    for name in names - registered - {_SPARKS_OWN}:
        if not is_ours(spark, name):
            continue
        kind = spark_catalog_class(spark, name)
        if kind is not None and has_class(spark, kind):
            if name in text or (current_namespace(spark) or ("",))[0] == name:
                return False
        elif not register_catalog(spark, name, SessionCatalog(spark, name)):
            return False
    return True


def is_sparks_statement(spark: SparkSession, text: str) -> bool:
    """Return whether Spark's own parser and analyzer run a statement about Iceberg tables.

    These are queries, scripts that change no table, and statements about temporary views, caches
    and functions. They are not if they use what Spark's grammar or a classic session
    lacks: functions of a catalog (`cat.system.bucket(...)`), locations in place of names, read
    options (`FROM t WITH (...)`).
    """
    try:
        tokens = script_tokens(text, session_dialect(spark))
    except InvalidInputError:
        return True  # Spark's parser says where the error is
    if not _is_run_by_spark(_outer_words(tokens)):
        return False
    return not any(_is_beyond_spark(tokens, index) for index in range(len(tokens)))


def _is_run_by_spark(words: Sequence[str]) -> bool:
    """Return whether a statement is of a kind that Spark runs, by its words outside brackets."""
    match words:
        case ["EXPLAIN", *rest]:
            query = rest[1:] if rest and rest[0] in EXPLAIN_MODES else rest
            return _is_query(query)
        case ["DESCRIBE" | "DESC", "QUERY", *query]:
            return _is_query(query)
        case ["DESCRIBE" | "DESC", "SELECT" | "WITH" | "VALUES", *_]:
            return _is_query(words[1:])
        case ["CACHE" | "UNCACHE", *_] | ["CLEAR", "CACHE"]:
            return True
        case ["BEGIN", *script]:
            return not _script_changes(script)
        case ["CREATE", *rest]:
            return _is_temporary([word for word in rest if word not in ("OR", "REPLACE", "GLOBAL")])
        case ["DROP", "TEMPORARY", *_]:
            return True
        case _:
            return _is_query(words)


def _script_changes(words: Sequence[str]) -> bool:
    """Return whether a script may change tables, and not only views and variables."""
    defines = any(
        word in ("CREATE", "DROP", "REPLACE") and following in _DEFINED
        for word, following in pairwise(words)
    )
    return defines or not _CHANGES_IN_SCRIPTS.isdisjoint(words)


def _outer_words(tokens: Sequence[Token]) -> list[str]:
    """Return the words outside brackets in upper case, with a "(" for each pair of brackets."""
    words, depth = [], 0
    for token in tokens:
        depth -= token.token_type is TokenType.R_PAREN
        if depth == 0 and token.token_type not in (TokenType.R_PAREN, TokenType.IDENTIFIER):
            words.append(token.text.upper())
        depth += token.token_type is TokenType.L_PAREN
    return words


def _is_query(words: Sequence[str]) -> bool:
    return bool(words) and words[0] in ("WITH", *QUERY_WORDS) and not _CHANGES.intersection(words)


def _is_temporary(words: Sequence[str]) -> bool:
    return bool(words) and words[0] in ("TEMPORARY", "TEMP")


def _is_beyond_spark(tokens: list[Token], index: int) -> bool:
    token = tokens[index]
    is_quoted = token.token_type is TokenType.IDENTIFIER
    if is_quoted and ("/" in token.text or token.text.lower() == FORMAT_NAME):
        return True
    word = token.text.upper()
    following = tokens[index + 1].token_type if index + 1 < len(tokens) else None
    if word == "WITH":
        return following is TokenType.L_PAREN
    return following is TokenType.DOT and word in (_FUNCTIONS, _SPARKS_OWN.upper())


Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class SessionCatalog:
    """One catalog that the settings of a session describe."""

    spark: SparkSession
    catalog_name: str

    def table(
        self, namespace: Name, name: str, version: str | None, timestamp_us: int | None
    ) -> ResolvedRelation | None:
        """Return a table, a metadata table or a view, pinned to one version."""
        with session_cache(self.spark):
            return self._load(namespace, name, _moment(version, timestamp_us))

    def _load(self, namespace: Name, name: str, moment: dict[str, Any]) -> ResolvedRelation | None:
        context = StatementContext(self.spark)
        identifier = joined_name((*namespace, name))
        address = TableAddress(*context.resolve(f"{self.catalog_name}.{identifier}"))
        try:
            there, selector = load_table_or_view(address, context)
        except (NoSuchTableError, NoSuchNamespaceError):
            return None
        if isinstance(there, ViewMetadata):
            return self._view(address, there, (*namespace, name), context, moment)
        return self._table(there, selector, moment)

    def tables(self, namespace: Name) -> list[str] | None:
        """Return the names of the tables of a namespace."""
        return _if_there(lambda: [name[-1] for name in self._namespaces.list_tables(namespace)])

    def namespaces(self, parent: Name) -> list[Name] | None:
        """Return the namespaces below another one."""
        return _if_there(lambda: self._namespaces.list_namespaces(parent))

    def namespace(self, namespace: Name) -> dict[str, str] | None:
        """Return the properties of a namespace; the root of the catalog has none."""
        if not namespace:
            return {}
        return _if_there(lambda: self._namespaces.properties(namespace))

    @property
    def _namespaces(self) -> Namespaces:
        listed = load_session_catalog(self.spark, self.catalog_name).namespaces
        if listed is None:
            raise NoSuchNamespaceError(f"Catalog {self.catalog_name} has no namespaces")
        return listed

    def _view(
        self,
        address: TableAddress,
        view: ViewMetadata,
        name: Name,
        context: StatementContext,
        moment: dict[str, Any],
    ) -> ResolvedView:
        if moment:
            raise InvalidInputError(
                f"{self.catalog_name}.{address.identifier} is a view: it has no versions to be "
                "read AS OF"
            )
        reference = TableReference((self.catalog_name, *name), 0, 0, None)
        query = queried_view(self.spark, reference, address, view, (), context)
        return ResolvedView.of(self.spark, query)

    def _table(
        self, loaded: LoadedTable, selector: str | None, moment: dict[str, Any]
    ) -> ResolvedRelation:
        choice = selected_snapshot(selector)
        if choice and moment:
            raise InvalidInputError(
                f"{loaded.identifier}.{selector} is one version of the table: leave AS OF out"
            )
        if selector and not choice and not is_changes(selector):
            pinned = pin_metadata_table(loaded, selector, **moment)
            version = f"{loaded.metadata_location} {selector} {moment}"
            return ResolvedMetadataTable(self.spark, *pinned, version)
        chosen = {**choice, **moment}
        if not chosen and (branch := branch_to_read(self.spark, loaded.metadata)) is not None:
            chosen = {"branch": branch}
        request = ScanRequest(
            **chosen,
            case_sensitive=is_case_sensitive(self.spark),
            time_zone=session_time_zone(self.spark),
        )
        if is_changes(selector):
            if moment:
                refuse_as_of(f"{loaded.identifier}.{selector}")
            return ResolvedChanges.of(self.spark, loaded, request)
        return ResolvedTable.of(self.spark, loaded, request)


def _moment(version: str | None, timestamp_us: int | None) -> dict[str, Any]:
    if version is not None:
        return {"version_as_of": version}
    return {} if timestamp_us is None else {"as_of_timestamp_ms": timestamp_us // 1000}


def _if_there(load: Callable[[], Answer]) -> Answer | None:
    try:
        return load()
    except NoSuchNamespaceError:
        return None
