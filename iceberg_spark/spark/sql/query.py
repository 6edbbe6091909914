"""A query over Iceberg tables: each becomes a DataFrame, pruned by the query's conditions."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias

from pyspark.sql import DataFrame, SparkSession

from iceberg_spark.catalog.catalog import Catalog, LoadedTable, view_if_there
from iceberg_spark.catalog.pinned import split_name
from iceberg_spark.catalog.table_name import joined_name, missing_table
from iceberg_spark.errors import (
    InvalidInputError,
    NoSuchNamespaceError,
    NoSuchTableError,
    UnsupportedError,
)
from iceberg_spark.spark.adapt.builder_state import FORMAT_NAME
from iceberg_spark.spark.catalyst.classic_frame import is_deterministic
from iceberg_spark.spark.catalyst.classic_queries import Rows, frame_of
from iceberg_spark.spark.catalyst.spark_catalog import registered_catalogs
from iceberg_spark.spark.session.classic_session import is_connect
from iceberg_spark.spark.session.own_methods import run_sql
from iceberg_spark.spark.session.session_dialect import session_dialect
from iceberg_spark.spark.sql.current_namespace import whole_name
from iceberg_spark.spark.sql.functions import with_functions
from iceberg_spark.spark.sql.hidden_columns import Hidden, stars_without
from iceberg_spark.spark.sql.named_relation import folding, iceberg_relation, named_relation
from iceberg_spark.spark.sql.parsed_query import ParsedQuery
from iceberg_spark.spark.sql.pushdown import select_of
from iceberg_spark.spark.sql.qualified_columns import (
    OuterScope,
    QualifiedColumns,
    QualifierResolver,
)
from iceberg_spark.spark.sql.qualifiers import Edit, apply_edits
from iceberg_spark.spark.sql.references import TableReference
from iceberg_spark.spark.sql.references_iceberg import names_no_table
from iceberg_spark.spark.sql.relations import Relation
from iceberg_spark.spark.sql.statement_context import StatementContext
from iceberg_spark.spark.sql.table_planner import (
    QueriedTable,
    SessionQuery,
    TablePlanner,
    is_selector,
)
from iceberg_spark.spark.sql.unreadable_text import UnreadableTextError
from iceberg_spark.spark.sql.view_columns import ViewNames, as_view, check_no_code
from iceberg_spark.spark.sql.view_dialects import text_from_trino
from iceberg_spark.spec.quoted_name import quote
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.view import SPARK_DIALECT, TRINO_DIALECT, ViewMetadata

_TABLE = "iceberg_spark_table_"
_NO_OUTER_SCOPE = OuterScope()
_CLASSIC_ONLY = (
    "Over Spark Connect this library parses queries itself; a classic session leaves this query to "
    "Spark's parser"
)


@dataclass(frozen=True, slots=True)
class QueriedView:
    """A view in a query: the view's planned query, and its own columns."""

    reference: TableReference
    query: Query
    columns: Schema
    name: str

    def rows(self, spark: SparkSession) -> DataFrame:
        """Return the view's rows."""
        return as_view(self.query.frame(spark), self.columns, self.name)


@dataclass(frozen=True, slots=True)
class SparksTable:
    """A table of Spark in the text of a view, under its full name."""

    reference: TableReference

    @property
    def text(self) -> str:
        """The name in SQL syntax."""
        return ".".join(quote(part) for part in self.reference.parts)


Args: TypeAlias = Mapping[str, Any] | Sequence[Any] | None
"""The values of a statement's parameters, by name or by position."""
Part: TypeAlias = QueriedTable | QueriedView | SparksTable


@dataclass(frozen=True, slots=True)
class Query:
    """A query whose tables are planned; `frame` lets Spark run it.

    `edits` replace full names of tables before columns by short names, and exclude metadata
    columns from stars. `names` are short names that differ from the last part of the full name, by
    the positions of the tables.
    """

    text: str
    parts: tuple[Part, ...]
    edits: tuple[Edit, ...] = ()
    names: Mapping[int, str] = field(default_factory=dict)

    def between(self, start: int, end: int) -> str:
        """Return a part of the text, in which columns are qualified with short names only."""
        return apply_edits(self.text, start, end, self.edits)

    def alias(self, reference: TableReference) -> str:
        """Return an AS clause with the name of a table, empty if the table has an alias."""
        if reference.alias is not None:
            return ""
        return f" AS {quote(self.names.get(reference.start, reference.parts[-1]))}"

    @property
    def tables(self) -> tuple[QueriedTable, ...]:
        """The Iceberg tables that it reads, including those of its views."""
        tables: list[QueriedTable] = []
        for part in self.parts:
            match part:
                case QueriedTable():
                    tables.append(part)
                case QueriedView():
                    tables += part.query.tables
                case SparksTable():
                    continue
        return tuple(tables)

    def frame(
        self,
        spark: SparkSession,
        args: Args = None,
        before: str = "",
        named_frames: Mapping[str, DataFrame] | None = None,
    ) -> DataFrame:
        """Return the query's DataFrame. `args` are the values of its parameters (`:name` or `?`).

        `before` is put before it, like EXPLAIN; `named_frames` are DataFrames that it names.
        """
        tables = self._rows(spark)
        frames = {
            **(named_frames or {}),
            **{name: frame_of(rows, spark) for name, rows in tables.items()},
        }
        text = before + self._with_names(_escaped if frames else str, "{{{}}}".format)
        for name in named_frames or ():  # generated names, which nothing else has
            text = text.replace(name, f"{{{name}}}")
        return run_sql(spark, text, args, **frames)

    def _rows(self, spark: SparkSession) -> dict[str, Rows]:
        """Return the rows of tables and views, by their names in the text.

        A view that occurs several times is built once: otherwise each level of views that double
        would double the work. A random view is built for each occurrence, as in Spark: its values
        differ.
        """
        places = Counter(id(part.query) for part in self.parts if isinstance(part, QueriedView))
        shared: dict[int, DataFrame] = {}
        tables: dict[str, Rows] = {}
        for number, part in enumerate(self.parts):
            name = f"{_TABLE}{number}"
            match part:
                case QueriedTable():
                    tables[name] = part.rows(spark)
                case QueriedView(query=query) if id(query) in shared:
                    tables[name] = shared[id(query)]
                case QueriedView(query=query):
                    tables[name] = rows = part.rows(spark)
                    if places[id(query)] > 1 and is_deterministic(rows):
                        shared[id(query)] = rows
                case SparksTable():
                    continue
        return tables

    def _with_names(self, plain: Callable[[str], str], named: Callable[[str], str]) -> str:
        """Return the text with DataFrames for tables; `plain` and `named` format its parts."""
        pieces, position = [], 0
        for number, part in enumerate(self.parts):
            reference = part.reference
            pieces.append(plain(self.between(position, reference.start)))
            if isinstance(part, SparksTable):
                pieces.append(plain(part.text))
                position = reference.name_end
            else:
                behind = self.between(reference.end, reference.alias_at) + self.alias(reference)
                pieces.append(f"{named(f'{_TABLE}{number}')}{plain(behind)}")
                position = reference.alias_at
        pieces.append(plain(self.between(position, len(self.text))))
        return "".join(pieces)


def plan_query(
    spark: SparkSession,
    text: str,
    names: ViewNames | None = None,
    outer: OuterScope = _NO_OUTER_SCOPE,
    context: StatementContext | None = None,
) -> Query:
    """Plan the scans of the Iceberg tables that a query names.

    Tables are identifiers of configured catalogs ("cat.db.t"), and locations in backticks; with
    VERSION or TIMESTAMP AS OF, `.branch_x`, `.tag_x`, or a metadata table (`.snapshots`). A name
    without a table may be a view. `names` resolves the names in the text of a view. `outer` has
    the outer relations that the query may refer to. All references to a
    table read the same version: the one that `context` has loaded, else the newest.
    Raises InvalidInputError if `text` is not a query, NoSuchTableError, NoSuchSnapshotError.
    """
    if names is not None:
        text = with_functions(spark, text, of_view=True)
    try:
        parsed = ParsedQuery.of(text, session_dialect(spark))
    except UnreadableTextError as error:
        is_of_view = names is not None or outer is not _NO_OUTER_SCOPE
        return _query_of_spark(spark, text, error, is_of_view=is_of_view)
    text, dialect, references = parsed.text, parsed.dialect, parsed.references
    if names is not None:
        names.check_text(parsed.tree.root, text, dialect)
    parts: list[Part] = []
    query = SessionQuery.of(spark, parsed)
    context = StatementContext(spark) if context is None else context
    for written in references:
        reference = written if names is None else names.qualified(written, spark)
        address = _table_address(reference, context, names)
        if address is not None:
            other_columns = partial(_other_columns, query, written, references, names, context)
            planner = TablePlanner(query, reference, other_columns)
            parts.append(_part(planner, address, () if names is None else names.path, context))
        elif names is not None:
            parts.append(SparksTable(reference))
    tables = [part for part in parts if isinstance(part, QueriedTable)]
    qualified = _qualified_columns(query, parts, outer)
    hidden = [
        Hidden(table.reference, table.hidden, qualified.names.get(table.reference.start))
        for table in tables
        if table.hidden
    ]
    edits = (*qualified.edits, *stars_without(text, references, hidden, dialect))
    return Query(text, tuple(parts), tuple(sorted(edits)), qualified.names)


def _query_of_spark(
    spark: SparkSession, text: str, error: UnreadableTextError, *, is_of_view: bool
) -> Query:
    """Return a query for Spark's parser, which finds the tables or raises an error.

    Over Connect, that is a query without Iceberg tables. Raises the error for all others.
    """
    if not is_connect(spark):
        if is_of_view or not registered_catalogs(spark):
            raise error
    elif is_of_view or not names_no_table(spark, text):
        raise UnreadableTextError(f"{error}. {_CLASSIC_ONLY}") from None
    return Query(text, ())


def _qualified_columns(
    query: SessionQuery, parts: Sequence[Part], outer: OuterScope
) -> QualifiedColumns:
    """Return the short names of the Iceberg tables in Spark's text."""
    spark, fold = query.spark, folding(query.case_sensitive)
    iceberg_relations = {
        id(part.reference.node): iceberg_relation(spark, part.reference, part.columns, fold)
        for part in parts
        if not isinstance(part, SparksTable)
    }
    spark_references = {
        id(part.reference.node): part.reference for part in parts if isinstance(part, SparksTable)
    }

    def relation_of(reference: TableReference) -> Relation:
        iceberg_table, node = iceberg_relations.get(id(reference.node)), id(reference.node)
        return iceberg_table or named_relation(spark, spark_references.get(node, reference), fold)

    relations = (*iceberg_relations.values(), *outer.relations)
    full_names = [relation.full_name for relation in relations if relation.full_name]
    return QualifierResolver(query.parsed, relation_of, outer, fold, full_names).resolve()


def _other_columns(
    query: SessionQuery,
    table: TableReference,
    references: Sequence[TableReference],
    names: ViewNames | None,
    context: StatementContext,
) -> frozenset[str]:
    """Return the columns of the other tables, including Spark's, that a table's SELECT reads."""
    select = select_of(table)
    columns: set[str] = set()
    for other in references:
        if other is not table and select_of(other) is select:
            text = f"TABLE {query.parsed.text[other.start : other.end]}"
            table_query = plan_query(query.spark, text, names, context=context)
            columns.update(table_query.frame(query.spark).columns)
    return frozenset(name.lower() for name in columns)


@dataclass(frozen=True, slots=True)
class TableAddress:
    """The catalog and identifier of an Iceberg table; `selector` is what follows a "#"."""

    catalog: Catalog
    identifier: str
    selector: str | None = None


def _table_address(
    reference: TableReference, context: StatementContext, names: ViewNames | None
) -> TableAddress | None:
    """Return the address of an Iceberg table, None for a table of Spark.

    Raises InvalidInputError for a part with a dot: joined by dots it would be another name.
    """
    first, *rest = reference.parts
    if names is not None and first == names.catalog.name and rest:
        return TableAddress(names.catalog, joined_name(rest))
    text = _iceberg_name(reference, context)
    if text is None:
        return None
    table, selector = split_name(text)
    return TableAddress(*context.resolve(table), selector)


def _iceberg_name(reference: TableReference, context: StatementContext) -> str | None:
    """Return the location or identifier of an Iceberg table, None for a table of Spark."""
    first, *rest = reference.parts
    if not rest and "/" in first:
        return first
    if first.lower() == FORMAT_NAME and len(rest) == 1:
        return rest[0]
    parts = whole_name(context.spark, reference.parts)
    if context.is_table(parts):
        if any("/" in part for part in parts):
            raise NoSuchTableError(f"No table {'.'.join(parts)}: a name in a catalog has no slash")
        return joined_name(parts)
    return None


def _part(
    planner: TablePlanner, address: TableAddress, path: tuple[str, ...], context: StatementContext
) -> QueriedTable | QueriedView:
    """Plan a table, or the view of that name if there is no such table."""
    try:
        there, selector = load_table_or_view(address, context)
    except (NoSuchTableError, NoSuchNamespaceError) as error:
        raise missing_table(address.catalog, address.identifier, error) from None
    if isinstance(there, ViewMetadata):
        return queried_view(planner.query.spark, planner.reference, address, there, path, context)
    return planner.table(there, selector)


def load_table_or_view(
    address: TableAddress, context: StatementContext
) -> tuple[LoadedTable, str | None] | tuple[ViewMetadata, None]:
    """Load a table with the selector after its name, or the view if there is no such table.

    Raises NoSuchTableError, NoSuchNamespaceError.
    """
    try:
        loaded, selector = _table_and_selector(address, context)
    except (NoSuchTableError, NoSuchNamespaceError):
        view = _view(address)
        if view is None:
            raise
        return view, None
    if address.selector is None and selector is not None and not is_selector(selector):
        view = _view(address)  # its namespace may have the name of a table
        if view is not None:
            return view, None
    return loaded, selector


def _view(address: TableAddress) -> ViewMetadata | None:
    views = address.catalog.views
    if views is None or address.selector is not None:
        return None
    return view_if_there(views, address.identifier)


def queried_view(
    spark: SparkSession,
    reference: TableReference,
    address: TableAddress,
    view: ViewMetadata,
    path: tuple[str, ...],
    context: StatementContext,
) -> QueriedView:
    """Plan the query of a view; `path` are the views that led to it.

    Raises InvalidInputError, UnsupportedError for a view whose text Spark can't read.
    """
    name = f"{address.catalog.name}.{address.identifier}"
    if reference.end != reference.name_end:
        raise InvalidInputError(
            f"{name} is a view: it has no versions to be read AS OF, and no options"
        )
    version = view.current_version
    names = ViewNames(
        address.catalog,
        version.default_catalog or address.catalog.name,
        version.default_namespace,
        (*path, name),
    )
    names.check_path()

    def plan() -> Query:
        text = _spark_text(spark, view, names, context)
        check_no_code(text, name, address.catalog.properties, session_dialect(spark))
        return plan_query(spark, text, names, context=context)

    query = context.plan_view(name, (view.view_uuid, version.version_id), plan)
    return QueriedView(reference, query, view.schema, name)


def _spark_text(
    spark: SparkSession, view: ViewMetadata, names: ViewNames, context: StatementContext
) -> str:
    """Return a view's text for Spark, carried over from Trino's if it has none.

    Raises UnsupportedError naming the dialects that exist, or why the text can't be carried over.
    """
    version = view.current_version
    text, trino = version.sql_for(SPARK_DIALECT), version.sql_for(TRINO_DIALECT)
    if text is not None:
        return text
    if trino is None:
        dialects = ", ".join(version.dialects) or "none"
        raise UnsupportedError(
            f"View {names.view} has no text for Spark; dialects it has: {dialects}"
        )
    columns_of = partial(columns_in_view, spark, names, context)
    try:
        text = text_from_trino(trino, session_dialect(spark), columns_of)
    except UnsupportedError as cause:
        raise UnsupportedError(
            f"View {names.view} has no text for Spark, and its text for Trino can't be carried "
            f"over exactly: {cause}"
        ) from cause
    warnings.warn(
        f"View {names.view} has no text for Spark: its text for Trino is read as Spark's",
        stacklevel=2,
    )
    return text


def columns_in_view(
    spark: SparkSession, names: ViewNames, context: StatementContext, parts: tuple[str, ...]
) -> Schema:
    """Return the columns of a table or view that the text of a view names.

    Raises UnsupportedError for a name that Trino reads otherwise, NoSuchTableError.
    """
    names.check_trino_name(parts, spark)
    full_name = names.full_name(parts, spark)
    address = _table_address(TableReference(full_name, 0, 0, None), context, names)
    if address is None:
        raise UnsupportedError(f"{'.'.join(full_name)} is not an Iceberg table")
    try:
        there, selector = load_table_or_view(address, context)
    except (NoSuchTableError, NoSuchNamespaceError) as error:
        raise missing_table(address.catalog, address.identifier, error) from None
    if selector is not None:
        raise UnsupportedError(f"{'.'.join(full_name)} is a metadata table or a branch")
    return there.schema if isinstance(there, ViewMetadata) else there.metadata.schema


def _table_and_selector(
    address: TableAddress, context: StatementContext
) -> tuple[LoadedTable, str | None]:
    """Return a table and the selector after its name: a branch, a tag, a metadata table.

    The full name is tried first, by loading: some servers report that a table exists under the
    name of a metadata table.
    """
    catalog, identifier, name = address.catalog, address.identifier, address.selector
    above, _, last = identifier.rpartition(".")
    has_root = "." not in above and is_selector(
        last
    )  # `cat.t.files` is a metadata table of `cat.t`
    if name is not None or "/" in identifier or not above or not ("." in above or has_root):
        return context.load(catalog, identifier), name
    try:
        return context.load(catalog, identifier), None
    except (NoSuchTableError, NoSuchNamespaceError) as error:
        try:
            return context.load(catalog, above), last
        except (NoSuchTableError, NoSuchNamespaceError):
            raise error from None


def _escaped(text: str) -> str:
    """Return text with escaped braces, for `spark.sql` with DataFrames."""
    return text.replace("{", "{{").replace("}", "}}")
