"""Commit each batch of an application once: each attempt looks for it, the commit records it.

The design: docs/decisions/batches-once.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, takewhile

from iceberg_spark.catalog.metadata_file import read_metadata
from iceberg_spark.commits.action import Action, ActionCommit
from iceberg_spark.errors import (
    AlreadyCommittedException,
    CorruptFileError,
    InvalidInputError,
    NotFoundError,
    StoragePermissionError,
    UnsupportedError,
)
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.spec.ancestry import ancestors
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.snapshot import Snapshot
from iceberg_spark.spec.txn import Record, Token, records_in, versions_in
from iceberg_spark.spec.updates import RemoveProperties, SetProperties, TableUpdate


def committed_version(base: TableMetadata, io: FileIO, token: Token) -> int | None:
    """Return the app's version on the token's branch if it is not below the token's version.

    None means that the batch is not committed yet.
    """
    lineage = Lineage(base, token.branch, io)
    version = _first(lineage.reachable, token)
    if version is not None:
        return version
    noted = [  # searches all branches: this branch may have been moved
        record
        for record in records_in(base.properties)
        if record.app_id == token.app_id and record.version >= token.version
    ]
    for record in noted:
        if lineage.has(record.snapshot_id, record.sequence_number) is not False:
            return record.version
    return _first(lineage.expired(), token) if noted else None


def _first(snapshots: Iterable[Snapshot], token: Token) -> int | None:
    for snapshot in snapshots:
        for app_id, version in versions_in(snapshot):
            if app_id == token.app_id and version >= token.version:
                return version
    return None


class RefuseToken:
    """Refuse a committed batch before its actions find a conflict with their own earlier commit."""

    __slots__ = ("token",)

    def __init__(self, token: Token) -> None:
        self.token = token

    def validate(self, base: TableMetadata, io: FileIO) -> None:
        """Raise AlreadyCommittedException if the branch has this batch or a later one."""
        last_version = committed_version(base, io, self.token)
        if last_version is not None:
            raise AlreadyCommittedException(
                f"Batch {self.token.version} of '{self.token.app_id}' is committed to branch "
                f"'{self.token.branch}' of {base.location} already: its last is {last_version}. "
                "Nothing of this commit landed"
            )

    def prepare(self, base: TableMetadata, io: FileIO) -> ActionCommit:  # noqa: ARG002 (a check)
        """Change nothing."""
        return ActionCommit(())

    def clean_up(self, io: FileIO, committed: TableMetadata | None) -> None:
        """Remove nothing: the action writes no files."""


class NoteToken:
    """Record a batch after its actions; `once` refuses a batch that is committed.

    A branch without snapshots has nothing to record it by.
    """

    __slots__ = ("token",)

    def __init__(self, token: Token) -> None:
        self.token = token

    def validate(self, base: TableMetadata, io: FileIO) -> None:
        """Check nothing: `RefuseToken` does so before all other actions."""

    def prepare(self, base: TableMetadata, io: FileIO) -> ActionCommit:
        """Return the updates that record the batch and keep other records valid."""
        head = base.branch_head(self.token.branch)
        if head is None:
            return ActionCommit(())
        noted = _record(self.token.app_id, self.token.branch, self.token.version, head)
        before = tuple(records_in(base.properties))
        others = [record for record in before if record.name != noted.name]
        lineage = Lineage(base, self.token.branch, io)
        still_valid = [other for record in others for other in _still_true(base, lineage, record)]
        return ActionCommit(_changes(base.properties, before, (*still_valid, noted)))

    def clean_up(self, io: FileIO, committed: TableMetadata | None) -> None:
        """Remove nothing: the action writes no files."""


def once(actions: Sequence[Action]) -> tuple[Action, ...]:
    """Return the actions, preceded by checks that their batches are not committed yet."""
    tokens = dict.fromkeys(action.token for action in actions if isinstance(action, NoteToken))
    return (*map(RefuseToken, tokens), *actions)


def notes_after_expiry(
    base: TableMetadata, io: FileIO, going: Iterable[int], branches: Iterable[str]
) -> tuple[TableUpdate, ...]:
    """Return the updates that keep batches recorded when their snapshots expire.

    `branches` are those that remain. Each gets records of the batches that it no longer reaches, at
    the oldest snapshot that it still reaches. Records of expiring snapshots on no branch are
    removed.
    """
    gone = frozenset(going)
    before = tuple(records_in(base.properties))
    notes = {record.name: record for record in before if record.snapshot_id not in gone}
    for branch in branches:
        lineage = Lineage(base, branch, io)
        stay = list(takewhile(lambda snapshot: snapshot.snapshot_id not in gone, lineage.reachable))
        if stay:
            last, ids = (
                _last_versions(stay, notes.values()),
                {snapshot.snapshot_id for snapshot in stay},
            )
            for record in _lost(lineage, lineage.reachable[len(stay) :], before, gone):
                if record.snapshot_id in ids:
                    notes.setdefault(record.name, record)
                elif record.version > last.get(record.app_id, -1):
                    last[record.app_id] = record.version
                    notes[record.name] = _moved_to(record, stay[-1])
    return _changes(base.properties, before, notes.values())


def _lost(
    lineage: Lineage, lost: Sequence[Snapshot], before: Sequence[Record], gone: frozenset[int]
) -> Iterator[Record]:
    """Yield the batches, by summary or record, of snapshots that a branch no longer reaches."""
    ids = {snapshot.snapshot_id for snapshot in lost}
    for snapshot in lost:
        for app_id, version in versions_in(snapshot):
            yield _record(app_id, lineage.branch, version, snapshot)
    for record in before:
        if record.snapshot_id in ids:
            yield replace(record, branch=lineage.branch)
        elif record.branch == lineage.branch and record.snapshot_id in gone:
            yield from _before(lineage, record)


def _before(lineage: Lineage, rolled_back: Record) -> Iterator[Record]:
    """Yield the app's last batch in a lineage if its record is outside of the lineage."""
    for snapshot in chain(lineage.reachable, lineage.expired()):
        for app_id, version in versions_in(snapshot):
            if app_id == rolled_back.app_id:
                yield _record(app_id, lineage.branch, version, snapshot)
                return


def _last_versions(snapshots: Sequence[Snapshot], notes: Iterable[Record]) -> dict[str, int]:
    """Return the last version of each app in the summaries and records of snapshots."""
    ids = {snapshot.snapshot_id for snapshot in snapshots}
    last: dict[str, int] = {}
    pairs = [pair for snapshot in snapshots for pair in versions_in(snapshot)]
    pairs += [(note.app_id, note.version) for note in notes if note.snapshot_id in ids]
    for app_id, version in pairs:
        last[app_id] = max(version, last.get(app_id, version))
    return last


def _still_true(base: TableMetadata, lineage: Lineage, record: Record) -> Iterator[Record]:
    """Yield a record of an expired snapshot, moved to a snapshot that exists.

    Does not touch the records of branches that this commit does not move: another commit may change
    them at the same time.
    """
    if record.branch == lineage.branch and record.snapshot_id not in base.snapshots:
        is_known = lineage.has(record.snapshot_id, record.sequence_number) is not False
        for note in (record,) if is_known else _before(lineage, record):
            yield (
                note
                if note.snapshot_id in base.snapshots
                else _moved_to(note, lineage.reachable[-1])
            )
    else:
        yield record


def _record(app_id: str, branch: str, version: int, snapshot: Snapshot) -> Record:
    number, sequence_number = snapshot.snapshot_id, snapshot.sequence_number
    return Record(app_id, branch, version, number, sequence_number, snapshot.timestamp_ms)


def _moved_to(record: Record, snapshot: Snapshot) -> Record:
    return replace(
        record,
        snapshot_id=snapshot.snapshot_id,
        sequence_number=snapshot.sequence_number,
    )


def _changes(
    properties: Mapping[str, str], before: Iterable[Record], after: Iterable[Record]
) -> tuple[TableUpdate, ...]:
    """Return the updates of the properties; above the limit, the oldest records are removed."""
    newest = sorted(after, key=lambda record: record.timestamp_ms)[-TOKENS.records :]
    texts = {record.name: record.text for record in newest}
    gone = tuple(record.name for record in before if record.name not in texts)
    changed = {name: text for name, text in texts.items() if properties.get(name) != text}
    updates: list[TableUpdate] = [SetProperties(changed)] if changed else []
    return (*updates, RemoveProperties(gone)) if gone else tuple(updates)


_OUT_OF_REACH = (
    NotFoundError, CorruptFileError, UnsupportedError, InvalidInputError, StoragePermissionError,
)  # fmt: skip
"""Errors that persist. S3 answers "denied" for a missing file if the caller may not list."""


class Lineage:
    """The ancestors of a branch's head, newest first; none for a branch without snapshots.

    Expired ancestors are read from the table's earlier metadata files, only when needed. That
    raises StorageError.
    """

    __slots__ = ("_base", "_io", "branch", "reachable")

    def __init__(self, base: TableMetadata, branch: str, io: FileIO) -> None:
        head = base.branch_head(branch)
        self.reachable = () if head is None else tuple(ancestors(base, head.snapshot_id))
        self.branch = branch
        self._base = base
        self._io = io

    def has(self, snapshot_id: int, sequence_number: int) -> bool | None:
        """Return whether a snapshot is an ancestor; None if that is unknown.

        Sequence numbers grow along a lineage, so the search ends below the one of the snapshot. In
        version 1 all of them are 0 and do not end it.
        """
        oldest = None
        for oldest in chain(self.reachable, self.expired()):
            if snapshot_id in (oldest.snapshot_id, oldest.parent_snapshot_id):
                return True
            if 0 < oldest.sequence_number <= sequence_number:
                return False
        return None if oldest is not None and oldest.parent_snapshot_id is not None else False

    def expired(self) -> Iterator[Snapshot]:
        """Yield the expired ancestors that the earlier metadata files contain.

        Raises StorageError if a store fails: the next attempt may succeed, so the answer is not
        "unknown".
        """
        missing = self.reachable[-1].parent_snapshot_id if self.reachable else None
        log = self._base.metadata_log[-TOKENS.former_versions :]
        for entry in reversed(log):
            if missing is None:
                return
            try:
                former = read_metadata(self._io, entry.metadata_file)
            except _OUT_OF_REACH:  # older metadata files cannot be read either
                return
            if missing in former.snapshots:
                for snapshot in ancestors(former, missing):
                    yield snapshot
                    missing = snapshot.parent_snapshot_id


@dataclass(frozen=True, slots=True)
class TokenLimits:
    """How many batches of applications are recorded, and how far back they are searched."""

    records: int = 100
    """Properties `txn.*` of a table, about 150 bytes each; the oldest are removed."""
    former_versions: int = 100
    """Earlier metadata files to read, at most, to find an expired ancestor.

    Tables keep as many by default (`write.metadata.previous-versions-max`).
    """


TOKENS = TokenLimits()
