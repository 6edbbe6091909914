"""The only commit loop: prepare on the newest metadata, swap, and retry if another commit won.

The kind of failure decides what follows:

- Nothing was committed and a retry can succeed: reload, prepare again.
- Nothing was committed and a retry cannot succeed: remove the files that the actions wrote.
- The commit may have succeeded: check whether it did. If that is unknown, remove nothing (Java:
  CommitStateUnknownException).

`CommitState` records whether the commit may have succeeded; the exception does not. An interrupt
can come at any line. From the hand-over until the catalog refuses, it removes nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from tenacity import (
    RetryCallState,
    Retrying,
    retry_if_exception_type,
    stop_after_attempt,
    stop_after_delay,
    wait_exponential,
    wait_random_exponential,
)

from iceberg_spark.catalog.catalog import Catalog, LoadedTable, NewTable, TableChange
from iceberg_spark.commits.action import Action
from iceberg_spark.commits.table_part import TablePart, check_same_table, update_time
from iceberg_spark.errors import (
    CommitFailedException,
    CommitStateUnknownException,
    IcebergError,
)
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.spec.apply_updates import apply
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.metrics_report import bytes_of, count, duration, who_reports
from iceberg_spark.spec.properties import (
    COMMIT_MAX_RETRY_WAIT_MS,
    COMMIT_MIN_RETRY_WAIT_MS,
    COMMIT_NUM_RETRIES,
    COMMIT_TOTAL_RETRY_TIME_MS,
    int_property,
)
from iceberg_spark.spec.snapshot import Snapshot
from iceberg_spark.spec.updates import AddSnapshot


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often and how long to retry a commit; times in ms."""

    num_retries: int
    min_wait_ms: int
    max_wait_ms: int
    total_timeout_ms: int

    @classmethod
    def of(cls, properties: Mapping[str, str]) -> RetryPolicy:
        """Return the policy of the table properties `commit.retry.*`."""
        return cls(
            int_property(properties, COMMIT_NUM_RETRIES),
            int_property(properties, COMMIT_MIN_RETRY_WAIT_MS),
            int_property(properties, COMMIT_MAX_RETRY_WAIT_MS),
            int_property(properties, COMMIT_TOTAL_RETRY_TIME_MS),
        )

    def retrying(self, sleep: Callable[[float], None]) -> Retrying:
        """Return the tenacity loop: waits double, each reduced at random to no less than half."""
        longest = wait_exponential(
            multiplier=self.min_wait_ms / 1000, max=self.max_wait_ms / 1000, min=0
        )
        spread = wait_random_exponential(
            multiplier=self.min_wait_ms / 1000, max=self.max_wait_ms / 1000, min=0
        )

        def wait(state: RetryCallState) -> float:
            return (longest(state) + spread(state)) / 2

        return Retrying(
            retry=retry_if_exception_type(CommitFailedException),
            stop=stop_after_attempt(self.num_retries + 1)
            | stop_after_delay(self.total_timeout_ms / 1000),
            wait=wait,
            sleep=sleep,
            reraise=True,
        )


@dataclass(slots=True)
class CommitState:
    """Whether a commit may have succeeded: true from its hand-over until the catalog refuses it."""

    may_have_landed: bool = False
    landed: bool = False

    def unknown(self, error: BaseException) -> CommitStateUnknownException:
        """Return the error for an interrupt, or for an error that leaves the outcome unknown."""
        state = "has landed, but what follows it" if self.landed else "may have landed: it"
        return CommitStateUnknownException(
            f"The commit {state} was broken off by {type(error).__name__}. Look at the table "
            "before trying again; no file was removed"
        )


def commit(
    catalog: Catalog,
    identifier: str,
    actions: Action | Sequence[Action],
    base: LoadedTable | None,
    *,
    creation: NewTable | None = None,
    commit_state: CommitState | None = None,
    sleep: Callable[[float], None] = time.sleep,
) -> LoadedTable:
    """Apply all actions in one commit and return the table after it.

    Each action is prepared on the metadata that the actions before it produce. Without any change,
    nothing is committed and the base is returned.

    Args:
        catalog: loads the newest version and swaps it.
        identifier: what the catalog calls the table.
        actions: the changes, in order.
        base: the table that the caller planned on. None creates the table by `creation` and the
            actions, or changes it if the server has created it.
        creation: the updates that create a table.
        commit_state: the state of a `CleanupOnFailure` around the call.
        sleep: waits between attempts, in seconds.

    Raises:
        CommitFailedException: other commits won each time; the files of the actions are removed.
        ValidationException: a change conflicts with a newer commit; the files are removed.
        TableAlreadyExistsError: another commit created the table; the files are removed.
        CommitStateUnknownException: the commit may have succeeded, also after an interrupt once the
            catalog was called. No file is removed.
    """
    steps = tuple(actions) if isinstance(actions, Sequence) else (actions,)
    if creation is not None and creation.table is not None:
        base, creation = creation.table, None
    creation_updates = creation.updates if creation else ()
    part = TablePart(
        identifier, steps, base, _storage(catalog, identifier, creation, base), creation_updates
    )
    return commit_tables(catalog, (part,), commit_state=commit_state, sleep=sleep)[0]


def commit_tables(
    catalog: Catalog,
    parts: Sequence[TablePart],
    *,
    commit_state: CommitState | None = None,
    sleep: Callable[[float], None] = time.sleep,
) -> list[LoadedTable]:
    """Change several tables in one commit, all or none, like `commit` for one table.

    Returns the tables after it, in order. Raises UnsupportedError if the catalog cannot do so.
    """
    state = CommitState() if commit_state is None else commit_state
    attempt = _Attempt(catalog, tuple(parts), state)
    started = time.perf_counter()
    try:
        committed = attempt.run(sleep)
        for part, table in zip(attempt.parts, committed, strict=True):
            clean_up(part.actions, part.io, table.metadata)
        report_commit(attempt.parts, time.perf_counter() - started, attempt.tries)
        return committed  # noqa: TRY300 (an interrupt here comes after the commit, too)
    except CommitStateUnknownException:
        raise
    except BaseException as error:
        if state.may_have_landed:
            raise state.unknown(error) from error
        for part in attempt.parts:
            clean_up(part.actions, part.io, None)
        raise


class _Attempt:
    """The state of a commit over its attempts: the bases and the last change that was sent."""

    __slots__ = ("catalog", "commit_state", "parts", "tries")

    def __init__(
        self, catalog: Catalog, parts: tuple[TablePart, ...], commit_state: CommitState
    ) -> None:
        self.catalog = catalog
        self.parts = parts
        self.commit_state = commit_state
        self.tries = 0

    def run(self, sleep: Callable[[float], None]) -> list[LoadedTable]:
        first = self.parts[0].base
        if first is None:
            return self._once()
        policy = RetryPolicy.of(first.metadata.properties)
        return policy.retrying(sleep)(self._again)

    def _again(self) -> list[LoadedTable]:
        try:
            return self._once()
        except CommitFailedException:
            tables = [self._reloaded(part) for part in self.parts]
            if self._has_ours(tables):
                return self._landed(tables)
            for part, table in zip(self.parts, tables, strict=True):
                part.base = table
            raise

    def _reloaded(self, part: TablePart) -> LoadedTable:
        """Load the newest version. Raises ValidationException if it is of another table."""
        loaded = self.catalog.load(part.identifier)
        if part.base is not None:
            check_same_table(loaded, part.base.metadata.table_uuid)
        return loaded

    def _once(self) -> list[LoadedTable]:
        self.tries += 1
        for part in self.parts:
            part.prepare()
        changed = [part for part in self.parts if part.updates or part.base is None]
        if not changed:
            return [part.base for part in self.parts if part.base is not None]
        changes = [part.change() for part in changed]
        self.commit_state.may_have_landed = True
        try:
            committed = self._committed(changes)
        except CommitStateUnknownException:
            outcome = self._look()
            if outcome is None:
                raise
            return self._landed(outcome)
        except IcebergError:  # refused: the commit has not succeeded and will not
            self.commit_state.may_have_landed = False
            raise
        self._landed(committed)
        for part, table in zip(changed, committed, strict=True):
            part.base = table
        return [part.base for part in self.parts if part.base is not None]

    def _committed(self, changes: Sequence[TableChange]) -> list[LoadedTable]:
        if len(changes) > 1:
            return self.catalog.commit_tables(changes)
        change = changes[0]
        return [
            self.catalog.commit(change.identifier, change.requirements, change.updates, change.base)
        ]

    def _landed(self, tables: list[LoadedTable]) -> list[LoadedTable]:
        self.commit_state.may_have_landed = self.commit_state.landed = True
        return tables

    def _newest(self) -> list[LoadedTable]:
        return [self.catalog.load(part.identifier) for part in self.parts]

    def _look(self) -> list[LoadedTable] | None:
        """Return the tables if they have this commit, None if that is unknown."""
        try:
            tables = self._newest()
        except IcebergError:
            return None
        return tables if self._has_ours(tables) else None

    def _has_ours(self, tables: Sequence[LoadedTable]) -> bool:
        """Return whether the commit succeeded.

        Raises:
            CommitStateUnknownException: some tables have the commit and others do not. A server
                that changes tables one after the other can cause this.
        """
        pairs = zip(self.parts, tables, strict=True)
        seen = {part.identifier: part.is_in(table) for part, table in pairs}
        if {True, False} <= set(seen.values()):
            there = [name for name, is_in in seen.items() if is_in]
            lack = [name for name, is_in in seen.items() if is_in is False]
            raise CommitStateUnknownException(
                f"{', '.join(there)} has this commit and {', '.join(lack)} does not, or has not "
                "kept it: look at these tables before trying again; no file was removed"
            )
        return True in seen.values()


def _storage(
    catalog: Catalog, identifier: str, creation: NewTable | None, base: LoadedTable | None
) -> FileIO:
    if base is not None:
        return base.io
    return creation.io if creation is not None else catalog.io(identifier)


def stage(base: TableMetadata, io: FileIO, actions: Iterable[Action]) -> TableMetadata:
    """Return the table that the actions would produce, to plan the next action on; commits nothing.

    The commit of the actions reuses the manifests that they write here. `clean_up` removes these if
    the actions are not committed.
    """
    metadata = base
    for action in actions:
        updates = action.prepare(metadata, io).updates
        metadata = apply(metadata, updates, now_ms=update_time(metadata))
    return metadata


def clean_up(actions: Iterable[Action], io: FileIO, committed: TableMetadata | None) -> None:
    """Let each action remove its unused files; orphan removal finds files that remain.

    Ignores errors: the commit has succeeded or was refused before.
    """
    for action in actions:
        with suppress(Exception):
            action.clean_up(io, committed)


class CleanupOnFailure:
    """Remove new data or delete files if the `with` block fails, unless it may have committed.

    Returns the `CommitState` to pass to `commit`. Once the commit has begun, files are removed only
    after a refusal, and an interrupt is raised as CommitStateUnknownException. Blocks for several
    tables of one commit share a `commit_state`.
    """

    __slots__ = ("_handover", "_io", "_paths")

    def __init__(
        self, io: FileIO, paths: Iterable[str], commit_state: CommitState | None = None
    ) -> None:
        self._io = io
        self._paths = tuple(paths)
        self._handover = CommitState() if commit_state is None else commit_state

    def __enter__(self) -> CommitState:
        return self._handover

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None or isinstance(error, CommitStateUnknownException):
            return
        if self._handover.may_have_landed:
            raise self._handover.unknown(error) from error
        with suppress(Exception):  # orphan removal finds the file; the first error matters more
            self._io.delete_many(self._paths)


_COUNTS = {
    "added-data-files": "added-data-files",
    "removed-data-files": "deleted-data-files",
    "total-data-files": "total-data-files",
    "added-delete-files": "added-delete-files",
    "added-equality-delete-files": "added-equality-delete-files",
    "added-positional-delete-files": "added-position-delete-files",
    "added-dvs": "added-dvs",
    "removed-delete-files": "removed-delete-files",
    "removed-equality-delete-files": "removed-equality-delete-files",
    "removed-positional-delete-files": "removed-position-delete-files",
    "removed-dvs": "removed-dvs",
    "total-delete-files": "total-delete-files",
    "added-records": "added-records",
    "removed-records": "deleted-records",
    "total-records": "total-records",
    "added-positional-deletes": "added-position-deletes",
    "removed-positional-deletes": "removed-position-deletes",
    "total-positional-deletes": "total-position-deletes",
    "added-equality-deletes": "added-equality-deletes",
    "removed-equality-deletes": "removed-equality-deletes",
    "total-equality-deletes": "total-equality-deletes",
    "manifests-created": "manifests-created",
    "manifests-replaced": "manifests-replaced",
    "manifests-kept": "manifests-kept",
    "manifest-entries-processed": "entries-processed",
}
_SIZES = {
    "added-files-size-bytes": "added-files-size",
    "removed-files-size-bytes": "removed-files-size",
    "total-files-size-bytes": "total-files-size",
}
"""Metrics and the summary keys that they come from (Java: CommitMetricsResult)."""


def report_commit(parts: tuple[TablePart, ...], seconds: float, tries: int) -> None:
    """Report the snapshots of a successful commit to the catalog's reporters. Never fails."""
    for part in parts:
        reporter = None if part.base is None else part.base.reporter
        if reporter is None:
            continue
        with suppress(Exception):  # the commit has succeeded, whatever a reporter raises
            for update in part.updates:
                if isinstance(update, AddSnapshot):
                    reporter.take(commit_report(update.snapshot, seconds, tries))


def commit_report(snapshot: Snapshot, seconds: float, tries: int) -> Mapping[str, Any]:
    """Return the report of one snapshot, without the metrics that its summary lacks, as in Java."""
    summary = snapshot.summary
    metrics = {"total-duration": duration(seconds), "attempts": count(tries)}
    for names, metric in ((_COUNTS, count), (_SIZES, bytes_of)):
        for name, key in names.items():
            text = summary.get(key, "")
            if text.isdecimal():
                metrics[name] = metric(int(text))
    return {
        "report-type": "commit-report",
        "snapshot-id": snapshot.snapshot_id,
        "sequence-number": snapshot.sequence_number,
        "operation": snapshot.operation or "",
        "metrics": metrics,
        "metadata": who_reports(),
    }
