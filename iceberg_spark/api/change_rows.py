"""The row-level verbs: where their work is done, and what they conflict with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from iceberg_spark.api.delete_rows import delete_rows, dropped
from iceberg_spark.errors import InvalidInputError
from iceberg_spark.expr.build import Predicate, as_unbound
from iceberg_spark.expr.nodes import Unbound
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.transaction.overwrite_files import OverwriteFiles
from iceberg_spark.transaction.row_change import Read, RowChange, RowLevelMode, row_change_action
from iceberg_spark.transaction.row_delta import RowDelta
from iceberg_spark.transaction.target_files import TargetOptions, target_files
from iceberg_spark.write.context import WriteContext


@dataclass(frozen=True, slots=True)
class RowVerb:
    """One call of a row-level verb: the table it sees and the keywords that all verbs take.

    `snapshot_id` is the committed head of the branch; `metadata` may be ahead of it by what the
    same transaction did before.
    """

    metadata: TableMetadata
    io: FileIO
    mode: RowLevelMode
    snapshot_id: int | None
    branch: str | None
    snapshot_properties: Mapping[str, str] | None
    case_sensitive: bool
    time_zone: str | None

    @property
    def target_options(self) -> TargetOptions:
        """How the rows to change are looked for."""
        return TargetOptions(self.branch, self.case_sensitive, self.time_zone)


@dataclass(frozen=True, slots=True)
class PlannedChange:
    """A change and the filter of the rows that it read (None: any)."""

    change: RowChange
    row_filter: Unbound | None

    def action(self, verb: RowVerb) -> OverwriteFiles | RowDelta:
        """Return the action that lands the change."""
        read = Read(
            verb.snapshot_id, self.row_filter, verb.branch, verb.case_sensitive, verb.time_zone
        )
        return row_change_action(self.change, verb.mode, read, verb.snapshot_properties)


def delete_change(
    verb: RowVerb, context: WriteContext, delete_filter: str | Predicate | Unbound
) -> PlannedChange:
    """Return the change that deletes the rows which match."""
    if delete_filter is None:
        raise InvalidInputError("delete_filter must be a predicate; 'true' means all rows")
    predicate = as_unbound(delete_filter)
    target = target_files(verb.metadata, verb.io, predicate, verb.target_options, prove=True)
    if not len(target.plan):
        return PlannedChange(dropped(target, verb.io), predicate)
    return PlannedChange(delete_rows(target, verb.io, context, verb.mode), predicate)
