"""A query over tables of ours: each becomes a frame, pruned by what the text asks of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

from pyspark.sql import DataFrame, SparkSession

from iceberg_spark.catalog.catalog import LoadedTable
from iceberg_spark.catalog.pinned import split_name
from iceberg_spark.catalog.registry import resolve, with_settings
from iceberg_spark.errors import (
    IcebergError,
    InvalidInputError,
    NoSuchNamespaceError,
    NoSuchTableError,
)
from iceberg_spark.expr.bind import bind
from iceberg_spark.expr.dialect import Dialect
from iceberg_spark.expr.nodes import And, Unbound
from iceberg_spark.expr.parse import predicate
from iceberg_spark.inspect.pinned_inspection import PinnedInspection, pin_inspection
from iceberg_spark.scan.plan import ScanPlan
from iceberg_spark.scan.planner import plan
from iceberg_spark.scan.read_options import ReadOptions
from iceberg_spark.scan.request import ScanRequest, scan_context
from iceberg_spark.spark.adapt.asked import FORMAT_NAME
from iceberg_spark.spark.adapt.quoted import quoted
from iceberg_spark.spark.reading.metadata_frame import metadata_frame
from iceberg_spark.spark.reading.plan_frame import plan_frame
from iceberg_spark.spark.session.active_session import session_time_zone
from iceberg_spark.spark.session.session_catalogs import is_ours, session_catalog
from iceberg_spark.spark.session.session_dialect import session_dialect
from iceberg_spark.spark.sql.constants import worked_out
from iceberg_spark.spark.sql.pushdown import conditions, needed_columns
from iceberg_spark.spark.sql.references import (
    TableReference,
    is_rewritten,
    parse_query,
    table_references,
)
from iceberg_spark.spec.schema import Schema

Settings: TypeAlias = Callable[[str], Mapping[str, str]]
"""Properties that a session gives a catalog, by the catalog's name."""

_BRANCH, _TAG = "branch_", "tag_"
_SNAPSHOT_ID, _AT_TIMESTAMP = "snapshot_id_", "at_timestamp_"


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
    scan: ScanPlan | MetadataRows
    conditions: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()

    def frame(self, spark: SparkSession) -> DataFrame:
        """Return the table's rows."""
        match self.scan:
            case MetadataRows(inspected, columns):
                return metadata_frame(inspected, columns, spark)
            case plan:
                return plan_frame(plan, spark)


@dataclass(frozen=True, slots=True)
class Query:
    """A query whose tables are planned; `frame` has Spark run it."""

    text: str
    tables: tuple[QueriedTable, ...]

    def frame(self, spark: SparkSession, args: Mapping[str, Any] | None = None) -> DataFrame:
        """Return the query's frame. `args` are the values of its parameters (`:name`)."""
        pieces, at = [], 0
        for number, table in enumerate(self.tables):
            one = table.reference
            name = "" if one.alias is not None else f" AS {quoted(one.parts[-1])}"
            pieces += [_escaped(self.text[at : one.start]), f"{{table_{number}}}{name}"]
            at = one.end
        pieces.append(_escaped(self.text[at:]))
        frames = {f"table_{number}": table.frame(spark) for number, table in enumerate(self.tables)}
        if not frames:
            return spark.sql(self.text, args=dict(args) if args else None)
        return spark.sql("".join(pieces), args=dict(args) if args else None, **frames)


def plan_query(spark: SparkSession, text: str) -> Query:
    """Plan the scans of the tables of ours that a query names.

    Tables are identifiers of configured catalogs ("cat.db.t"), and locations in backticks; with
    VERSION or TIMESTAMP AS OF, `.branch_x`, `.tag_x`, or a metadata table (`.snapshots`).
    Raises InvalidInputError for what is no query, NoSuchTableError, NoSuchSnapshotError.
    """
    dialect = session_dialect(spark)
    tree = parse_query(text, dialect)
    tables = []
    for reference in table_references(tree, text, dialect):
        place = _place(reference, spark)
        if place is not None:
            tables.append(_Planner(spark, text, tree, dialect, reference).table(place))
    return Query(text, tuple(tables))


def _place(reference: TableReference, spark: SparkSession) -> str | None:
    """Return the location or identifier of a table of ours, None for one of Spark's."""
    first, *rest = reference.parts
    if not rest:
        return first if "/" in first else None
    if first.lower() == FORMAT_NAME and len(rest) == 1:
        return rest[0]
    return reference.name if len(rest) > 1 and is_ours(spark, first) else None


@dataclass(frozen=True, slots=True)
class _Planner:
    """Plans one table of a query."""

    spark: SparkSession
    text: str
    tree: Any  # sqlglot's
    dialect: Dialect
    reference: TableReference

    def table(self, place: str) -> QueriedTable:
        """Return the table's frame, pruned where the query allows."""
        settings = partial(session_catalog, self.spark)
        loaded, selector = _table_and_selector(place, settings)
        choice = {**_selected(selector), **self._as_of()}
        if selector and not choice:
            return self._metadata_table(loaded, selector)
        return self._planned(loaded, choice)

    def _metadata_table(self, loaded: LoadedTable, name: str) -> QueriedTable:
        place = f"{loaded.metadata_location}#{name}"
        options = ReadOptions(path=place, storage=loaded.io.properties)
        return QueriedTable(self.reference, MetadataRows(*pin_inspection(options, loaded, name)))

    def _planned(self, loaded: LoadedTable, choice: Mapping[str, Any]) -> QueriedTable:
        request = ScanRequest(
            **choice,
            case_sensitive=self._setting("spark.sql.caseSensitive", "false"),
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
        return QueriedTable(self.reference, planned, texts, left_out)

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


def _table_and_selector(place: str, settings: Settings) -> tuple[LoadedTable, str | None]:
    """Return a table and what stands behind its name: a branch, a tag, a metadata table.

    The whole name comes first. It is loaded and not looked for: some servers say that there is a
    table of a metadata table's name.
    """
    table, name = split_name(place)
    catalog, identifier = resolve(table, with_settings(table, {}, settings))
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


def _number(selector: str, prefix: str) -> int:
    text = selector.removeprefix(prefix)
    if not text.isdigit():
        raise InvalidInputError(f"'{selector}': digits are needed behind {prefix}")
    return int(text)


def _escaped(text: str) -> str:
    """Return text that stays as it is when frames are put into it."""
    return text.replace("{", "{{").replace("}", "}}")
