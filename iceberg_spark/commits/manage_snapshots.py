"""Change and create branches and tags, and change which snapshot is current.

Source: Java's UpdateSnapshotReferencesOperation and SetSnapshotOperation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import TypeAlias, assert_never

from iceberg_spark.catalog.catalog import Catalog
from iceberg_spark.commits.action import ActionCommit
from iceberg_spark.commits.snapshot_producer import SnapshotProducer
from iceberg_spark.errors import (
    CommitStateUnknownException,
    IcebergError,
    InvalidInputError,
    NoSuchSnapshotError,
    ValidationException,
)
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.spec.ancestry import ancestors, is_ancestor_of
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.requirements import AssertRefSnapshotId, AssertTableUuid
from iceberg_spark.spec.snapshot import MAIN_BRANCH, Operation, SnapshotRef, SnapshotRefType
from iceberg_spark.spec.snapshot_json import ref_problem
from iceberg_spark.spec.updates import RemoveSnapshotRef, SetSnapshotRef, TableUpdate

Refs: TypeAlias = Mapping[str, SnapshotRef]


@dataclass(frozen=True, slots=True)
class Retention:
    """How long a reference and its snapshots are kept (ms, snapshots); None sets nothing."""

    max_ref_age_ms: int | None = None
    max_snapshot_age_ms: int | None = None
    min_snapshots_to_keep: int | None = None

    def over(self, ref: SnapshotRef) -> SnapshotRef:
        """Return the reference with the values that are set here in place of its own."""
        changed = {
            name: value
            for name in ("max_ref_age_ms", "max_snapshot_age_ms", "min_snapshots_to_keep")
            if (value := getattr(self, name)) is not None
        }
        return replace(ref, **changed)


@dataclass(frozen=True, slots=True)
class CreateRef:
    """Create a branch or tag; `snapshot_id` None is the current snapshot."""

    kind: SnapshotRefType
    name: str
    snapshot_id: int | None
    retention: Retention = Retention()


@dataclass(frozen=True, slots=True)
class ReplaceRef:
    """Move a branch or tag to another snapshot; keeps what `retention` does not set."""

    kind: SnapshotRefType
    name: str
    snapshot_id: int
    retention: Retention = Retention()


@dataclass(frozen=True, slots=True)
class RemoveRef:
    """Remove a branch or tag; its snapshots stay until they expire."""

    kind: SnapshotRefType
    name: str


@dataclass(frozen=True, slots=True)
class RenameBranch:
    """Rename a branch."""

    name: str
    new_name: str


@dataclass(frozen=True, slots=True)
class FastForward:
    """Move a branch to the head of another branch, or to a tag; creates a missing branch."""

    branch: str
    to: str


@dataclass(frozen=True, slots=True)
class SetRetention:
    """Set the retention of a branch or tag."""

    name: str
    retention: Retention


@dataclass(frozen=True, slots=True)
class RollbackToSnapshot:
    """Move main back to an ancestor of the current snapshot."""

    snapshot_id: int


@dataclass(frozen=True, slots=True)
class RollbackToTimestamp:
    """Move main back to its newest snapshot before a time (ms since the epoch)."""

    timestamp_ms: int


@dataclass(frozen=True, slots=True)
class SetCurrentSnapshot:
    """Move main to any snapshot of the table, by id or by the name of a branch or tag."""

    target: int | str


MainChange: TypeAlias = RollbackToSnapshot | RollbackToTimestamp | SetCurrentSnapshot
RefChange: TypeAlias = (
    CreateRef | ReplaceRef | RemoveRef | RenameBranch | FastForward | SetRetention | MainChange
)


class ManageSnapshots:
    """Change references on the newest metadata, step by step.

    A retry checks each step again, and so finds a branch that another commit created or moved.
    """

    def __init__(self, changes: Iterable[RefChange]) -> None:
        self._changes = tuple(changes)

    def validate(self, base: TableMetadata, io: FileIO) -> None:
        """Check nothing: `prepare` checks the references as earlier actions left them."""

    def prepare(self, base: TableMetadata, io: FileIO) -> ActionCommit:  # noqa: ARG002 (writes none)
        """Return the updates of the references.

        Raises:
            InvalidInputError: a name is taken, missing or of the other kind.
            NoSuchSnapshotError: a snapshot does not exist.
            ValidationException: the target of a rollback is not an ancestor, or the target of a
                fast-forward not a descendant.
        """
        refs: Refs = base.refs
        for change in self._changes:
            refs = _changed(base, refs, change)
        gone = [RemoveSnapshotRef(name) for name in base.refs if name not in refs]
        moved = [
            SetSnapshotRef(name, ref) for name, ref in refs.items() if base.refs.get(name) != ref
        ]
        updates: tuple[TableUpdate, ...] = (*gone, *moved)
        return ActionCommit(updates)

    def clean_up(self, io: FileIO, committed: TableMetadata | None) -> None:
        """Remove nothing: the action writes no files."""


def _changed(base: TableMetadata, refs: Refs, change: RefChange) -> Refs:
    match change:
        case CreateRef(kind, name, snapshot_id, retention):
            return _created(base, refs, kind, name, snapshot_id, retention)
        case ReplaceRef(kind, name, snapshot_id, retention):
            base.snapshot(snapshot_id)
            ref = replace(_existing(base, refs, name, kind), snapshot_id=snapshot_id)
            return {**refs, name: _checked(name, retention.over(ref))}
        case RemoveRef(kind, name):
            _not_main(name, "removed")
            _existing(base, refs, name, kind)
            return {other: ref for other, ref in refs.items() if other != name}
        case RenameBranch(name, new_name):
            return _renamed(base, refs, name, new_name)
        case FastForward(branch, to):
            return _forwarded(base, refs, branch, to)
        case SetRetention(name, retention):
            return {**refs, name: _checked(name, retention.over(_existing(base, refs, name)))}
        case _:
            return _main_at(refs, _new_main(base, refs, change))


def _new_main(base: TableMetadata, refs: Refs, change: MainChange) -> int:
    match change:
        case RollbackToSnapshot(snapshot_id):
            return _ancestor_of_main(base, refs, snapshot_id)
        case RollbackToTimestamp(timestamp_ms):
            return _before(base, refs, timestamp_ms)
        case SetCurrentSnapshot(target):
            if isinstance(target, str):
                return _existing(base, refs, target).snapshot_id
            return base.snapshot(target).snapshot_id
        case _:
            assert_never(change)


def _created(
    base: TableMetadata,
    refs: Refs,
    kind: SnapshotRefType,
    name: str,
    snapshot_id: int | None,
    retention: Retention,
) -> Refs:
    check_free(base, refs, name)
    if snapshot_id is None:
        current = refs.get(MAIN_BRANCH)
        if current is None:
            raise NoSuchSnapshotError(
                f"{base.location} has no snapshot yet that {kind} '{name}' could point to; "
                "write to the table first"
            )
        snapshot_id = current.snapshot_id
    if name == MAIN_BRANCH and kind is SnapshotRefType.TAG:
        raise InvalidInputError(f"'{MAIN_BRANCH}' is the name of the main branch: not of a tag")
    ref = SnapshotRef(base.snapshot(snapshot_id).snapshot_id, kind)
    return {**refs, name: _checked(name, retention.over(ref))}


def _renamed(base: TableMetadata, refs: Refs, name: str, new_name: str) -> Refs:
    _not_main(name, "renamed")
    _existing(base, refs, name, SnapshotRefType.BRANCH)
    check_free(base, refs, new_name)
    return {new_name if other == name else other: ref for other, ref in refs.items()}


def _forwarded(base: TableMetadata, refs: Refs, branch: str, to: str) -> Refs:
    target = _existing(base, refs, to)
    if branch not in refs:
        return {**refs, branch: SnapshotRef(target.snapshot_id, SnapshotRefType.BRANCH)}
    ref = _existing(base, refs, branch, SnapshotRefType.BRANCH)
    if not is_ancestor_of(base, target.snapshot_id, ref.snapshot_id):
        raise ValidationException(
            f"Can't fast-forward '{branch}' to '{to}': snapshot {ref.snapshot_id} of '{branch}' is "
            f"not an ancestor of snapshot {target.snapshot_id}; pick its changes with cherrypick, "
            "or replace the branch"
        )
    return {**refs, branch: replace(ref, snapshot_id=target.snapshot_id)}


def _ancestor_of_main(base: TableMetadata, refs: Refs, snapshot_id: int) -> int:
    base.snapshot(snapshot_id)
    main = refs.get(MAIN_BRANCH)
    if main is None or not is_ancestor_of(base, main.snapshot_id, snapshot_id):
        raise ValidationException(
            f"Can't roll back to snapshot {snapshot_id}: it is not an ancestor of the current "
            f"snapshot of {base.location}; set_current_snapshot goes to any snapshot"
        )
    return snapshot_id


def _before(base: TableMetadata, refs: Refs, timestamp_ms: int) -> int:
    """Return the newest ancestor of main before a time; the last one of several at the same ms."""
    main = refs.get(MAIN_BRANCH)
    line = () if main is None else ancestors(base, main.snapshot_id)
    older = [snapshot for snapshot in line if snapshot.timestamp_ms < timestamp_ms]
    if not older:
        raise NoSuchSnapshotError(
            f"Can't roll back {base.location} to {timestamp_ms} ms: main has no snapshot before it"
        )
    return max(older, key=lambda snapshot: snapshot.timestamp_ms).snapshot_id


def _main_at(refs: Refs, snapshot_id: int) -> Refs:
    main = refs.get(MAIN_BRANCH) or SnapshotRef(snapshot_id, SnapshotRefType.BRANCH)
    return {**refs, MAIN_BRANCH: replace(main, snapshot_id=snapshot_id)}


def _existing(
    base: TableMetadata, refs: Refs, name: str, kind: SnapshotRefType | None = None
) -> SnapshotRef:
    ref = refs.get(name)
    what = "branch or tag" if kind is None else str(kind)
    if ref is None:
        raise NoSuchSnapshotError(
            f"No {what} '{name}' in {base.location}; it has: {', '.join(refs) or 'none'}"
        )
    if kind is not None and ref.snapshot_ref_type is not kind:
        raise InvalidInputError(f"'{name}' of {base.location} is a {ref.snapshot_ref_type}, "
                                f"no {kind}")  # fmt: skip
    return ref


def check_free(base: TableMetadata, refs: Refs, name: str) -> None:
    """Raise InvalidInputError if the table has a reference of this name."""
    if name in refs:
        raise InvalidInputError(
            f"{base.location} has a {refs[name].snapshot_ref_type} '{name}' already; choose "
            "another name or replace it"
        )


def _not_main(name: str, done: str) -> None:
    if name == MAIN_BRANCH:
        raise InvalidInputError(f"The branch '{MAIN_BRANCH}' can't be {done}")


def _checked(name: str, ref: SnapshotRef) -> SnapshotRef:
    problem = ref_problem(ref)
    if problem is not None:
        raise InvalidInputError(f"Reference '{name}': {problem}")
    return ref


class NewBranch:
    """Create a branch. If the table has no current snapshot, the branch gets an empty snapshot."""

    def __init__(self, created: CreateRef) -> None:
        self._created = created
        self._empty = SnapshotProducer(created.name, creates_branch=True)

    def validate(self, base: TableMetadata, io: FileIO) -> None:
        """Check nothing: `prepare` checks the references as earlier actions left them."""

    def prepare(self, base: TableMetadata, io: FileIO) -> ActionCommit:
        """Return the updates. Raises InvalidInputError if the name is taken."""
        if MAIN_BRANCH in base.refs:
            return ManageSnapshots((self._created,)).prepare(base, io)
        check_free(base, base.refs, self._created.name)
        updates = self._empty.produce(base, io, Operation.APPEND, (), added=()).updates
        return ActionCommit(tuple(self._with_retention(update) for update in updates))

    def _with_retention(self, update: TableUpdate) -> TableUpdate:
        if not isinstance(update, SetSnapshotRef):
            return update
        return replace(update, ref=self._created.retention.over(update.ref))

    def clean_up(self, io: FileIO, committed: TableMetadata | None) -> None:
        """Remove the manifest list of a snapshot that was not committed."""
        self._empty.clean_up(io, committed)


@contextmanager
def branch_removed_if_refused(
    catalog: Catalog, identifier: str, branch: str, head: int
) -> Iterator[None]:
    """Remove the branch created for the `with` block if the block fails and nothing is committed.

    `head` is the snapshot that the branch was created at. A branch that has moved since stays. So
    does a branch whose removal fails.
    """
    try:
        yield
    except CommitStateUnknownException:
        raise
    except Exception:
        with suppress(IcebergError):
            _remove(catalog, identifier, branch, head)
        raise


def _remove(catalog: Catalog, identifier: str, branch: str, head: int) -> None:
    """Try once: a retry could remove another writer's commit on the branch."""
    base = catalog.load(identifier)
    ref = base.metadata.refs.get(branch)
    if ref is not None and ref.snapshot_id == head:
        same = AssertTableUuid(base.metadata.table_uuid), AssertRefSnapshotId(branch, head)
        catalog.commit(identifier, same, [RemoveSnapshotRef(branch)], base)
