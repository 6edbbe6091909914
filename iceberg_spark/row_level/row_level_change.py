"""A row-level change ready to commit: added and removed files, and the action to commit them."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from iceberg_spark.arrow.position_set import NO_POSITIONS, PositionSet
from iceberg_spark.commits.conflicts import Planned
from iceberg_spark.commits.overwrite_files import OverwriteFiles
from iceberg_spark.commits.row_delta import MergeVectors, Overtaken, RowDelta
from iceberg_spark.errors import NoSuchFileError, UnsupportedError, ValidationException
from iceberg_spark.expr.dialect import SPARK, Dialect
from iceberg_spark.expr.nodes import Unbound
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.read.deletion_vectors import read_vector
from iceberg_spark.read.position_deletes import deleted_positions
from iceberg_spark.read.process_cache import process_cache
from iceberg_spark.row_level.target_files import Target, TargetOptions
from iceberg_spark.scan.planned_files import data_file, position_delete
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
from iceberg_spark.write.context import TaskId
from iceberg_spark.write.deletion_vector_writer import DeletedRows, write_vectors
from iceberg_spark.write.new_write import write_context

_KEYS = {
    "delete": (DELETE_MODE, DELETE_ISOLATION_LEVEL),
    "update": (UPDATE_MODE, UPDATE_ISOLATION_LEVEL),
    "merge": (MERGE_MODE, MERGE_ISOLATION_LEVEL),
}


@dataclass(frozen=True, slots=True)
class ChangedRows:
    """The number of rows that a verb inserted, updated and deleted.

    `metrics` is the summary of the committed snapshot (`added-position-deletes`, ...), empty before
    the commit and if nothing changed. Rows of a file that is removed without reading it count as
    deleted, including those that an equality delete hid.
    """

    inserted: int = 0
    updated: int = 0
    deleted: int = 0
    metrics: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return (
            f"{self.inserted:,} rows inserted, {self.updated:,} updated, {self.deleted:,} deleted"
        )

    def _repr_html_(self) -> str:
        return f"<p>{self}</p>"


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
"""How an overwrite by filter changes files that match in part, in any format version."""


@dataclass(frozen=True, slots=True)
class Names:
    """The names of the table and a merge's source in conditions and values; None: no name."""

    target: str | None = None
    source: str | None = None


MERGE_NAMES = Names("t", "s")
"""The names of target and source in `t.merge(...)`."""


@dataclass(frozen=True, slots=True)
class RowVerb:
    """One call of a row-level verb: the table version and the arguments that all verbs share.

    `snapshot_id` is the committed head of the branch; `metadata` also has earlier changes of the
    same transaction.
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
        """How to find the rows to change."""
        return TargetOptions(self.branch, self.case_sensitive, self.time_zone)


@dataclass(frozen=True, slots=True)
class PlannedChange:
    """A change and the filter of the rows that it read (None: any).

    `after_deletes` means that the change would be the same if other rows than its own had been
    deleted before. Then it is compatible with such commits at any isolation level.
    """

    change: RowChange
    row_filter: Unbound | None
    after_deletes: bool = False


def row_change_action(verb: RowVerb, planned_change: PlannedChange) -> OverwriteFiles | RowDelta:
    """Return the action that commits a change, with the conflicts to refuse.

    Copy-on-write refuses rows added under the filter (serializable), and new deletes for the
    replaced files (Java: SparkWrite.CopyOnWriteOperation). Merge-on-read refuses the same rows,
    removals of the data files that deletes point to, and for updates and merges deletes under the
    filter (Java: SparkPositionDeltaWrite). With deletion vectors, a change is compatible with
    concurrent deletes of other rows; a delete also with deletes of the same rows.
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
    """Return what merges a change's vectors with concurrent ones, None if these are a conflict.

    A row-level delete may always merge. An update or a merge may have read rows that another commit
    deletes: serializable requires that the change is the same without them.
    """
    if verb.mode.verb == "delete":
        return VectorMerger(verb.metadata, verb.io).merge
    if verb.mode.serializable and not planned_change.after_deletes:
        return None
    return VectorMerger(verb.metadata, verb.io, other_rows=True).merge


def drop_files(target: Target, io: FileIO) -> RowChange:
    """Return the change that removes the files whose rows all match, without reading them."""
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


@dataclass(frozen=True, slots=True)
class VectorMerger:
    """Merges vectors of a table; holds the positions of one data file.

    With `other_rows`, both changes must delete different rows: this change writes its rows again
    elsewhere.
    """

    metadata: TableMetadata
    io: FileIO
    other_rows: bool = False

    def merge(self, overtaken: Sequence[Overtaken]) -> tuple[DataFile, ...]:
        """Write a vector with the positions of both for each data file, all in one new file.

        Raises ValidationException if both delete a row and that is not allowed, or if that is
        unknown.
        """
        context = replace(write_context(self.metadata, io=self.io), write_id=str(uuid.uuid4()))

        def deleted() -> Iterator[DeletedRows]:
            for overtaken_vector in overtaken:
                ours, newer = self._read(overtaken_vector.ours), self._read(overtaken_vector.newer)
                if self.other_rows:
                    self._check(overtaken_vector, ours, newer)
                yield DeletedRows(
                    str(overtaken_vector.ours.referenced_data_file),
                    overtaken_vector.ours.partition_spec_id,
                    overtaken_vector.ours.partition,
                    PositionSet.union((ours, newer)),
                )

        specs = self.metadata.partition_specs
        return write_vectors(context, self.io, deleted(), specs=specs, task=TaskId())

    def _check(self, vector: Overtaken, ours: PositionSet, newer: PositionSet) -> None:
        """Refuse a row that both delete and that the earlier vector did not.

        Earlier deletes of a position delete file count as new ones, so this refuses more than
        needed.
        """
        new = ours.without(NO_POSITIONS if vector.before is None else self._read(vector.before))
        if new.without(newer).count != new.count:
            raise ValidationException(
                f"Conflict: another commit deleted a row of {vector.ours.referenced_data_file} "
                "that this change rewrites; plan the change again"
            )

    def _read(self, file: DataFile) -> PositionSet:
        try:
            return read_vector(self.io, position_delete(file))
        except NoSuchFileError as error:  # the one before was replaced, and may have expired
            raise ValidationException(
                f"Can't find which rows of {file.referenced_data_file} other commits deleted: "
                f"{file.file_path} is gone; plan the change again"
            ) from error
