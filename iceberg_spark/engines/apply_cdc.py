"""Apply changes by key and sequence: in this process, or on Spark if there are many."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from iceberg_spark.arrow.from_arrow import from_arrow
from iceberg_spark.engines import on_spark
from iceberg_spark.engines.cdc_input import CdcInput
from iceberg_spark.errors import InvalidInputError, UnsupportedError
from iceberg_spark.expr.nodes import ALWAYS_TRUE, Comparison, IsNull, Op, Or, Reference, Unbound
from iceberg_spark.row_level.apply_changes import CdcChange, apply_here
from iceberg_spark.row_level.cdc_events import (
    OPERATION,
    SEQUENCE,
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
    evolved,
    find_top_level,
    key_fields,
    merged,
)
from iceberg_spark.row_level.key_ranges import literal
from iceberg_spark.row_level.position_deletes import deletes_context
from iceberg_spark.row_level.row_level_change import RowVerb
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.properties import CDC_TOMBSTONE_RETENTION, duration_property
from iceberg_spark.spec.types import IcebergType, NestedField
from iceberg_spark.write.cdc_placeholders import UNAVAILABLE
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
        schema = merged(metadata, source.schema, names, case_sensitive=case)
    keys = key_fields(schema, request.keys, columns.names, case_sensitive=case)
    sequence = None
    if columns.named_sequence and source.sequence is not None:
        theirs = source.schema.find_field(source.sequence)
        mine = find_top_level(schema, source.sequence, case_sensitive=case)
        if mine is not None:
            check_same_order(mine, theirs.field_type)
        sequence = mine or NestedField(1, source.sequence, theirs.field_type)
    kind = check_sequence_type(_sequence_type(source) if sequence is None else sequence.field_type)
    schema = evolved(
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
