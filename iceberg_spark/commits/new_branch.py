"""Create a branch at the current snapshot, or an empty one (Java: SnapshotManager)."""

from __future__ import annotations

from dataclasses import replace

from iceberg_spark.commits.action import ActionCommit
from iceberg_spark.commits.manage_snapshots import CreateRef, ManageSnapshots, check_free
from iceberg_spark.commits.snapshot_producer import SnapshotProducer
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.snapshot import MAIN_BRANCH, Operation
from iceberg_spark.spec.updates import SetSnapshotRef, TableUpdate


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
