"""A row-level change ready to be committed: files in and out, and the action that lands them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from iceberg_spark.commits.conflict_scope import Planned
from iceberg_spark.commits.overtaken_vectors import MergeVectors
from iceberg_spark.commits.overwrite_files import OverwriteFiles
from iceberg_spark.commits.row_delta import RowDelta
from iceberg_spark.errors import UnsupportedError
from iceberg_spark.expr.dialect import SPARK, Dialect
from iceberg_spark.expr.nodes import Unbound
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.read.bounded_cache import process_cache
from iceberg_spark.read.position_deletes import deleted_positions
from iceberg_spark.row_level.merged_vectors import VectorMerger
from iceberg_spark.row_level.target_files import Target, TargetOptions
from iceberg_spark.scan.planned_files import data_file
from iceberg_spark.scan.task import FileScanTask
from iceberg_spark.spec.data_file import DataFile, DataFileContent
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.properties import (
    DELETE_GRANULARITY,
    DELETE_ISOLATION_LEVEL,
    DELETE_MODE,
    MERGE_ISOLATION_LEVEL,
    MERGE_MODE,
    UPDATE_ISOLATION_LEVEL,
    UPDATE_MODE,
    text_property,
)

_KEYS = {
    "delete": (DELETE_MODE, DELETE_ISOLATION_LEVEL),
    "update": (UPDATE_MODE, UPDATE_ISOLATION_LEVEL),
    "merge": (MERGE_MODE, MERGE_ISOLATION_LEVEL),
}


@dataclass(frozen=True, slots=True)
class ChangedRows:
    """How many rows a verb inserted, updated and deleted.

    `metrics` is the summary of the snapshot that was committed (`added-position-deletes`, ...),
    empty before the commit and where nothing had to be changed. Rows of a file that is dropped
    by metadata alone count as deleted, also those that an equality delete hid.
    """

    inserted: int = 0
    updated: int = 0
    deleted: int = 0
    metrics: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RowChange:
    """The files that a change adds and removes; `referenced` are those with new deletes."""

    added_data: tuple[DataFile, ...] = ()
    removed_data: tuple[DataFile, ...] = ()
    added_deletes: tuple[DataFile, ...] = ()
    removed_deletes: tuple[DataFile, ...] = ()
    referenced: tuple[str, ...] = ()
    counts: ChangedRows = ChangedRows()

    @property
    def is_empty(self) -> bool:
        """True when no row changes."""
        return not (self.added_data or self.removed_data or self.added_deletes)


@dataclass(frozen=True, slots=True)
class RowLevelMode:
    """How a verb changes rows (`write.<verb>.mode`, `.isolation-level`, delete granularity)."""

    verb: str
    merge_on_read: bool
    serializable: bool
    granularity: str

    @classmethod
    def of(cls, metadata: TableMetadata, verb: str) -> RowLevelMode:
        """Return the mode that the table's properties set for a verb.

        Raises UnsupportedError for merge-on-read in a format version without delete files.
        """
        mode, isolation = _KEYS[verb]
        properties = metadata.properties
        merge_on_read = text_property(properties, mode).lower() == "merge-on-read"
        if merge_on_read and not metadata.rules.has_delete_files:
            raise UnsupportedError(
                f"{mode} of {metadata.location} is merge-on-read, which needs format-version 2; "
                f"the table has {metadata.format_version}. Set the table property format-version "
                f"to 2, or {mode} to copy-on-write"
            )
        return cls(
            verb,
            merge_on_read,
            text_property(properties, isolation).lower() == "serializable",
            text_property(properties, DELETE_GRANULARITY).lower(),
        )


REWRITE = RowLevelMode("overwrite", merge_on_read=False, serializable=True, granularity="file")
"""What an overwrite by filter does to files that match in part, in any format version."""


@dataclass(frozen=True, slots=True)
class Names:
    """What conditions and values call the table and, in a merge, its source; None: nothing."""

    target: str | None = None
    source: str | None = None


MERGE_NAMES = Names("t", "s")
"""What they are called in `t.merge(...)`."""


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
    branch: str | None = None
    snapshot_properties: Mapping[str, str] | None = None
    case_sensitive: bool = True
    time_zone: str | None = None
    dialect: Dialect = SPARK
    names: Names = Names()

    @property
    def target_options(self) -> TargetOptions:
        """How the rows to change are looked for."""
        return TargetOptions(self.branch, self.case_sensitive, self.time_zone)


@dataclass(frozen=True, slots=True)
class PlannedChange:
    """A change and the filter of the rows that it read (None: any).

    `after_deletes` says that it would be the same change had other rows than those that it
    changes been deleted before: then it goes with such commits at any isolation level.
    """

    change: RowChange
    row_filter: Unbound | None
    after_deletes: bool = False


def row_change_action(verb: RowVerb, planned_change: PlannedChange) -> OverwriteFiles | RowDelta:
    """Return the action that lands a change, with the conflicts that it has to refuse.

    Copy-on-write: rows added under the filter (serializable), and new deletes for the files that
    are replaced (Java: SparkWrite.CopyOnWriteOperation). Merge-on-read: the same rows, the data
    files that deletes point to, and for updates and merges deletes under the filter (Java:
    SparkPositionDeltaWrite). A change that only got overtaken by others' deletes of other rows
    lands with these, where deletes are deletion vectors; a delete also with those of its own rows.
    """
    change, mode = planned_change.change, verb.mode
    merge_on_read = bool(change.added_deletes)
    planned = Planned(
        verb.snapshot_id,
        row_filter=planned_change.row_filter,
        refuse_new_data=mode.serializable,
        refuse_new_deletes=merge_on_read and mode.verb != "delete",
        case_sensitive=verb.case_sensitive,
        time_zone=verb.time_zone,
        schema=verb.metadata.schema,
    )
    if not merge_on_read:
        return OverwriteFiles(
            change.added_data,
            change.removed_data,
            planned=planned,
            branch=verb.branch,
            snapshot_properties=verb.snapshot_properties,
            case_sensitive=verb.case_sensitive,
            time_zone=verb.time_zone,
            schema=verb.metadata.schema,
        )
    return RowDelta(
        change.added_data,
        change.added_deletes,
        remove_data=change.removed_data,
        remove_deletes=change.removed_deletes,
        referenced=change.referenced,
        planned=planned,
        merge_vectors=_merger(verb, planned_change),
        branch=verb.branch,
        snapshot_properties=verb.snapshot_properties,
    )


def _merger(verb: RowVerb, planned_change: PlannedChange) -> MergeVectors | None:
    """Return what merges a change's vectors with those that only delete rows, None for a conflict.

    A row-level delete may do so always. What an update or a merge reads may be rows that another
    commit deletes: serializable needs the change to be the same after it.
    """
    if verb.mode.verb == "delete":
        return VectorMerger(verb.metadata, verb.io).merge
    if verb.mode.serializable and not planned_change.after_deletes:
        return None
    return VectorMerger(verb.metadata, verb.io, other_rows=True).merge


def dropped(target: Target, io: FileIO) -> RowChange:
    """Return the change that removes the files whose rows all match; none of them is opened."""
    return RowChange(
        removed_data=tuple(data_file(task) for task in target.proved),
        counts=ChangedRows(deleted=sum(_live_rows(task, io) for task in target.proved)),
    )


def _live_rows(task: FileScanTask, io: FileIO) -> int:
    by_position = [
        file for file in task.delete_files if file.content is DataFileContent.POSITION_DELETES
    ]
    gone = deleted_positions(io, task, by_position, process_cache())
    return task.record_count - gone.below(task.record_count).count
