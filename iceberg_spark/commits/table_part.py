"""The part of a commit that changes one table: its actions, applied to the newest metadata."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

from iceberg_spark.catalog.catalog import Catalog, LoadedTable, TableChange
from iceberg_spark.commits.action import Action
from iceberg_spark.errors import AlreadyCommittedException, ValidationException
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.spec.apply_updates import apply
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.requirements import TableRequirement, requirements_for
from iceberg_spark.spec.snapshot import MAIN_BRANCH, Snapshot, SnapshotRef
from iceberg_spark.spec.updates import AddSnapshot, AssignUuid, TableUpdate


def check_same_table(table: LoadedTable, uuid: str) -> None:
    """Raise ValidationException if a table is not the one that the change was planned on."""
    if table.metadata.table_uuid != uuid:
        raise ValidationException(
            f"{table.identifier} is another table by now, it was dropped and created again "
            "(its uuid differs): load it to change it"
        )


def load_newest(catalog: Catalog, table: LoadedTable) -> LoadedTable:
    """Load the newest version of a table.

    Raises:
        ValidationException: the name belongs to another table now. The table that was loaded before
            may be renamed and in use.
    """
    newest = catalog.load(table.identifier)
    check_same_table(newest, table.metadata.table_uuid)
    return newest


@dataclass(slots=True)
class TablePart:
    """One table of a commit: the base of the newest attempt, and the updates made for it.

    `base` is None for a table that the updates `creation` and the actions create. All actions of a
    part that `skips` belong to one batch of an application. If another writer commits the batch
    first, there is nothing to do, and the part `was_skipped`.
    """

    identifier: str
    actions: tuple[Action, ...]
    base: LoadedTable | None
    io: FileIO
    creation: tuple[TableUpdate, ...] = ()
    updates: tuple[TableUpdate, ...] = ()
    requirements: tuple[TableRequirement, ...] = ()
    skips: bool = False
    was_skipped: bool = False

    def prepare(self) -> None:
        """Apply the actions to the base; returns no updates if nothing changes."""
        self.was_skipped = False
        try:
            self._fold()
        except AlreadyCommittedException:
            if not self.skips:
                raise
            self.updates, self.was_skipped = (), True

    def _fold(self) -> None:
        base = self.base.metadata if self.base else None
        updates = self.creation if base is None else ()
        metadata = apply(base, updates, now_ms=update_time(base)) if base is None else base
        start = metadata
        requirements: list[TableRequirement] = []
        for action in self.actions:
            if base is not None:
                action.validate(with_staged_refs(base, metadata), self.io)
            prepared = action.prepare(metadata, self.io)
            metadata = apply(metadata, prepared.updates, now_ms=update_time(metadata))
            updates = (*updates, *prepared.updates)
            requirements += prepared.requirements
        self.requirements = tuple(requirements)
        self.updates = () if metadata is start and base is not None else updates

    def change(self) -> TableChange:
        """Return the change to send to the catalog."""
        base = self.base.metadata if self.base else None
        derived = requirements_for(base, self.updates)
        requirements = dict.fromkeys((*derived, *self.requirements))
        return TableChange(self.identifier, tuple(requirements), self.updates, self.base)

    def is_in(self, table: LoadedTable) -> bool | None:
        """Return whether a table has this part's snapshots, or was created by it.

        None if the change leaves no such trace.
        """
        uuids = [update.uuid for update in self.updates if isinstance(update, AssignUuid)]
        ids = [
            update.snapshot.snapshot_id
            for update in self.updates
            if isinstance(update, AddSnapshot)
        ]
        if not uuids and not ids:
            return None
        there = table.metadata.snapshots
        return all(uuid == table.metadata.table_uuid for uuid in uuids) and all(
            snapshot_id in there for snapshot_id in ids
        )


def update_time(metadata: TableMetadata | None) -> int:
    """Return the time of an update in ms since the epoch: now, but not before the last update.

    Call it when the update is ready: to prepare a snapshot of many files can take minutes, and the
    time of a table's last update must not be that much before its last snapshot.
    """
    return max(int(time.time() * 1000), metadata.last_updated_ms if metadata else 0)


# The committed snapshot at which each branch of an unfinished commit begins.
#
# A transaction may create a branch, or move one, and then change its rows. The change is planned
# on the committed snapshot where the branch begins. It conflicts with commits between that
# snapshot and the one where the branch begins when the transaction is committed.


def committed_head(
    staged: TableMetadata, base: TableMetadata, branch: str | None
) -> Snapshot | None:
    """Return the newest snapshot of a staged branch that its base has, None if there is none."""
    return _committed(staged, base, staged.branch_head(branch))


def with_staged_refs(base: TableMetadata, staged: TableMetadata) -> TableMetadata:
    """Return the base with its branches at the snapshots where those of a commit over it begin."""
    if staged.refs is base.refs:
        return base
    refs: dict[str, SnapshotRef] = {}
    for name, ref in staged.refs.items():
        head = _committed(staged, base, staged.snapshot(ref.snapshot_id))
        if head is not None:
            refs[name] = replace(ref, snapshot_id=head.snapshot_id)
    heads = {name: ref.snapshot_id for name, ref in refs.items()}
    if heads == {name: ref.snapshot_id for name, ref in base.refs.items()}:
        return base
    return replace(base, refs=refs, current_snapshot_id=heads.get(MAIN_BRANCH))


def _committed(
    staged: TableMetadata, base: TableMetadata, head: Snapshot | None
) -> Snapshot | None:
    while head is not None and head.snapshot_id not in base.snapshots:
        parent = head.parent_snapshot_id
        head = None if parent is None else staged.snapshots.get(parent)
    return head
