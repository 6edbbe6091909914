"""Add files to the ledger of changes by key, a separate branch, in the commit of the data."""

from __future__ import annotations

import time
from collections.abc import Sequence

from iceberg_spark.commits.action import ActionCommit
from iceberg_spark.commits.manifest_filter import Paths, Selection
from iceberg_spark.commits.snapshot_change import FileChange, FileChanges
from iceberg_spark.errors import ValidationException
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.spec.apply_updates import apply
from iceberg_spark.spec.data_file import DataFile
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.partition import PartitionSpec
from iceberg_spark.spec.snapshot import (
    MAIN_BRANCH,
    Operation,
    SnapshotRef,
    SnapshotRefType,
)
from iceberg_spark.spec.updates import (
    AddPartitionSpec,
    RemoveSnapshotRef,
    SetSnapshotRef,
    TableUpdate,
)

OF_SNAPSHOT = "cdc.of-snapshot"
"""Summary key of a ledger's snapshot: the data's snapshot of the same commit."""
ABOUT = "cdc.about"
"""Summary key of a ledger's snapshot: the keys of the changes, their order and their type."""
HAS_LEDGER = "cdc.ledger"
"""Summary key of a data snapshot: the branch with its ledger."""
_PREFIX = "__cdc_"
_FOR_EVER = (1 << 63) - 1


def ledger_branch(branch: str | None) -> str:
    """Return the name of the branch with the ledger of a data branch."""
    return f"{_PREFIX}{branch or MAIN_BRANCH}"


class LedgerFiles:
    """Add and replace files of a branch's ledger, and link it to the data's snapshot.

    It follows the change of the data, whose snapshot is the branch's head by then. `planned` is the
    head of the ledger when it was read; `parent` is the snapshot that was read. After a rollback
    this is an older one, and the ledger continues from there. `about` describes the keys of the
    ledger. A ledger that another commit has moved since is a ValidationException. This applies to a
    change without new ledger rows as well: it may have read that a row is not deleted.
    """

    def __init__(
        self,
        added: Sequence[DataFile],
        removed: Sequence[DataFile],
        *,
        branch: str | None,
        planned: int | None,
        parent: int | None,
        spec: PartitionSpec,
        about: str,
    ) -> None:
        self._added, self._removed = tuple(added), tuple(removed)
        self._branch = branch
        self._planned, self._parent = planned, parent
        self._spec = spec
        self._about = about
        self._change = FileChange(ledger_branch(branch), creates_branch=True)

    @property
    def _name(self) -> str:
        return ledger_branch(self._branch)

    def validate(self, base: TableMetadata, io: FileIO) -> None:  # noqa: ARG002 (metadata says all)
        """Raise ValidationException if another commit has moved the ledger since it was read."""
        ref = base.refs.get(self._name)
        head_id = None if ref is None else ref.snapshot_id
        if head_id != self._planned:
            raise ValidationException(
                f"Conflict: another commit applied changes to {base.location} meanwhile; run it "
                "again"
            )

    def prepare(self, base: TableMetadata, io: FileIO) -> ActionCommit:
        """Return the updates that add the files to the ledger of the staged data."""
        if not self._added:
            return ActionCommit(())
        before = (*self._moved(base), *self._with_spec(base))
        staged = base
        if before:
            now_ms = max(int(time.time() * 1000), base.last_updated_ms)
            staged = apply(base, before, now_ms=now_ms)
        if staged.partition_specs.get(self._spec.spec_id) != self._spec:
            raise ValidationException(
                f"Another commit gave {base.location} a partition spec with id "
                f"{self._spec.spec_id}: run it again"
            )
        data = base.branch_head(self._branch)
        if data is None:
            raise ValidationException(f"The ledger of {base.location} has no data to go with")
        gone = Paths.of(self._removed)
        selections: list[Selection] = [gone] if self._removed else []
        changes = FileChanges(
            added=self._added,
            data=selections,
            operation=lambda removed: Operation.REPLACE if removed else Operation.APPEND,
            summary={OF_SNAPSHOT: str(data.snapshot_id), ABOUT: self._about},
        )
        prepared = self._change.prepare(staged, io, changes).updates
        return ActionCommit((*before, *(_never_expiring(update) for update in prepared)))

    def _moved(self, base: TableMetadata) -> tuple[TableUpdate, ...]:
        """Return the update that lets the ledger continue from the snapshot that was read."""
        ref = base.refs.get(self._name)
        if (None if ref is None else ref.snapshot_id) == self._parent:
            return ()
        if self._parent is None:
            return (RemoveSnapshotRef(self._name),)
        return (SetSnapshotRef(self._name, _branch_at(self._parent)),)

    def _with_spec(self, base: TableMetadata) -> tuple[TableUpdate, ...]:
        if base.partition_specs.get(self._spec.spec_id) == self._spec:
            return ()
        return (AddPartitionSpec(self._spec),)

    def clean_up(self, io: FileIO, committed: TableMetadata | None) -> None:
        """Remove manifests and manifest lists that the committed snapshot does not use."""
        self._change.clean_up(io, committed)


def _branch_at(snapshot_id: int) -> SnapshotRef:
    return SnapshotRef(snapshot_id, SnapshotRefType.BRANCH, max_ref_age_ms=_FOR_EVER)


def _never_expiring(update: TableUpdate) -> TableUpdate:
    """Return the update with a retention by which the branch never expires."""
    if isinstance(update, SetSnapshotRef):
        return SetSnapshotRef(update.ref_name, _branch_at(update.ref.snapshot_id))
    return update
