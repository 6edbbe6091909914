"""One table of a query: its scan, pruned by the conditions of the query."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, Self, TypedDict

from pyspark.sql import SparkSession

from iceberg_spark.catalog.catalog import LoadedTable
from iceberg_spark.errors import (
    IcebergError,
    InvalidExpressionError,
    InvalidInputError,
    InvalidOptionError,
)
from iceberg_spark.expr.bind import bind
from iceberg_spark.expr.nodes import And, Unbound
from iceberg_spark.expr.parse import predicate
from iceberg_spark.expr.parse_variant import variant_predicate
from iceberg_spark.expr.variant_filter import VariantFilter, variant_filter
from iceberg_spark.inspect.names import MetadataTable
from iceberg_spark.inspect.pinned_inspection import PinnedInspection, pin_metadata_table
from iceberg_spark.read.changelog import with_change_columns
from iceberg_spark.read.changes_table import ChangesTable, refuse_as_of, refuse_pins
from iceberg_spark.scan.context import ScanContext
from iceberg_spark.scan.incremental import (
    CHANGE_TIMES,
    bounds_of,
    is_changes,
    refuse_change_times,
)
from iceberg_spark.scan.plan import ScanPlan
from iceberg_spark.scan.planner import plan
from iceberg_spark.scan.read_options import ReadOptions, read_options
from iceberg_spark.scan.request import ScanRequest, narrow_scan, scan_context
from iceberg_spark.scan.scan_report import report_scan
from iceberg_spark.scan.split import SplitOptions
from iceberg_spark.spark.adapt.types import has_spark_type
from iceberg_spark.spark.catalyst.classic_queries import Rows
from iceberg_spark.spark.reading.metadata_frame import change_frame, metadata_frame
from iceberg_spark.spark.reading.plan_frame import plan_rows
from iceberg_spark.spark.reading.planning_tasks import SparkPlanningTasks
from iceberg_spark.spark.session.active_session import is_case_sensitive, session_time_zone
from iceberg_spark.spark.session.option_defaults import session_read_defaults
from iceberg_spark.spark.session.own_methods import run_sql
from iceberg_spark.spark.session.session_cache import setting
from iceberg_spark.spark.sql.constants import fold_constants
from iceberg_spark.spark.sql.hidden_columns import hidden_columns
from iceberg_spark.spark.sql.parsed_query import ParsedQuery
from iceberg_spark.spark.sql.pushdown import Conditions, conditions, needed_columns
from iceberg_spark.spark.sql.references import PARAMETERS, TableReference
from iceberg_spark.spark.sql.wap_branch import branch_to_read
from iceberg_spark.spec.schema import Schema

_BRANCH, _TAG = "branch_", "tag_"
_SNAPSHOT_ID, _AT_TIMESTAMP = "snapshot_id_", "at_timestamp_"
_SELECTORS = (_BRANCH, _TAG, _SNAPSHOT_ID, _AT_TIMESTAMP)


@dataclass(frozen=True, slots=True)
class MetadataRows:
    """A metadata table, pinned, and its columns."""

    inspected: PinnedInspection
    columns: Schema


@dataclass(frozen=True, slots=True)
class ChangedRows:
    """The changes of a table, and all columns that they may have."""

    changes: ChangesTable
    columns: Schema


@dataclass(frozen=True, slots=True)
class QueriedTable:
    """An Iceberg table in a query, and the conditions that prune its rows.

    `scan` is the plan of its rows. `hidden` are the metadata columns that the query names.
    """

    reference: TableReference
    loaded: LoadedTable
    scan: ScanPlan | MetadataRows | ChangedRows
    conditions: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    split: SplitOptions | None = None

    @property
    def columns(self) -> Schema:
        """The columns of the version to read."""
        match self.scan:
            case MetadataRows(columns=columns) | ChangedRows(columns=columns):
                return columns
            case plan:
                return plan.context.table_schema

    def rows(self, spark: SparkSession) -> Rows:
        """Return the table's rows, which may include rows that the query's conditions exclude."""
        match self.scan:
            case MetadataRows(inspected, columns):
                return metadata_frame(inspected, columns, spark)
            case ChangedRows(changes):
                steps = changes.steps(self.loaded.metadata, self.loaded.io)
                return change_frame(changes.request, steps, spark)
            case plan:
                report_scan(self.loaded, plan)
                return plan_rows(plan, spark, split=self.split, filters=False)


class _Names(TypedDict):
    """How names and literals are interpreted."""

    case_sensitive: bool
    time_zone: str | None


@dataclass(frozen=True, slots=True)
class _Understood:
    """The conditions of a query that prune a table, and the texts of those that do and do not.

    `of_variants` are the texts of `variants`, which only prune files.
    """

    taken: tuple[Unbound, ...] = ()
    variants: VariantFilter | None = None
    texts: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    of_variants: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SessionQuery:
    """A query, and the settings of the session that affect its meaning, read once.

    `names_are_patterns`: a quoted column may match several. `commas_bind_less`: in
    `a, b JOIN c ON` the condition may use b and c only, which is parsed here as if it could use
    all three.
    """

    spark: SparkSession
    parsed: ParsedQuery
    names_are_patterns: bool
    commas_bind_less: bool
    case_sensitive: bool
    time_zone: str | None
    read_defaults: Mapping[str, str]

    @classmethod
    def of(cls, spark: SparkSession, parsed: ParsedQuery) -> Self:
        """Return a query with the session's current settings."""
        patterns = setting(spark, "spark.sql.parser.quotedRegexColumnNames", "false")
        precedence = setting(spark, "spark.sql.ansi.relationPrecedence", "false")
        return cls(
            spark,
            parsed,
            str(patterns).lower() == "true",
            str(precedence).lower() == "true",
            is_case_sensitive(spark),
            session_time_zone(spark),
            session_read_defaults(spark),
        )

    @property
    def is_read_otherwise(self) -> bool:
        """Whether Spark may interpret conditions differently from the tree."""
        changed = bool(self.parsed.dialect.changed)
        return changed or self.parsed.is_rewritten or self.commas_bind_less


@dataclass(frozen=True, slots=True)
class TablePlanner:
    """Plans one table of a query.

    `other_columns` returns the columns of the other tables that the same SELECT reads.
    """

    query: SessionQuery
    reference: TableReference
    other_columns: Callable[[], Collection[str]] = frozenset

    def table(self, loaded: LoadedTable, selector: str | None) -> QueriedTable:
        """Plan the table, pruned as far as the query allows.

        Raises InvalidInputError if two clauses choose a snapshot.
        """
        choice, as_of = selected_snapshot(selector), self._as_of()
        defaults = self.query.read_defaults
        options = parse_query_options(self.reference, selector, self.query.time_zone, defaults)
        if options.given and (choice or as_of):
            raise InvalidInputError(
                f"{self.reference.name}: its options select the snapshot that is read: leave out "
                "VERSION or TIMESTAMP AS OF, or the branch or tag in the name"
            )
        if is_changes(selector):
            return self._changes(loaded, as_of, options)
        as_of = {**as_of, **{name: getattr(options, name) for name in options.given}}
        if selector and not choice:
            return self._metadata_table(loaded, selector, as_of)
        table = self._planned(loaded, {**choice, **as_of} or self._wap(loaded))
        return replace(table, split=options.split(loaded.metadata))

    def _wap(self, loaded: LoadedTable) -> dict[str, Any]:
        """Return the session's branch, if the table uses it and has it already."""
        branch = branch_to_read(self.query.spark, loaded.metadata)
        return {} if branch is None else {"branch": branch}

    def _metadata_table(
        self, loaded: LoadedTable, name: str, as_of: Mapping[str, Any]
    ) -> QueriedTable:
        rows = MetadataRows(*pin_metadata_table(loaded, name, **as_of))
        return QueriedTable(self.reference, loaded, rows)

    def _planned(self, loaded: LoadedTable, choice: Mapping[str, Any]) -> QueriedTable:
        context, predicates, hidden = self._pruned(loaded, choice)
        planned = plan(
            loaded.metadata,
            loaded.io,
            context,
            pruned_by=predicates.variants,
            tasks=SparkPlanningTasks(self.query.spark),
        )
        texts = (*predicates.texts, *predicates.of_variants)
        return QueriedTable(self.reference, loaded, planned, texts, predicates.left_out, hidden)

    def _changes(
        self, loaded: LoadedTable, as_of: Mapping[str, Any], options: ReadOptions
    ) -> QueriedTable:
        if as_of:
            refuse_as_of(self.reference.name)
        refuse_pins(options)
        choice = {} if options.branch is None else {"branch": options.branch}
        context, predicates, hidden = self._pruned(loaded, choice)
        bounds = bounds_of(dict(self.reference.options))
        rows = ChangedRows(
            ChangesTable.of(context, loaded.metadata, bounds),
            with_change_columns(context.table_schema),
        )
        left_out = (*predicates.left_out, *predicates.of_variants)
        return QueriedTable(self.reference, loaded, rows, predicates.texts, left_out, hidden)

    def _pruned(
        self, loaded: LoadedTable, choice: Mapping[str, Any]
    ) -> tuple[ScanContext, _Understood, tuple[str, ...]]:
        """Return the scan that the query needs, its predicates, and its metadata columns."""
        request = ScanRequest(
            **choice,
            case_sensitive=self.query.case_sensitive,
            time_zone=self.query.time_zone,
        )
        context = scan_context(loaded.metadata, request)
        names = [field.name for field in context.read_schema.fields]
        predicates = self._conditions(context.table_schema, names, request)
        hidden = self._hidden(names, loaded)
        pruned = replace(
            request,
            row_filter=And(predicates.taken) if predicates.taken else None,
            selected_fields=self._columns(context.read_schema),
            metadata_columns=hidden,
        )
        return narrow_scan(context, loaded.metadata, pruned, loaded.io), predicates, hidden

    def _hidden(self, names: list[str], loaded: LoadedTable) -> tuple[str, ...]:
        if self.query.names_are_patterns or self.query.parsed.is_rewritten:
            return ()
        return hidden_columns(
            self.query.parsed.tree,
            self.reference,
            [*names, *loaded.metadata.schema.column_names],
            has_lineage=loaded.metadata.rules.has_row_lineage,
            case_sensitive=self.query.case_sensitive,
            other_columns=self.other_columns,
        )

    def _columns(self, schema: Schema) -> tuple[str, ...] | None:
        """Return the columns that the query needs; those without a Spark type only if named.

        A word that may not be a name, as in TIMESTAMP '2024-01-01', does not name a column.
        """
        names = [field.name for field in schema.fields]
        if self.query.names_are_patterns or self.query.parsed.is_rewritten:
            return None
        tree = self.query.parsed.tree
        needed = needed_columns(tree, self.reference, names)
        if needed is None:
            return None
        kinds = {field.name: field for field in schema.fields}
        sure = tuple(name for name in needed if tree.names(name) or has_spark_type(kinds[name]))
        return sure or tuple(names[:1])

    def _conditions(self, schema: Schema, names: list[str], request: ScanRequest) -> _Understood:
        query, parsed = self.query, self.query.parsed
        case = query.case_sensitive
        candidates = conditions(parsed.tree, self.reference, names, case_sensitive=case)
        if query.is_read_otherwise:
            texts = (condition.text for condition in candidates.taken)
            return _Understood(left_out=(*candidates.left_out, *texts))
        return self._understood(candidates, schema, request)

    def _understood(
        self, candidates: Conditions, schema: Schema, request: ScanRequest
    ) -> _Understood:
        query, parsed = self.query, self.query.parsed
        taken, variants, left_out = [], [], list(candidates.left_out)
        texts: list[str] = []
        of_variants: list[str] = []
        nodes = [condition.node for condition in candidates.taken]
        options: _Names = {
            "case_sensitive": request.case_sensitive,
            "time_zone": request.time_zone,
        }
        if "\\" not in parsed.text:  # Spark may read backslashes differently
            nodes = fold_constants(nodes, query.spark)
        for condition, node in zip(candidates.taken, nodes, strict=True):
            try:
                of_variant = variant_predicate(node, parsed.text, parsed.dialect)
                if of_variant is None:
                    unbound = predicate(node, parsed.text, parsed.dialect)
                    bind(schema, unbound, **options)
                    taken.append(unbound)
                    texts.append(condition.text)
                elif variant_filter(schema, [of_variant], **options) is not None:
                    variants.append(of_variant)
                    of_variants.append(condition.text)
                else:
                    raise InvalidExpressionError(condition.text)
            except IcebergError:
                left_out.append(condition.text)
        pruned_by = variant_filter(schema, variants, **options) if variants else None
        return _Understood(
            tuple(taken), pruned_by, tuple(texts), tuple(left_out), tuple(of_variants)
        )

    def _as_of(self) -> dict[str, Any]:
        if self.reference.version is not None:
            return {"version_as_of": self.reference.version}
        if self.reference.timestamp is None:
            return {}
        moment = self.reference.timestamp
        if moment[:1] in PARAMETERS:
            raise InvalidInputError(f"AS OF {moment}: give the value of that parameter")
        query = f"SELECT unix_millis(cast({moment} AS timestamp_ltz))"
        ((millis,),) = run_sql(self.query.spark, query).collect()
        if millis is None:
            raise InvalidInputError(f"TIMESTAMP AS OF {moment}: that is NULL, and no moment")
        return {"as_of_timestamp_ms": int(millis)}


def selected_snapshot(selector: str | None) -> dict[str, Any]:
    """Return the snapshot that a selector chooses; nothing for the name of a metadata table."""
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


def is_selector(selector: str) -> bool:
    """Return whether a text after a table's name chooses a snapshot or a metadata table."""
    is_table = is_changes(selector) or selector.lower() in set(MetadataTable)
    return is_table or selector.startswith(_SELECTORS)


def _number(selector: str, prefix: str) -> int:
    text = selector.removeprefix(prefix)
    if not text.isdigit():
        raise InvalidInputError(f"'{selector}': digits are needed behind {prefix}")
    return int(text)


_REPLACED_BY_CLAUSES = {
    "path": "name the table",
    "row-filter": "use a WHERE clause",
    "columns": "name them in SELECT",
    "metadata-columns": "name them in SELECT",
    "case-sensitive": "set spark.sql.caseSensitive",
    "time-zone": "set spark.sql.session.timeZone",
    "pushdown": "conditions of the query choose files already",
}


def parse_query_options(
    reference: TableReference,
    selector: str | None,
    time_zone: str | None,
    defaults: Mapping[str, str],
) -> ReadOptions:
    """Parse the options of `WITH (...)`; timestamps are in the time zone of the session.

    `defaults` are the options that the session's settings define.

    Raises InvalidOptionError for an unknown option, and for one that a query replaces by a clause.
    """
    options = dict(reference.options)
    if len({name.lower() for name in options}) < len(options):
        raise InvalidOptionError("An option is there twice, in two spellings: leave one out")
    for name in options:
        if name.lower() in _REPLACED_BY_CLAUSES:
            raise InvalidOptionError(
                f"Option '{name}' is not for a query: {_REPLACED_BY_CLAUSES[name.lower()]}"
            )
    if not is_changes(selector):
        refuse_change_times(options)
    zone = {} if time_zone is None else {"time-zone": time_zone}
    all_options = {**defaults, **zone, **options, "path": reference.name}
    parsed = read_options(all_options, plain=False, others=CHANGE_TIMES)
    if parsed.storage:
        name = next(iter(parsed.storage))
        raise InvalidOptionError(f"Option '{name}' is not for a query: give it to the catalog")
    return parsed
