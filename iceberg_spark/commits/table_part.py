"""What a commit does to one table: its actions, folded over the newest metadata at each try."""

from __future__ import annotations

import time
from dataclasses import dataclass

from iceberg_spark.catalog.catalog import Catalog, LoadedTable, TableChange
from iceberg_spark.commits.action import Action
from iceberg_spark.commits.committed_refs import with_staged_refs
from iceberg_spark.errors import AlreadyCommittedException, ValidationException
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.spec.apply_updates import apply
from iceberg_spark.spec.derive_requirements import requirements_for
from iceberg_spark.spec.requirements import TableRequirement
from iceberg_spark.spec.updates import AddSnapshot, AssignUuid, TableUpdate


def check_same_table(table: LoadedTable, uuid: str) -> None:
    """Raise ValidationException where a table is not the one that was planned on."""
    if table.metadata.table_uuid != uuid:
        raise ValidationException(
            f"{table.identifier} is another table by now, it was dropped and created again "
            "(its uuid differs): load it to change it"
        )


def load_newest(catalog: Catalog, table: LoadedTable) -> LoadedTable:
    """Load the newest version of a table.

    Raises ValidationException if its name belongs to another table by now: the version that was
    loaded before may be renamed and in use.
    """
    newest = catalog.load(table.identifier)
    check_same_table(newest, table.metadata.table_uuid)
    return newest


@dataclass(slots=True)
class TablePart:
    """One table of a commit: the base of the newest try, and the updates made for it.

    `base` is None for a table that the updates `creation` make, together with the actions. All
    actions of a part that `skips` are one batch of an application: where others commit it first
    nothing is left to do, and it `was_skipped`.
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
        """Fold the actions over the base; without any change there are no updates."""
        self.was_skipped = False
        try:
            self._fold()
        except AlreadyCommittedException:
            if not self.skips:
                raise
            self.updates, self.was_skipped = (), True

    def _fold(self) -> None:
        base = self.base.metadata if self.base else None
        now_ms = max(int(time.time() * 1000), base.last_updated_ms if base else 0)
        updates = self.creation if base is None else ()
        metadata = apply(base, updates, now_ms=now_ms) if base is None else base
        start = metadata
        requirements: list[TableRequirement] = []
        for action in self.actions:
            if base is not None:
                action.validate(with_staged_refs(base, metadata), self.io)
            prepared = action.prepare(metadata, self.io)
            metadata = apply(metadata, prepared.updates, now_ms=now_ms)
            updates = (*updates, *prepared.updates)
            requirements += prepared.requirements
        self.requirements = tuple(requirements)
        self.updates = () if metadata is start and base is not None else updates

    def change(self) -> TableChange:
        """Return what is asked of the catalog."""
        base = self.base.metadata if self.base else None
        derived = requirements_for(base, self.updates)
        requirements = dict.fromkeys((*derived, *self.requirements))
        return TableChange(self.identifier, tuple(requirements), self.updates, self.base)

    def is_in(self, table: LoadedTable) -> bool | None:
        """Return whether a table has this part's snapshots, or was created by it.

        None for changes that leave no such mark.
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
