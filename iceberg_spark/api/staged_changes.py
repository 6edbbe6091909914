"""The staged changes of one commit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace

from iceberg_spark.catalog.catalog import Catalog, LoadedTable
from iceberg_spark.commits.action import Action
from iceberg_spark.commits.batch_token import NoteToken, committed_version, once
from iceberg_spark.commits.commit import CleanupOnFailure, CommitState, clean_up, commit, stage
from iceberg_spark.commits.conflicts import Planned
from iceberg_spark.commits.table_part import TablePart, committed_head
from iceberg_spark.engines.delete_change import overwritten, whole_or_nothing
from iceberg_spark.engines.spark_presence import session_dialect, session_time_zone
from iceberg_spark.engines.write_rows import RowSource, write_rows
from iceberg_spark.errors import (
    AlreadyCommittedException,
    CommitFailedException,
    CommitStateUnknownException,
    InvalidInputError,
)
from iceberg_spark.expr.nodes import Unbound
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.maintenance.auto_compact import compact_after
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
from iceberg_spark.save.plan_save import Replaces, SavePlan, align_options, save_context
from iceberg_spark.save.write_options import WriteOptions
from iceberg_spark.spark.session.engine import Distribution, Engine
from iceberg_spark.spec.data_file import DataFile
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.txn import Token
from iceberg_spark.write.context import WriteContext
from iceberg_spark.write.uncommitted_files import remove_written


@dataclass(frozen=True, slots=True)
class StagedPart:
    """One table's changes as part of a larger commit, and the files that go when none lands."""

    part: TablePart
    files: tuple[str, ...]


class StagedChanges:
    """Actions in order, the files that they would make part of the table, and the base.

    Each change is planned on `metadata()`, so it sees the changes before it. Files are written
    when a change is added, and are removed if the commit fails. All changes are the batch
    `batch_token`, if it is not None. `options` are those of the write and of the session, None for
    the table's properties.
    """

    __slots__ = (
        "_actions",
        "_batch_token",
        "_in_batches",
        "_is_open",
        "_new_files",
        "_options",
        "_stage",
        "base",
        "catalog",
        "was_skipped",
    )

    def __init__(
        self,
        catalog: Catalog,
        base: LoadedTable,
        batch_token: Token | None = None,
        options: WriteOptions | None = None,
    ) -> None:
        self.catalog = catalog
        self._options = options or WriteOptions(base.identifier)
        self._new_files: list[str] = []
        self._stage = base.metadata, 0
        self._actions: list[Action] = []
        self._in_batches: list[tuple[Token, int]] = []
        self._is_open = True
        self._batch_token = batch_token
        self.was_skipped = False
        self.base = base

    @property
    def actions(self) -> list[Action]:
        """The changes so far. Raises InvalidInputError after the end of the transaction."""
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

    @contextmanager
    def batch(self, token: Token | None) -> Iterator[bool]:
        """Yield whether a verb has to run: not if its batch is committed already.

        The changes that the block adds are that batch, and are marked with its token.
        """
        self.was_skipped = self._is_committed(token) or self._is_committed(self._batch_token)
        if self.was_skipped or token is None:
            yield not self.was_skipped
        else:
            start = len(self.actions)
            yield True
            self.actions.append(NoteToken(token))
            self._in_batches.append((token, len(self.actions) - start))

    def _is_committed(self, token: Token | None) -> bool:
        version = token and committed_version(self.base.metadata, self.io, token)
        return version is not None

    def _are_one_batch(self) -> bool:
        """Return whether all changes are one batch; they are skipped if it is committed already."""
        if self._batch_token is not None:
            return True
        tokens = {token for token, _ in self._in_batches}
        return len(tokens) == 1 and sum(n for _, n in self._in_batches) == len(self._actions)

    def head(self, branch: str | None) -> int | None:
        """Return the committed snapshot that a change of a branch is planned on.

        For a branch that earlier changes created or moved, this is where the branch starts.
        """
        head = committed_head(self.metadata(), self.base.metadata, branch)
        return None if head is None else head.snapshot_id

    def context(self) -> WriteContext:
        """Return what the tasks of a write share."""
        return save_context(self.metadata(), self.io, self._options)

    def save_plan(
        self,
        replaces: Replaces,
        branch: str | None,
        snapshot_properties: Mapping[str, str] | None,
        case_sensitive: bool,
    ) -> SavePlan:
        """Return how rows become files of the staged table."""
        align = replace(align_options(self._options), case_sensitive=case_sensitive)
        return SavePlan(
            self.context(),
            align,
            replaces,
            branch,
            snapshot_properties,
            planned=self._options.planned,
        )

    def planned(self, branch: str | None, row_filter: Unbound, *, rewrites: bool) -> Planned | None:
        """Return which commits an overwrite of matching rows conflicts with, None for none.

        Those that the options name. Otherwise one that `rewrites` files conflicts with all that
        change matching rows since the head of the branch.
        """
        planned = self._options.planned
        if planned is not None:
            return replace(planned, row_filter=row_filter)
        return Planned(self.head(branch), row_filter=row_filter) if rewrites else None

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
        arguments = (
            branch,
            snapshot_properties,
            case_sensitive,
            session_time_zone(),
            session_dialect(),
        )
        return RowVerb(metadata, self.io, RowLevelMode.of(metadata, name), head, *arguments, names)

    def add_row_change(
        self, verb: RowVerb, make: Callable[[WriteContext], PlannedChange]
    ) -> ChangedRows:
        """Add a row-level change; what it wrote is removed when it fails."""
        planned = whole_or_nothing(make, self.context(), self.io)
        if not planned.change.is_empty:
            new = (*planned.change.added_data, *planned.change.added_deletes)
            self.note(file.file_path for file in new)
            self.actions.append(row_change_action(verb, planned))
        return planned.change.counts

    def rewrite_without(
        self, predicate: Unbound, options: TargetOptions, *, use_spark: bool
    ) -> RowChange:
        """Rewrite the files that match a filter in part, without the matching rows."""
        change = overwritten(
            self.metadata(), self.io, predicate, options, self.context(), use_spark=use_spark
        )
        self.note(file.file_path for file in change.added_data)
        return change

    def add_definition(self, action: Action) -> None:
        """Add a change of the table's definition, if it applies after the earlier changes."""
        self.actions.append(action)
        try:
            self.metadata()
        except BaseException:
            self.actions.remove(action)
            raise

    def land(self, take: Callable[[LoadedTable], None]) -> None:
        """Commit all changes and hand the table after them to `take`; without any do nothing.

        One batch that another writer has committed meanwhile is skipped. Raises what
        `commits.commit.commit` raises.
        """
        if self._batch_token is not None:
            self.was_skipped = self._is_committed(self._batch_token)
            if self.was_skipped:
                self.discard()
            elif self._actions:
                self._actions.append(NoteToken(self._batch_token))
        actions, files, io = once(self.actions), tuple(self._new_files), self.io
        skips = self._are_one_batch()
        self.reset(self.base)
        if not actions:
            return
        try:
            with CleanupOnFailure(io, files) as commit_state:
                loaded = commit(
                    self.catalog,
                    self.base.identifier,
                    actions,
                    self.base,
                    commit_state=commit_state,
                )
                self.reset(loaded)
                take(loaded)
        except AlreadyCommittedException:
            if not skips:
                raise
            self.was_skipped = True
            self.reset(self.catalog.load(self.base.identifier))
            take(self.base)

    def part(self) -> StagedPart:
        """Return this table's part of a commit of several tables; no changes can follow."""
        actions, files, skips = once(self.actions), tuple(self._new_files), self._are_one_batch()
        self.end()
        part = TablePart(self.base.identifier, actions, self.base, self.io, skips=skips)
        return StagedPart(part, files)

    def discard(self) -> None:
        """Remove the written files; orphan removal deletes the rest if the store fails."""
        remove_written(self.io, self._new_files)
        clean_up(self._actions, self.io, None)
        self.reset(self.base)

    def reset(self, base: LoadedTable) -> None:
        """Start again from a version of the table; earlier changes are committed or discarded."""
        self.base = base
        self._actions.clear()
        self._in_batches.clear()
        self._new_files.clear()
        self._stage = base.metadata, 0


def newest(catalog: Catalog, shown: LoadedTable) -> LoadedTable:
    """Load a table's newest version. Raises CommitFailedException if the table was replaced."""
    loaded = catalog.load(shown.identifier)
    if loaded.metadata.table_uuid != shown.metadata.table_uuid:
        raise CommitFailedException(
            f"{shown.identifier} is another table by now, it was dropped and created again "
            "(its uuid differs): load it to change it"
        )
    return loaded


@contextmanager
def verb(
    catalog: Catalog,
    shown: LoadedTable,
    take: Callable[[LoadedTable], None],
    *,
    on_shown: bool = False,
    options: WriteOptions | None = None,
) -> Iterator[StagedChanges]:
    """Yield the changes of one verb, commit them, and pass the resulting version to `take`.

    That is the newest version if there was no change to commit. `take` is not called on an error.
    With `on_shown` the changes are planned on the shown version; the commit detects a newer one.
    `options` are those of the write and of the session.
    """
    outcome = shown if on_shown else newest(catalog, shown)

    def note(committed: LoadedTable) -> None:
        nonlocal outcome
        outcome = committed

    changes = StagedChanges(catalog, outcome, options=options)
    try:
        yield changes
    except BaseException:
        changes.discard()
        raise
    before = outcome
    try:
        changes.land(note)
        take(outcome)
        compact_after(catalog, before, outcome)
    except BaseException as error:  # an interrupt between these says that the commit has landed
        if outcome is before or isinstance(error, CommitStateUnknownException):
            raise
        raise CommitState(may_have_landed=True, landed=True).unknown(error) from error
