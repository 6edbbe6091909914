"""The only commit loop: prepare on the newest metadata, swap, and try again when another won.

The kind of failure decides what follows. Nothing landed and it may be retried: reload, prepare
again. Nothing landed for good: remove what the actions wrote. It may have landed: look whether it
did, and if that can't be told remove nothing (Java: CommitStateUnknownException).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from tenacity import (
    RetryCallState,
    Retrying,
    retry_if_exception_type,
    stop_after_attempt,
    stop_after_delay,
    wait_exponential,
    wait_random_exponential,
)

from iceberg_spark.catalog.catalog import Catalog, LoadedTable
from iceberg_spark.errors import (
    CommitFailedException,
    CommitStateUnknownException,
    IcebergError,
    NoSuchTableError,
    StorageError,
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
from iceberg_spark.spec.updates import AddSnapshot, TableUpdate
from iceberg_spark.transaction.action import Action


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


def commit(
    catalog: Catalog,
    identifier: str,
    actions: Action | Sequence[Action],
    base: LoadedTable | None,
    *,
    creation: Sequence[TableUpdate] = (),
    sleep: Callable[[float], None] = time.sleep,
) -> LoadedTable:
    """Make the changes of all actions in one commit and return the table after it.

    Each action is prepared on the metadata that those before it give. `base` is what the caller
    planned on; None creates the table by the updates `creation`, together with the actions.
    Without any change the base is returned and nothing is committed.

    Raises CommitFailedException when other commits won each time, ValidationException when a
    change conflicts with what was committed since, TableAlreadyExistsError; what the actions
    wrote is removed then. Raises CommitStateUnknownException when it may have landed.
    """
    steps = tuple(actions) if isinstance(actions, Sequence) else (actions,)
    attempt = _Attempt(catalog, identifier, steps, tuple(creation), base)
    try:
        committed = attempt.run(sleep)
    except CommitStateUnknownException:
        raise
    except IcebergError:
        clean_up(steps, attempt.io, None)
        raise
    clean_up(steps, attempt.io, committed.metadata)
    return committed


class _Attempt:
    """The state of a commit over its tries: the base and what was last handed to the catalog."""

    __slots__ = ("actions", "base", "catalog", "creation", "identifier", "io", "updates")

    def __init__(
        self,
        catalog: Catalog,
        identifier: str,
        actions: tuple[Action, ...],
        creation: tuple[TableUpdate, ...],
        base: LoadedTable | None,
    ) -> None:
        self.catalog = catalog
        self.identifier = identifier
        self.actions = actions
        self.creation = creation
        self.base = base
        self.updates: tuple[TableUpdate, ...] = ()
        self.io = catalog.io(identifier)

    def run(self, sleep: Callable[[float], None]) -> LoadedTable:
        if self.base is None:
            return self._once()
        policy = RetryPolicy.of(self.base.metadata.properties)
        return policy.retrying(sleep)(self._again)

    def _again(self) -> LoadedTable:
        try:
            return self._once()
        except CommitFailedException:
            self.base = self.catalog.load(self.identifier)
            raise

    def _once(self) -> LoadedTable:
        base = self.base.metadata if self.base else None
        self._prepare(base)
        if self.base is not None and not self.updates:
            return self.base
        requirements = requirements_for(base, self.updates)
        try:
            return self.catalog.commit(self.identifier, requirements, self.updates, self.base)
        except CommitStateUnknownException:
            landed = self._look_for_snapshots()
            if landed is None:
                raise
            return landed

    def _prepare(self, base: TableMetadata | None) -> None:
        """Fold the actions over the base; what they wrote is removed if one of them breaks."""
        now_ms = max(int(time.time() * 1000), base.last_updated_ms if base else 0)
        updates = self.creation if base is None else ()
        try:
            metadata = apply(base, updates, now_ms=now_ms) if base is None else base
            start = metadata
            if base is not None:
                for action in self.actions:
                    action.validate(base, self.io)
            for action in self.actions:
                prepared = action.prepare(metadata, self.io).updates
                metadata = apply(metadata, prepared, now_ms=now_ms)
                updates = (*updates, *prepared)
        except BaseException:
            clean_up(self.actions, self.io, None)
            raise
        self.updates = () if metadata is start and base is not None else updates

    def _look_for_snapshots(self) -> LoadedTable | None:
        """Return the table if it has this commit's snapshots, None if that can't be told."""
        ours = [update.snapshot for update in self.updates if isinstance(update, AddSnapshot)]
        if not ours:
            return None
        try:
            table = self.catalog.load(self.identifier)
        except (StorageError, NoSuchTableError):
            return None
        there = table.metadata.snapshots
        return table if all(snapshot.snapshot_id in there for snapshot in ours) else None


def staged(base: TableMetadata, io: FileIO, actions: Iterable[Action]) -> TableMetadata:
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
    """Let each action remove its unused files; what can't be removed is left to orphan removal."""
    for action in actions:
        try:
            action.clean_up(io, committed)
        except StorageError:
            continue


@contextmanager
def removed_unless_committed(io: FileIO, paths: Iterable[str]) -> Iterator[None]:
    """Remove new data or delete files if the block fails, unless the commit may have landed."""
    try:
        yield
    except CommitStateUnknownException:
        raise
    except BaseException:
        with suppress(StorageError):  # left to orphan removal: the first error says more
            io.delete_many(paths)
        raise
