"""The changes of one commit while they are collected, and their landing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from iceberg_spark.catalog.catalog import Catalog, LoadedTable
from iceberg_spark.commits.action import Action
from iceberg_spark.commits.commit import clean_up, commit, removed_unless_committed, stage
from iceberg_spark.commits.table_part import TablePart
from iceberg_spark.engines.at_hand import session_dialect, session_time_zone
from iceberg_spark.engines.delete_change import overwritten, whole_or_nothing
from iceberg_spark.engines.write_rows import RowSource, write_rows
from iceberg_spark.errors import InvalidInputError
from iceberg_spark.expr.nodes import Unbound
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.row_level.row_level_change import (
    ChangedRows,
    Names,
    PlannedChange,
    RowChange,
    RowLevelMode,
    RowVerb,
    row_change_action,
)
from iceberg_spark.row_level.target_files import TargetOptions
from iceberg_spark.save.save_plan import Replaces, SavePlan
from iceberg_spark.spark.session.engine import Distribution, Engine
from iceberg_spark.spec.data_file import DataFile
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.write.align_batches import AlignOptions
from iceberg_spark.write.context import WriteContext
from iceberg_spark.write.new_write import write_context
from iceberg_spark.write.uncommitted_files import remove_written


@dataclass(frozen=True, slots=True)
class StagedPart:
    """One table's changes as part of a larger commit, and the files that go when none lands."""

    part: TablePart
    files: tuple[str, ...]


class StagedChanges:
    """Actions in order, the files that they would make part of the table, and the base.

    Each change sees those before it: it is planned on `metadata()`. Files are written when a
    change is added and are removed again when nothing lands.
    """

    __slots__ = ("_actions", "_catalog", "_is_open", "_new_files", "_stage", "base")

    def __init__(self, catalog: Catalog, base: LoadedTable) -> None:
        self._catalog = catalog
        self._new_files: list[str] = []
        self._stage = base.metadata, 0
        self._actions: list[Action] = []
        self._is_open = True
        self.base = base

    @property
    def actions(self) -> list[Action]:
        """The changes so far. Raises InvalidInputError where nobody would land another one."""
        if not self._is_open:
            raise InvalidInputError(
                f"The transaction of {self.base.identifier} has ended, so what is added now would "
                "never land: begin another one"
            )
        return self._actions

    @property
    def is_open(self) -> bool:
        """Whether changes can be added."""
        return self._is_open

    def begin(self) -> None:
        """Take changes."""
        self._is_open = True

    def end(self) -> None:
        """Take no more changes."""
        self._is_open = False

    @property
    def io(self) -> FileIO:
        """The storage of the table's files."""
        return self.base.io

    def metadata(self) -> TableMetadata:
        """Return the metadata as the changes so far leave it; each is applied once."""
        metadata, applied = self._stage
        metadata = stage(metadata, self.io, self.actions[applied:])
        self._stage = metadata, len(self.actions)
        return metadata

    def head(self, branch: str | None) -> int | None:
        """Return the committed snapshot that a change of a branch is planned on."""
        head = self.base.metadata.branch_head(branch)
        return None if head is None else head.snapshot_id

    def context(self) -> WriteContext:
        """Return what the tasks of a write share."""
        return write_context(self.metadata(), io=self.io)

    def save_plan(
        self,
        replaces: Replaces,
        branch: str | None,
        snapshot_properties: Mapping[str, str] | None,
        case_sensitive: bool,
    ) -> SavePlan:
        """Return how rows become files of the table as it is staged."""
        align = AlignOptions(case_sensitive=case_sensitive)
        return SavePlan(self.context(), align, replaces, branch, snapshot_properties)

    def write(
        self,
        rows: RowSource,
        plan: SavePlan,
        engine: Engine | None,
        distribution_mode: Distribution | None,
    ) -> tuple[DataFile, ...]:
        """Write rows as data files that go when nothing lands."""
        files = write_rows(
            rows,
            plan.context,
            self.io,
            plan.align,
            engine=engine,
            distribution_mode=distribution_mode,
        )
        self.note(file.file_path for file in files)
        return files

    def note(self, paths: Iterable[str]) -> None:
        """Remember new files, which go when nothing lands."""
        self._new_files.extend(paths)

    def row_verb(
        self,
        name: str,
        branch: str | None,
        snapshot_properties: Mapping[str, str] | None,
        case_sensitive: bool,
        names: Names = Names(),  # noqa: B008 (a frozen value)
    ) -> RowVerb:
        """Return what a row-level verb is planned on."""
        metadata, head = self.metadata(), self.head(branch)
        given = branch, snapshot_properties, case_sensitive, session_time_zone(), session_dialect()
        return RowVerb(metadata, self.io, RowLevelMode.of(metadata, name), head, *given, names)

    def add_row_change(
        self, verb: RowVerb, make: Callable[[WriteContext], PlannedChange]
    ) -> ChangedRows:
        """Add a row-level change; what it wrote is removed when it fails."""
        made = whole_or_nothing(make, self.context(), self.io)
        if not made.change.is_empty:
            new = (*made.change.added_data, *made.change.added_deletes)
            self.note(file.file_path for file in new)
            self.actions.append(row_change_action(verb, made))
        return made.change.counts

    def take_out(self, predicate: Unbound, options: TargetOptions, *, use_spark: bool) -> RowChange:
        """Write anew what an overwrite leaves of the files that match in part."""
        change = overwritten(
            self.metadata(), self.io, predicate, options, self.context(), use_spark=use_spark
        )
        self.note(file.file_path for file in change.added_data)
        return change

    def add_definition(self, action: Action) -> None:
        """Add a change of the table's definition, if it goes with those before it."""
        self.actions.append(action)
        try:
            self.metadata()
        except BaseException:
            self.actions.remove(action)
            raise

    def land(self, take: Callable[[LoadedTable], None]) -> None:
        """Commit all changes and hand the table after them to `take`; without any do nothing.

        Raises what `transaction.commit.commit` raises.
        """
        actions, files, io = tuple(self.actions), tuple(self._new_files), self.io
        self.reset(self.base)
        if not actions:
            return
        with removed_unless_committed(io, files) as handover:
            loaded = commit(
                self._catalog, self.base.identifier, actions, self.base, handover=handover
            )
            self.reset(loaded)
            take(loaded)

    def part(self) -> StagedPart:
        """Return what a commit of several tables does to this one, and its new files; ends it."""
        actions, files = tuple(self.actions), tuple(self._new_files)
        self.end()
        return StagedPart(TablePart(self.base.identifier, actions, self.base, self.io), files)

    def discard(self) -> None:
        """Remove what was written; what the store keeps is left to orphan removal."""
        remove_written(self.io, self._new_files)
        clean_up(self._actions, self.io, None)
        self.reset(self.base)

    def reset(self, base: LoadedTable) -> None:
        """Begin anew on a version; what was collected is committed or gone."""
        self.base = base
        self._actions.clear()
        self._new_files.clear()
        self._stage = base.metadata, 0
