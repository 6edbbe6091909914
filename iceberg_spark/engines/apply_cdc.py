"""Apply changes by key and sequence: in this process, or on Spark if there are many."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from iceberg_spark.arrow.from_arrow import from_arrow
from iceberg_spark.arrow.input_rows import input_batches
from iceberg_spark.engines import on_spark
from iceberg_spark.engines.spark_presence import is_frame, session_dialect, session_time_zone
from iceberg_spark.engines.write_rows import RowSource
from iceberg_spark.errors import InvalidInputError, UnsupportedError
from iceberg_spark.expr.bind import bind
from iceberg_spark.expr.build import Predicate, as_unbound
from iceberg_spark.expr.logic import field_ids
from iceberg_spark.expr.nodes import ALWAYS_TRUE, Comparison, IsNull, Op, Or, Reference, Unbound
from iceberg_spark.expr.row_filter import row_filter
from iceberg_spark.row_level.apply_changes import CdcChange, apply_here
from iceberg_spark.row_level.cdc_events import (
    DELETE,
    OPERATION,
    SEQUENCE,
    TRUNCATE,
    UPSERT,
    Events,
    has_left_out,
    read_events,
)
from iceberg_spark.row_level.cdc_ledger import Ledger, open_ledger
from iceberg_spark.row_level.cdc_notes import KIND, LIVE
from iceberg_spark.row_level.cdc_notes import SEQUENCE as NOTED
from iceberg_spark.row_level.cdc_plan import (
    CdcPlan,
    Choice,
    Columns,
    check_same_order,
    check_sequence_type,
    chosen_columns,
    evolve_schema,
    find_top_level,
    key_fields,
    merge_columns,
)
from iceberg_spark.row_level.key_ranges import literal
from iceberg_spark.row_level.position_deletes import deletes_context
from iceberg_spark.row_level.row_level_change import RowVerb
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.properties import CDC_TOMBSTONE_RETENTION, duration_property
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.types import IcebergType, NestedField
from iceberg_spark.write.cdc_messages import UNAVAILABLE
from iceberg_spark.write.context import WriteContext
from iceberg_spark.write.uncommitted_files import remove_aborted


@dataclass(frozen=True, slots=True)
class CdcRequest:
    """One call of `apply_changes`, with its rows already measured."""

    source: CdcInput
    keys: tuple[str, ...]
    choice: Choice
    history: bool
    truncates: bool
    branch: str | None
    case_sensitive: bool
    snapshot_properties: Mapping[str, str] | None = None
    merge_schema: bool = False


@dataclass(frozen=True, slots=True)
class PlannedCdc:
    """A request planned on a table version: the matching rows, or a DataFrame of them."""

    plan: CdcPlan
    events: Events | None
    columns: tuple[str, ...]
    truncated_at: Any | None = None


def plan_cdc(metadata: TableMetadata, request: CdcRequest) -> PlannedCdc | None:
    """Plan changes on a staged table; None if there are none.

    Raises InvalidInputError or InvalidSchemaError if the changes do not fit the table, or the rows
    of an Arrow table are not valid.
    """
    source = request.source
    if request.history and request.truncates:
        raise InvalidInputError("apply_as_truncates goes with stored_as_scd_type=1 only")
    if isinstance(source.rows, pa.Table) and not source.rows.num_rows:
        return None
    columns = _columns(metadata, request)
    plan = _plan(metadata, request, columns)
    if not isinstance(source.rows, pa.Table):
        truncated_at = on_spark.truncated_at(source.rows, plan) if request.truncates else None
        return PlannedCdc(plan, None, columns.names, truncated_at)
    own_names = [field.name for field in plan.schema.fields]
    left_out = [UNAVAILABLE] if has_left_out(source.rows.column_names, own_names) else []
    rows = source.rows.select([*columns.names, *left_out, SEQUENCE, OPERATION])
    batches = rows.combine_chunks().to_batches()
    events = read_events(plan, batches, case_sensitive=request.case_sensitive)
    return PlannedCdc(plan, events, columns.names, events.truncated_at)


def _plan(metadata: TableMetadata, request: CdcRequest, columns: Columns) -> CdcPlan:
    source, case = request.source, request.case_sensitive
    schema = metadata.schema
    if request.merge_schema:
        names = [name for name in columns.names if name != source.sequence]
        schema = merge_columns(metadata, source.schema, names, case_sensitive=case)
    keys = key_fields(schema, request.keys, columns.names, case_sensitive=case)
    sequence = None
    if columns.named_sequence and source.sequence is not None:
        theirs = source.schema.find_field(source.sequence)
        mine = find_top_level(schema, source.sequence, case_sensitive=case)
        if mine is not None:
            check_same_order(mine, theirs.field_type)
        sequence = mine or NestedField(1, source.sequence, theirs.field_type)
    kind = check_sequence_type(_sequence_type(source) if sequence is None else sequence.field_type)
    schema = evolve_schema(
        schema,
        max(metadata.last_column_id, schema.highest_field_id),
        sequence,
        kind,
        history=request.history,
        format_version=metadata.format_version,
    )
    plan = CdcPlan(
        schema,
        keys,
        None if sequence is None else next(f for f in schema.fields if f.name == sequence.name),
        kind,
        request.history,
        duration_property(metadata.properties, CDC_TOMBSTONE_RETENTION),
    )
    if plan.history:
        plan = replace(
            plan, sequence_type=check_sequence_type(plan.column("__START_AT").field_type)
        )
    return plan


def _columns(metadata: TableMetadata, request: CdcRequest) -> Columns:
    source = request.source
    return chosen_columns(
        source.names,
        metadata.schema,
        source.sequence,
        request.choice,
        source.controls,
        case_sensitive=request.case_sensitive,
        merge_schema=request.merge_schema,
    )


def _sequence_type(source: CdcInput) -> IcebergType:
    if isinstance(source.rows, pa.Table):
        rows = source.rows.schema
        return from_arrow(pa.schema([rows.field(SEQUENCE)])).fields[0].field_type
    schema = on_spark.from_spark(source.rows.select(SEQUENCE).schema)
    return schema.fields[0].field_type


def rows_before(planned: PlannedCdc, ledger: Ledger) -> Unbound | None:
    """Return the filter of the rows that a truncation deletes, None if it deletes none.

    Raises UnsupportedError for a late truncation if no column has the rows' sequences.
    """
    truncated_at, column = planned.truncated_at, planned.plan.sequence
    if truncated_at is None:
        return None
    done = ledger.truncated_at()
    if done is not None and done.as_py() >= truncated_at.as_py():
        return None
    if column is not None:
        name = Reference(column.name)
        return Or((IsNull(name), Comparison(Op.LT, name, literal(truncated_at))))
    later = Comparison(Op.GE, Reference(NOTED), literal(truncated_at))
    for batch in ledger.batches(later):
        if any(kind == LIVE for kind in batch.column(KIND).to_pylist()):
            raise UnsupportedError(
                "A truncation arrived after newer changes, and no column of the table has the "
                "sequence of its rows: add the column of sequence_by to the table"
            )
    return ALWAYS_TRUE


def ledger_of(committed: TableMetadata, verb: RowVerb, plan: CdcPlan) -> Ledger:
    """Return a table's ledger for a verb, and its committed snapshot."""
    now_ms = max(int(time.time() * 1000), verb.metadata.last_updated_ms)
    ledger = open_ledger(verb.metadata, verb.io, plan, verb.branch, now_ms)
    ref = committed.refs.get(ledger.branch)
    return replace(ledger, head=None if ref is None else ref.snapshot_id)


def apply_planned(
    verb: RowVerb, context: WriteContext, planned: PlannedCdc, request: CdcRequest, ledger: Ledger
) -> CdcChange:
    """Return the change of a request; on failure, removes what it wrote."""
    try:
        if planned.events is not None:
            return apply_here(verb, context, planned.plan, planned.events, ledger)
        rows = on_spark.CdcRows(request.source.rows, planned.columns, request.case_sensitive)
        truncated_at = planned.truncated_at
        return on_spark.apply_on_spark(verb, context, planned.plan, rows, ledger, truncated_at)
    except BaseException:
        for write in (context, deletes_context(context), ledger.write_context(context)):
            remove_aborted(verb.io, write, outlive=False)  # jobs have cleared up
        raise


Condition: TypeAlias = Any
"""SQL text, a predicate, or a PySpark Column (which ships no types)."""

_QUOTED = re.compile(r"'(?:[^'\\]|\\.)*'", re.DOTALL)
_WORDS = re.compile(r"\w+")
_COLUMN = re.compile(r"Column<'(.*)'>", re.DOTALL)


@dataclass(frozen=True, slots=True)
class CdcInput:
    """Rows with `SEQUENCE` and `OPERATION`: an Arrow table, or a DataFrame if there are many.

    `schema` has the rows' own columns. `sequence` is the column that orders them (None: an
    expression). `controls` are the columns that conditions may use.
    """

    rows: pa.Table | on_spark.DataFrame
    schema: Schema
    sequence: str | None
    controls: frozenset[str]

    @contextmanager
    def held(self) -> Iterator[CdcInput]:
        """Persist a DataFrame's rows while the block runs, so that all passes see the same rows."""
        if isinstance(self.rows, pa.Table):
            yield self
        else:
            with on_spark.kept_rows(self.rows) as cached:
                yield replace(self, rows=cached)

    @property
    def names(self) -> tuple[str, ...]:
        """The rows' own columns."""
        return tuple(field.name for field in self.schema.fields if field.name not in _OURS)


_OURS = (SEQUENCE, OPERATION)


def column_names(columns: Sequence[Any] | None, what: str) -> tuple[str, ...] | None:
    """Return names of columns, which may be PySpark columns."""
    if columns is None:
        return None
    if isinstance(columns, str):
        raise InvalidInputError(f"{what} must be a list of columns, as in {what}=['{columns}']")
    return tuple(_plain_name(column) or str(column) for column in columns)


def _plain_name(column: object) -> str | None:
    """Return the name of a column, None for an expression."""
    if isinstance(column, str):
        return column
    match = _COLUMN.fullmatch(repr(column))
    return None if match is None else match.group(1)


def cdc_input(
    rows: RowSource,
    sequence_by: Condition,
    deletes: Condition | None,
    truncates: Condition | None,
) -> CdcInput:
    """Evaluate the rows once: their sequence, and which are deletes and truncations.

    A DataFrame that fits the driver is collected as Arrow. Raises InvalidInputError,
    InvalidExpressionError.
    """
    if is_frame(rows):
        return _of_frame(rows, sequence_by, deletes, truncates)
    schema, batches = input_batches(rows)
    table = pa.Table.from_batches(batches, schema)
    check_own_names(table.column_names)
    name = _plain_name(sequence_by)
    if name is None or name not in table.column_names:
        raise InvalidInputError(
            f"sequence_by must name a column of the rows, not {sequence_by!r}; they have: "
            f"{', '.join(table.column_names)}. Expressions need a Spark frame"
        )
    does = np.full(table.num_rows, UPSERT, np.int8)
    controls: set[str] = set()
    for what, number in ((deletes, DELETE), (truncates, TRUNCATE)):
        if what is not None:
            mask, named = _matches(table, what)
            does[mask] = number
            controls |= named
    own = from_arrow(table.schema)
    table = table.append_column(SEQUENCE, table.column(name))
    table = table.append_column(OPERATION, pa.array(does))
    return CdcInput(table, own, name, frozenset(controls))


def _of_frame(
    frame: on_spark.DataFrame,
    sequence_by: Condition,
    deletes: Condition | None,
    truncates: Condition | None,
) -> CdcInput:
    check_own_names(frame.columns)
    name = _plain_name(sequence_by)
    named = name if name in frame.columns else None
    changes = on_spark.cdc_rows(frame, sequence_by if named is None else named, deletes, truncates)
    conditions = [condition for condition in (deletes, truncates) if condition is not None]
    controls = frozenset(
        name for condition in conditions for name in _named(frame.columns, condition)
    )
    return CdcInput(changes, on_spark.from_spark(frame.schema), named, controls)


def _named(names: Sequence[str], condition: Condition) -> list[str]:
    """Return the columns whose names occur in SQL text, or in a PySpark column, outside of quotes.

    PySpark shows string literals without quotes, so words in them count too.
    """
    is_text = isinstance(condition, str)
    shown = _QUOTED.sub(" ", condition) if is_text else _plain_name(condition) or str(condition)
    plain = shown.lower()
    words = set(_WORDS.findall(plain))
    return [
        name
        for name in names
        if name.lower() in words or (_WORDS.fullmatch(name) is None and name.lower() in plain)
    ]


def check_own_names(names: Sequence[str]) -> None:
    """Raise InvalidInputError for columns with names that this library uses."""
    for name in names:
        if name.lower() in _OURS:
            raise InvalidInputError(f"Column '{name}' has a name that changes need; rename it")


def _matches(table: pa.Table, condition: Condition) -> tuple[Any, set[str]]:
    """Return the mask of the rows for which a condition is true, and the columns in it."""
    if not isinstance(condition, str | Predicate | Unbound):
        raise InvalidInputError(
            f"{condition!r} is not a condition on Arrow rows: use SQL text or a Spark DataFrame"
        )
    schema = from_arrow(table.schema)
    bound = bind(
        schema,
        as_unbound(condition, session_dialect()),
        time_zone=session_time_zone(),
    )
    paths = {
        number: tuple(schema.find_field(step_id).name for step_id in schema.path_ids(number))
        for number in schema.field_ids
    }
    used = {paths[number][0] for number in field_ids(bound)}
    if isinstance(condition, str):  # what it says of a column may be true of all its rows
        used.update(_named(table.column_names, condition))
    mask = row_filter(bound, paths)(table.combine_chunks()).to_numpy(zero_copy_only=False)
    return mask, used
