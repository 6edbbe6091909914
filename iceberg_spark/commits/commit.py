"""The only commit loop: prepare on the newest metadata, swap, and try again when another won.

The kind of failure decides what follows. Nothing landed and it may be retried: reload, prepare
again. Nothing landed for good: remove what the actions wrote. It may have landed: look whether it
did, and if that can't be told remove nothing (Java: CommitStateUnknownException).

What may have landed is known by a state (`Handover`), not by the exception: an interrupt comes at
any line, and from the hand-over until the catalog refuses it removes nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType

from tenacity import (
    RetryCallState,
    Retrying,
    retry_if_exception_type,
    stop_after_attempt,
    stop_after_delay,
    wait_exponential,
    wait_random_exponential,
)

from iceberg_spark.catalog.catalog import Catalog, LoadedTable, NewTable
from iceberg_spark.commits.action import Action
from iceberg_spark.errors import (
    CommitFailedException,
    CommitStateUnknownException,
    IcebergError,
    ValidationException,
)
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.spec.apply_updates import apply
from iceberg_spark.spec.derive_requirements import requirements_for
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.properties import (
    COMMIT_MAX_RETRY_WAIT_MS,
    COMMIT_MIN_RETRY_WAIT_MS,
    COMMIT_NUM_RETRIES,
    COMMIT_TOTAL_RETRY_TIME_MS,
    int_property,
)
from iceberg_spark.spec.updates import AddSnapshot, AssignUuid, TableUpdate


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often and how long a commit is tried again; times in ms."""

    num_retries: int
    min_wait_ms: int
    max_wait_ms: int
    total_timeout_ms: int

    @classmethod
    def of(cls, properties: Mapping[str, str]) -> RetryPolicy:
        """Return the policy that table properties `commit.retry.*` ask for."""
        return cls(
            int_property(properties, COMMIT_NUM_RETRIES),
            int_property(properties, COMMIT_MIN_RETRY_WAIT_MS),
            int_property(properties, COMMIT_MAX_RETRY_WAIT_MS),
            int_property(properties, COMMIT_TOTAL_RETRY_TIME_MS),
        )

    def retrying(self, sleep: Callable[[float], None]) -> Retrying:
        """Return the tenacity loop: doubled waits, each cut at random to at least the half."""
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
class Handover:
    """Whether a commit may have landed: true from its hand-over until the catalog refuses it."""

    may_have_landed: bool = False
    landed: bool = False

    def unknown(self, error: BaseException) -> CommitStateUnknownException:
        """Return what an interrupt, or an error that says nothing of the commit, is raised as."""
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
    handover: Handover | None = None,
    sleep: Callable[[float], None] = time.sleep,
) -> LoadedTable:
    """Make the changes of all actions in one commit and return the table after it.

    Each action is prepared on the metadata that those before it give. `base` is what the caller
    planned on; None creates the table `creation`, together with the actions.
    Without any change the base is returned and nothing is committed. `handover` is that of
    `removed_unless_committed` around the call.

    Raises CommitFailedException when other commits won each time, ValidationException when a
    change conflicts with what was committed since, TableAlreadyExistsError; what the actions
    wrote is removed then. Raises CommitStateUnknownException when it may have landed, also from
    an interrupt once the catalog was asked.
    """
    steps = tuple(actions) if isinstance(actions, Sequence) else (actions,)
    state = Handover() if handover is None else handover
    attempt = _Attempt(catalog, identifier, steps, creation, base, state)
    try:
        committed = attempt.run(sleep)
        clean_up(steps, attempt.io, committed.metadata)
        return committed  # noqa: TRY300 (an interrupt here comes after the commit, too)
    except CommitStateUnknownException:
        raise
    except BaseException as error:
        if state.may_have_landed:
            raise state.unknown(error) from error
        clean_up(steps, attempt.io, None)
        raise


class _Attempt:
    """The state of a commit over its tries: the base and what was last handed to the catalog."""

    __slots__ = (
        "actions", "base", "catalog", "creation", "handover", "identifier", "io", "updates",
    )  # fmt: skip

    def __init__(
        self,
        catalog: Catalog,
        identifier: str,
        actions: tuple[Action, ...],
        creation: NewTable | None,
        base: LoadedTable | None,
        handover: Handover,
    ) -> None:
        self.catalog = catalog
        self.identifier = identifier
        self.actions = actions
        self.creation = creation.updates if creation else ()
        self.base = base
        self.handover = handover
        self.updates: tuple[TableUpdate, ...] = ()
        self.io = _storage(catalog, identifier, creation, base)

    def run(self, sleep: Callable[[float], None]) -> LoadedTable:
        if self.base is None:
            return self._once()
        policy = RetryPolicy.of(self.base.metadata.properties)
        return policy.retrying(sleep)(self._again)

    def _again(self) -> LoadedTable:
        try:
            return self._once()
        except CommitFailedException:
            self.base = self._reloaded(self.base)
            if self._has_ours(self.base):
                return self._landed(self.base)
            raise

    def _reloaded(self, before: LoadedTable | None) -> LoadedTable:
        """Load the newest version. Raises ValidationException where it is of another table."""
        found = self.catalog.load(self.identifier)
        if before is not None and found.metadata.table_uuid != before.metadata.table_uuid:
            raise ValidationException(
                f"{self.identifier} is another table by now, it was dropped and created again "
                "(its uuid differs): load it to change it"
            )
        return found

    def _once(self) -> LoadedTable:
        base = self.base.metadata if self.base else None
        self._prepare(base)
        if self.base is not None and not self.updates:
            return self.base
        requirements = requirements_for(base, self.updates)
        self.handover.may_have_landed = True
        try:
            committed = self.catalog.commit(self.identifier, requirements, self.updates, self.base)
        except CommitStateUnknownException:
            found = self._look()
            if found is None:
                raise
            committed = found
        except IcebergError:  # a refusal: nothing landed, nor will it
            self.handover.may_have_landed = False
            raise
        return self._landed(committed)

    def _landed(self, table: LoadedTable) -> LoadedTable:
        self.handover.may_have_landed = self.handover.landed = True
        return table

    def _prepare(self, base: TableMetadata | None) -> None:
        """Fold the actions over the base."""
        now_ms = max(int(time.time() * 1000), base.last_updated_ms if base else 0)
        updates = self.creation if base is None else ()
        metadata = apply(base, updates, now_ms=now_ms) if base is None else base
        start = metadata
        if base is not None:
            for action in self.actions:
                action.validate(base, self.io)
        for action in self.actions:
            prepared = action.prepare(metadata, self.io).updates
            metadata = apply(metadata, prepared, now_ms=now_ms)
            updates = (*updates, *prepared)
        self.updates = () if metadata is start and base is not None else updates

    def _look(self) -> LoadedTable | None:
        """Return the table if it is known to have this commit, None if that can't be told."""
        try:
            table = self.catalog.load(self.identifier)
        except IcebergError:
            return None
        return table if self._has_ours(table) else None

    def _has_ours(self, table: LoadedTable) -> bool:
        """Return whether a table has this commit's snapshots, or was created by it."""
        made = [update.uuid for update in self.updates if isinstance(update, AssignUuid)]
        ids = [one.snapshot.snapshot_id for one in self.updates if isinstance(one, AddSnapshot)]
        if not made and not ids:
            return False
        there = table.metadata.snapshots
        return all(one == table.metadata.table_uuid for one in made) and all(
            one in there for one in ids
        )


def _storage(
    catalog: Catalog, identifier: str, creation: NewTable | None, base: LoadedTable | None
) -> FileIO:
    if base is not None:
        return base.io
    return creation.io if creation is not None else catalog.io(identifier)


def stage(base: TableMetadata, io: FileIO, actions: Iterable[Action]) -> TableMetadata:
    """Return what the actions would make of a base, for planning the next one; lands nothing.

    Manifests that they write are reused when the actions are committed; `clean_up` removes them
    when they are not.
    """
    metadata = base
    for action in actions:
        now_ms = max(int(time.time() * 1000), metadata.last_updated_ms)
        metadata = apply(metadata, action.prepare(metadata, io).updates, now_ms=now_ms)
    return metadata


def clean_up(actions: Iterable[Action], io: FileIO, committed: TableMetadata | None) -> None:
    """Let each action remove its unused files; what can't be removed is left to orphan removal.

    Whatever breaks here, it says nothing of the commit, which has landed or was refused before.
    """
    for action in actions:
        with suppress(Exception):
            action.clean_up(io, committed)


class removed_unless_committed:  # noqa: N801 (read as a sentence: `with removed_unless_...`)
    """Remove new data or delete files if the `with` block fails, unless the commit may have landed.

    Gives the `Handover` to pass to `commit`: from then on files go only after a refusal, whatever
    is raised, and an interrupt is raised as CommitStateUnknownException.
    """

    __slots__ = ("_handover", "_io", "_paths")

    def __init__(self, io: FileIO, paths: Iterable[str]) -> None:
        self._io = io
        self._paths = tuple(paths)
        self._handover = Handover()

    def __enter__(self) -> Handover:
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
        with suppress(Exception):  # left to orphan removal: the first error says more
            self._io.delete_many(self._paths)
