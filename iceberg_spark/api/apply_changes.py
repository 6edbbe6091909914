"""Changes by key and sequence, as part of what a verb or a transaction lands."""

from __future__ import annotations

from dataclasses import replace

from iceberg_spark.api.staged_changes import StagedChanges
from iceberg_spark.commits.append import AppendFiles
from iceberg_spark.commits.set_schema import SetSchema
from iceberg_spark.engines.apply_cdc import (
    CdcRequest,
    apply_planned,
    ledger_of,
    plan_cdc,
    rows_before,
)
from iceberg_spark.engines.delete_change import delete_change
from iceberg_spark.errors import InvalidInputError
from iceberg_spark.expr.nodes import Unbound
from iceberg_spark.row_level.row_level_change import ChangedRows, RowVerb, row_change_action
from iceberg_spark.spec.summary import STAGED_WAP_ID


def scd_type(value: int | str) -> int:
    """Return 1 or 2. Raises InvalidInputError."""
    if isinstance(value, bool) or str(value) not in ("1", "2"):
        raise InvalidInputError(f"stored_as_scd_type must be 1 or 2, not {value!r}")
    return int(value)


def add_changes(changes: StagedChanges, request: CdcRequest) -> ChangedRows:
    """Add the changes of a request to those of a commit; returns the counts.

    Raises InvalidInputError for a staged commit: the ledger would contain deletes that nobody
    published.
    """
    if STAGED_WAP_ID in (request.snapshot_properties or {}):
        raise InvalidInputError(
            f"Applied changes can't be staged ('{STAGED_WAP_ID}'): apply them to a branch instead"
        )
    planned = plan_cdc(changes.metadata(), request)
    if planned is None:
        return ChangedRows()
    if planned.plan.schema != changes.metadata().schema:
        before = changes.metadata().schema
        changes.add_definition(SetSchema(planned.plan.schema, changes.base.metadata, before=before))
    verb = _verb(changes, request)
    ledger = ledger_of(changes.base.metadata, verb, planned.plan)
    gone = rows_before(planned, ledger)
    truncated = 0
    if gone is not None:
        truncated = _deleted(changes, verb, gone)
        verb = _verb(changes, request)
        ledger = replace(ledger, metadata=changes.metadata())
    applied = apply_planned(verb, changes.context(), planned, request, ledger)
    change = applied.planned.change
    written = (*change.added_data, *change.added_deletes, *applied.notes.added)
    changes.note(file.file_path for file in written)
    verb = applied.verb(verb)
    if not change.is_empty:
        changes.actions.append(row_change_action(verb, applied.planned))
    elif not applied.notes.is_empty:  # the ledger needs a snapshot of the data
        snapshot_properties = verb.snapshot_properties
        changes.actions.append(
            AppendFiles((), branch=verb.branch, snapshot_properties=snapshot_properties)
        )
    if not (change.is_empty and applied.notes.is_empty):
        changes.actions.append(applied.notes.action())
    counts = change.counts
    return replace(counts, deleted=counts.deleted + truncated)


def _verb(changes: StagedChanges, request: CdcRequest) -> RowVerb:
    """Return the verb that changes are planned on: rows that others add meanwhile are conflicts."""
    verb = changes.row_verb(
        "merge", request.branch, request.snapshot_properties, request.case_sensitive
    )
    return replace(verb, mode=replace(verb.mode, serializable=True))


def _deleted(changes: StagedChanges, verb: RowVerb, gone: Unbound) -> int:
    counts = changes.add_row_change(verb, lambda context: delete_change(verb, context, gone))
    return counts.deleted
