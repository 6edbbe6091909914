"""What one save does, planned before its first row: the same for every way in.

Plain source, enabled session, `Table` and transactions make a plan, write files by its context,
and commit them by its actions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from iceberg_spark.catalog.catalog import MadeTable
from iceberg_spark.catalog.metadata_file import read_metadata
from iceberg_spark.commits.action import Action
from iceberg_spark.commits.append import AppendFiles
from iceberg_spark.commits.batch_token import NoteToken, once
from iceberg_spark.commits.conflicts import Planned
from iceberg_spark.commits.overwrite_files import OverwriteFiles, ReplacePartitions
from iceberg_spark.commits.required_columns import RequireNoOtherColumns
from iceberg_spark.commits.set_schema import SetSchema
from iceberg_spark.expr.nodes import ALWAYS_TRUE
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.row_level.upsert_rows import UpsertRows
from iceberg_spark.spec.data_file import DataFile
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.txn import Token, with_summary
from iceberg_spark.spec.updates import TableUpdate
from iceberg_spark.write.align_batches import AlignOptions
from iceberg_spark.write.cdc_writer import UpsertedFiles
from iceberg_spark.write.context import WriteContext
from iceberg_spark.write.upsert_context import UpsertContext

Replaces: TypeAlias = Literal["nothing", "everything", "partitions"]
"""Which rows a save takes out: of an append none, of a dynamic overwrite those of partitions
that get rows."""


@dataclass(frozen=True, slots=True)
class SavePlan:
    """How rows become files of a table, and those a commit; it travels to every task.

    `creation` holds the updates that create the table, else it is there. `merged_on` is where
    the metadata is whose schema this save extends. It holds no metadata: the commit loads it, and
    checks that it is still the table `uuid`, since files of one would be rows of another. `made`
    is the empty table that a server made for this save, which goes again where the save fails.
    """

    context: WriteContext
    align: AlignOptions
    replaces: Replaces = "nothing"
    branch: str | None = None
    snapshot_properties: Mapping[str, str] | None = None
    creation: tuple[TableUpdate, ...] = ()
    merged_on: str | None = None
    uuid: str | None = None
    token: Token | None = None
    """The batch that this save is; it is skipped where that is committed already."""
    is_new: bool = False
    """The table has no rows before this save, whoever makes it."""
    created_table: MadeTable | None = None
    is_committed: bool = False
    planned: Planned | None = None
    """Which commits an overwrite conflicts with."""

    def actions(self, io: FileIO, files: Sequence[DataFile]) -> tuple[Action, ...]:
        """Return what commits the files that were written by this plan."""
        schema = _merged(self.context.schema, io, self.merged_on)
        if not self.is_new:
            schema.append(RequireNoOtherColumns(self.context.schema))
        return once((*schema, self._change(files), *_noted(self.token)))

    def changes_with(self, files: Sequence[DataFile]) -> bool:
        """Return whether a commit of these files changes rows: they come, or all others go."""
        return bool(files) or (self.replaces == "everything" and not self.is_new)

    def _change(self, files: Sequence[DataFile]) -> Action:
        branch, properties = self.branch, with_summary(self.snapshot_properties, self.token)
        match "nothing" if self.is_new else self.replaces:
            case "nothing":
                return AppendFiles(files, branch=branch, snapshot_properties=properties)
            case "partitions":
                return ReplacePartitions(
                    files, planned=self.planned, branch=branch, snapshot_properties=properties
                )
            case "everything":
                return OverwriteFiles(
                    files,
                    row_filter=ALWAYS_TRUE,
                    planned=self.planned,
                    branch=branch,
                    snapshot_properties=properties,
                )


@dataclass(frozen=True, slots=True)
class UpsertPlan:
    """How changes by key become files of a table, and those a commit."""

    context: UpsertContext
    branch: str | None = None
    snapshot_properties: Mapping[str, str] | None = None
    merged_on: str | None = None
    uuid: str | None = None
    token: Token | None = None
    is_committed: bool = False

    def actions(self, files: UpsertedFiles) -> tuple[Action, ...]:
        """Return what commits the files that were written by this plan."""
        write = self.context.write
        upsert = UpsertRows(
            self.context,
            files.data,
            files.deletes,
            branch=self.branch,
            snapshot_properties=with_summary(self.snapshot_properties, self.token),
        )
        schema = _merged(write.schema, write.io, self.merged_on)
        schema.append(RequireNoOtherColumns(write.schema))
        return once((*schema, upsert, *_noted(self.token)))


def _merged(schema: Schema, io: FileIO, merged_on: str | None) -> list[Action]:
    """Return what gives the table a save's wider schema."""
    return [] if merged_on is None else [SetSchema(schema, read_metadata(io, merged_on))]


def _noted(token: Token | None) -> list[Action]:
    return [] if token is None else [NoteToken(token)]


@dataclass(frozen=True, slots=True)
class TablePlace:
    """Which table a save named; travels to every task."""

    path: str
    storage: Mapping[str, str] = field(repr=False)  # may hold secrets
