"""A query over tables of ours: each becomes a frame, pruned by what the text asks of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

from pyspark.sql import DataFrame, SparkSession

from iceberg_spark.catalog.catalog import Catalog, LoadedTable
from iceberg_spark.catalog.pinned import split_name
from iceberg_spark.catalog.registry import resolve, with_settings
from iceberg_spark.catalog.table_name import check_part
from iceberg_spark.errors import (
    IcebergError,
    InvalidInputError,
    NoSuchNamespaceError,
    NoSuchTableError,
    NotFoundError,
    UnsupportedError,
)
from iceberg_spark.expr.bind import bind
from iceberg_spark.expr.dialect import Dialect
from iceberg_spark.expr.nodes import And, Unbound
from iceberg_spark.expr.parse import predicate
from iceberg_spark.inspect.names import MetadataTable
from iceberg_spark.inspect.pinned_inspection import PinnedInspection, pin_inspection
from iceberg_spark.scan.plan import ScanPlan
from iceberg_spark.scan.planner import plan
from iceberg_spark.scan.read_options import ReadOptions
from iceberg_spark.scan.request import ScanRequest, scan_context
from iceberg_spark.scan.scan_report import report_scan
from iceberg_spark.spark.adapt.asked import FORMAT_NAME
from iceberg_spark.spark.adapt.quoted import quoted
from iceberg_spark.spark.reading.metadata_frame import metadata_frame
from iceberg_spark.spark.reading.plan_frame import plan_frame
from iceberg_spark.spark.session.active_session import is_case_sensitive, session_time_zone
from iceberg_spark.spark.session.session_catalogs import is_ours, session_catalog
from iceberg_spark.spark.session.session_dialect import session_dialect
from iceberg_spark.spark.sql.constants import worked_out
from iceberg_spark.spark.sql.current_namespace import whole_name
from iceberg_spark.spark.sql.pushdown import conditions, needed_columns
from iceberg_spark.spark.sql.qualifiers import Range, prefixes, without
from iceberg_spark.spark.sql.references import (
    TableReference,
    is_rewritten,
    parse_query,
    selecting,
    table_references,
)
from iceberg_spark.spark.sql.view_columns import as_view
from iceberg_spark.spark.sql.view_names import ViewNames, spark_text
from iceberg_spark.spark.sql.wap_branch import wap_branch
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.view import ViewMetadata

_BRANCH, _TAG = "branch_", "tag_"
_SNAPSHOT_ID, _AT_TIMESTAMP = "snapshot_id_", "at_timestamp_"
_SELECTORS = (_BRANCH, _TAG, _SNAPSHOT_ID, _AT_TIMESTAMP)


@dataclass(frozen=True, slots=True)
class MetadataRows:
    """A metadata table, pinned, and its columns."""

    inspected: PinnedInspection
    columns: Schema


@dataclass(frozen=True, slots=True)
class QueriedTable:
    """A table of ours in a query, and what its rows are pruned by.

    `scan` is its plan; of a metadata table what it shows.
    """

    reference: TableReference
    loaded: LoadedTable
    scan: ScanPlan | MetadataRows
    conditions: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()

    def frame(self, spark: SparkSession) -> DataFrame:
        """Return the table's rows."""
        match self.scan:
            case MetadataRows(inspected, columns):
                return metadata_frame(inspected, columns, spark)
            case plan:
                report_scan(self.loaded, plan)
                return plan_frame(plan, spark)


@dataclass(frozen=True, slots=True)
class QueriedView:
    """A view in a query: the query that it is, and its own columns."""

    reference: TableReference
    query: Query
    columns: Schema
    name: str

    def frame(self, spark: SparkSession) -> DataFrame:
        """Return the view's rows."""
        return as_view(self.query.frame(spark), self.columns, self.name)


@dataclass(frozen=True, slots=True)
class SparksTable:
    """A table of Spark's in a view's text, which is read under its whole name."""

    reference: TableReference

    @property
    def text(self) -> str:
        """The name as SQL takes it."""
        return ".".join(quoted(part) for part in self.reference.parts)


Args: TypeAlias = Mapping[str, Any] | Sequence[Any] | None
"""The values of a statement's parameters, by name or by place."""
Part: TypeAlias = QueriedTable | QueriedView | SparksTable


@dataclass(frozen=True, slots=True)
class Query:
    """A query whose tables are planned; `frame` has Spark run it.

    `cuts` are where columns have their table's catalog and namespace before its name.
    """

    text: str
    parts: tuple[Part, ...]
    cuts: tuple[Range, ...] = ()

    def between(self, start: int, end: int) -> str:
        """Return a part of the text, in which tables have their own names only."""
        return without(self.text, start, end, self.cuts)

    @property
    def tables(self) -> tuple[QueriedTable, ...]:
        """The tables of ours that it reads, those of views in their places."""
        found: list[QueriedTable] = []
        for part in self.parts:
            match part:
                case QueriedTable():
                    found.append(part)
                case QueriedView():
                    found += part.query.tables
                case SparksTable():
                    continue
        return tuple(found)

    def frame(
        self,
        spark: SparkSession,
        args: Args = None,
        before: str = "",
        given: Mapping[str, DataFrame] | None = None,
    ) -> DataFrame:
        """Return the query's frame. `args` are the values of its parameters (`:name` or `?`).

        `before` stands before it, like EXPLAIN; `given` are frames that it names.
        """
        frames = dict(given or {})
        for number, part in enumerate(self.parts):
            if not isinstance(part, SparksTable):
                frames[f"table_{number}"] = part.frame(spark)
        plain = _escaped if frames else str
        pieces, at = [before], 0
        for number, part in enumerate(self.parts):
            one = part.reference
            pieces.append(plain(self.between(at, one.start)))
            if isinstance(part, SparksTable):
                pieces.append(plain(part.text))
                at = one.name_end
            else:
                name = "" if one.alias is not None else f" AS {quoted(one.parts[-1])}"
                pieces.append(f"{{table_{number}}}{plain(name)}")
                at = one.end
        pieces.append(plain(self.between(at, len(self.text))))
        text = "".join(pieces)
        for name in given or ():  # names that nothing else has
            text = text.replace(name, f"{{{name}}}")
        values = dict(args) if isinstance(args, Mapping) else list(args or ())
        return spark.sql(text, args=values or None, **frames)


def plan_query(spark: SparkSession, text: str, names: ViewNames | None = None) -> Query:
    """Plan the scans of the tables of ours that a query names.

    Tables are identifiers of configured catalogs ("cat.db.t"), and locations in backticks; with
    VERSION or TIMESTAMP AS OF, `.branch_x`, `.tag_x`, or a metadata table (`.snapshots`). A name
    that no table has may be a view's. `names` are those of a view whose text this is.
    Raises InvalidInputError for what is no query, NoSuchTableError, NoSuchSnapshotError.
    """
    dialect = session_dialect(spark)
    text = selecting(text, dialect)
    tree = parse_query(text, dialect)
    if names is not None:
        names.check_text(tree, text, dialect)
    parts: list[Part] = []
    for written in table_references(tree, text, dialect):
        reference = written if names is None else names.qualified(written, spark)
        place = _place(reference, spark, names)
        if place is not None:
            planner = _Planner(spark, text, tree, dialect, reference)
            parts.append(_part(planner, place, () if names is None else names.path))
        elif names is not None:
            parts.append(SparksTable(reference))
    ours = [one.reference for one in parts if not isinstance(one, SparksTable)]
    whole = [whole_name(spark, one.parts) for one in ours if one.alias is None]
    return Query(text, tuple(parts), prefixes(text, whole, dialect))


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a table of ours is to be found; `selector` is what stands behind a "#"."""

    catalog: Catalog
    identifier: str
    selector: str | None = None


def _place(
    reference: TableReference, spark: SparkSession, names: ViewNames | None
) -> _Place | None:
    """Return where a table of ours is, None for one of Spark's.

    Raises InvalidInputError for a part with a dot: joined by dots it would be another name.
    """
    first, *rest = reference.parts
    if names is not None and first == names.catalog.name and len(rest) > 1:
        return _Place(names.catalog, ".".join(map(check_part, rest)))
    text = _ours(reference, spark)
    if text is None:
        return None
    table, selector = split_name(text)
    settings = partial(session_catalog, spark)
    return _Place(*resolve(table, with_settings(table, {}, settings)), selector)


def _ours(reference: TableReference, spark: SparkSession) -> str | None:
    """Return the location or identifier of a table of ours, None for one of Spark's."""
    first, *rest = reference.parts
    if not rest and "/" in first:
        return first
    if first.lower() == FORMAT_NAME and len(rest) == 1:
        return rest[0]
    parts = whole_name(spark, reference.parts)
    if len(parts) > 2 and is_ours(spark, parts[0]):
        return ".".join(map(check_part, parts))
    return None


def _part(planner: _Planner, place: _Place, path: tuple[str, ...]) -> QueriedTable | QueriedView:
    """Return a table, or the view of that name where there is no such table."""
    try:
        loaded, selector = _table_and_selector(place)
    except (NoSuchTableError, NoSuchNamespaceError):
        view = _view(place)
        if view is None:
            raise
        return _queried_view(planner, place, view, path)
    if place.selector is None and selector is not None and not _is_known(selector):
        view = _view(place)  # of a namespace that has a table's name
        if view is not None:
            return _queried_view(planner, place, view, path)
    return planner.table(loaded, selector)


def _view(place: _Place) -> ViewMetadata | None:
    views = place.catalog.views
    if views is None or place.selector is not None:
        return None
    try:
        return views.load(place.identifier)
    except (NotFoundError, UnsupportedError):  # a server without views among them
        return None


def _queried_view(
    planner: _Planner, place: _Place, view: ViewMetadata, path: tuple[str, ...]
) -> QueriedView:
    reference, name = planner.reference, f"{place.catalog.name}.{place.identifier}"
    if reference.end != reference.name_end:
        raise InvalidInputError(f"{name} is a view: it has no versions to be read AS OF")
    version = view.current_version
    names = ViewNames(
        place.catalog,
        version.default_catalog or place.catalog.name,
        version.default_namespace,
        (*path, name),
    )
    names.check_path()
    query = plan_query(planner.spark, spark_text(view, name), names)
    return QueriedView(reference, query, view.schema, name)


@dataclass(frozen=True, slots=True)
class _Planner:
    """Plans one table of a query."""

    spark: SparkSession
    text: str
    tree: Any  # sqlglot's
    dialect: Dialect
    reference: TableReference

    def table(self, loaded: LoadedTable, selector: str | None) -> QueriedTable:
        """Return the table's frame, pruned where the query allows."""
        selected, as_of = _selected(selector), self._as_of()
        if selector and not selected:
            return self._metadata_table(loaded, selector, as_of)
        return self._planned(loaded, {**selected, **as_of} or self._wap(loaded))

    def _wap(self, loaded: LoadedTable) -> dict[str, Any]:
        """Return the session's branch, where the table asks for it and has it already."""
        branch = wap_branch(self.spark, loaded.metadata.properties)
        return {} if branch not in loaded.metadata.refs else {"branch": branch}

    def _metadata_table(
        self, loaded: LoadedTable, name: str, as_of: Mapping[str, Any]
    ) -> QueriedTable:
        place = f"{loaded.metadata_location}#{name}"
        options = ReadOptions(path=place, storage=loaded.io.properties, **as_of)
        rows = MetadataRows(*pin_inspection(options, loaded, name))
        return QueriedTable(self.reference, loaded, rows)

    def _planned(self, loaded: LoadedTable, choice: Mapping[str, Any]) -> QueriedTable:
        request = ScanRequest(
            **choice,
            case_sensitive=is_case_sensitive(self.spark),
            time_zone=session_time_zone(self.spark),
        )
        whole = scan_context(loaded.metadata, request)
        names = [one.name for one in whole.read_schema.fields]
        taken, texts, left_out = self._conditions(whole.table_schema, names, request)
        pruned = replace(
            request,
            row_filter=And(tuple(taken)) if taken else None,
            selected_fields=self._columns(names),
        )
        planned = plan(loaded.metadata, loaded.io, scan_context(loaded.metadata, pruned, loaded.io))
        return QueriedTable(self.reference, loaded, planned, texts, left_out)

    def _columns(self, names: list[str]) -> tuple[str, ...] | None:
        regex = self._setting("spark.sql.parser.quotedRegexColumnNames", "false")
        if regex or is_rewritten(self.text, self.dialect):
            return None
        found = needed_columns(self.tree, self.reference, names)
        if found is None:
            return None
        return found or tuple(names[:1])

    def _conditions(
        self, schema: Any, names: list[str], request: ScanRequest
    ) -> tuple[list[Unbound], tuple[str, ...], tuple[str, ...]]:
        asked = conditions(self.tree, self.reference, names, case_sensitive=request.case_sensitive)
        taken, texts, left_out = [], [], list(asked.left_out)
        if self.dialect.changed or is_rewritten(self.text, self.dialect):
            return [], (), (*left_out, *(one.text for one in asked.taken))
        nodes = [one.node for one in asked.taken]
        if "\\" not in self.text:  # parts go to Spark as they were read here
            nodes = worked_out(nodes, self.spark)
        for condition, node in zip(asked.taken, nodes, strict=True):
            try:
                unbound = predicate(node, self.text, self.dialect)
                bind(
                    schema,
                    unbound,
                    case_sensitive=request.case_sensitive,
                    time_zone=request.time_zone,
                )
            except IcebergError:
                left_out.append(condition.text)
                continue
            taken.append(unbound)
            texts.append(condition.text)
        return taken, tuple(texts), tuple(left_out)

    def _as_of(self) -> dict[str, Any]:
        if self.reference.version is not None:
            return {"version_as_of": self.reference.version}
        if self.reference.timestamp is None:
            return {}
        moment = self.reference.timestamp
        asked = f"SELECT unix_millis(cast({moment} AS timestamp))"
        return {"as_of_timestamp_ms": int(self.spark.sql(asked).collect()[0][0])}

    def _setting(self, key: str, default: str) -> bool:
        return str(self.spark.conf.get(key, default)).lower() == "true"


def _table_and_selector(place: _Place) -> tuple[LoadedTable, str | None]:
    """Return a table and what stands behind its name: a branch, a tag, a metadata table.

    The whole name comes first. It is loaded and not looked for: some servers say that there is a
    table of a metadata table's name.
    """
    catalog, identifier, name = place.catalog, place.identifier, place.selector
    above, _, last = identifier.rpartition(".")
    if name is not None or "/" in identifier or "." not in above:
        return catalog.load(identifier), name
    try:
        return catalog.load(identifier), None
    except (NoSuchTableError, NoSuchNamespaceError) as error:
        try:
            return catalog.load(above), last
        except (NoSuchTableError, NoSuchNamespaceError):
            raise error from None


def _selected(selector: str | None) -> dict[str, Any]:
    """Return what a selector says about the snapshot; nothing for a metadata table's name."""
    match selector:
        case str() if selector.startswith(_BRANCH):
            return {"branch": selector.removeprefix(_BRANCH)}
        case str() if selector.startswith(_TAG):
            return {"tag": selector.removeprefix(_TAG)}
        case str() if selector.startswith(_SNAPSHOT_ID):
            return {"snapshot_id": _number(selector, _SNAPSHOT_ID)}
        case str() if selector.startswith(_AT_TIMESTAMP):
            return {"as_of_timestamp_ms": _number(selector, _AT_TIMESTAMP)}
        case _:
            return {}


def _is_known(selector: str) -> bool:
    return selector.startswith(_SELECTORS) or selector.lower() in set(MetadataTable)


def _number(selector: str, prefix: str) -> int:
    text = selector.removeprefix(prefix)
    if not text.isdigit():
        raise InvalidInputError(f"'{selector}': digits are needed behind {prefix}")
    return int(text)


def _escaped(text: str) -> str:
    """Return text that stays as it is when frames are put into it."""
    return text.replace("{", "{{").replace("}", "}}")
