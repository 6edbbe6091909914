"""The snapshots that a branch came from, also those that have expired since."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from iceberg_spark.catalog.metadata_file import read_metadata
from iceberg_spark.commits.limits import TOKENS
from iceberg_spark.errors import (
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

_OUT_OF_REACH = (
    NotFoundError, CorruptFileError, UnsupportedError, InvalidInputError, StoragePermissionError,
)  # fmt: skip
"""For good. S3 says "denied" of a file that is gone to those who may not list."""


class Lineage:
    """The ancestors of a branch's head, newest first; none for a branch without snapshots.

    Expired ones are looked for in the table's former metadata files, and only when asked for;
    that raises StorageError.
    """

    __slots__ = ("_base", "_io", "branch", "reachable")

    def __init__(self, base: TableMetadata, branch: str, io: FileIO) -> None:
        head = base.branch_head(branch)
        self.reachable = () if head is None else tuple(ancestors(base, head.snapshot_id))
        self.branch = branch
        self._base = base
        self._io = io

    def has(self, snapshot_id: int, sequence_number: int) -> bool | None:
        """Tell whether a snapshot is among them; None where nobody knows any more.

        Sequence numbers grow along a lineage (those of version 1 are 0 and say nothing), so
        looking ends below the one that is looked for.
        """
        oldest = None
        for oldest in chain(self.reachable, self.expired()):
            if snapshot_id in (oldest.snapshot_id, oldest.parent_snapshot_id):
                return True
            if 0 < oldest.sequence_number <= sequence_number:
                return False
        return None if oldest is not None and oldest.parent_snapshot_id is not None else False

    def expired(self) -> Iterator[Snapshot]:
        """Yield those that the table has no more, as far as former metadata files tell.

        Raises StorageError where a store fails: what it would tell next time is not unknown.
        """
        missing = self.reachable[-1].parent_snapshot_id if self.reachable else None
        log = self._base.metadata_log[-TOKENS.former_versions :]
        for entry in reversed(log):
            if missing is None:
                return
            try:
                former = read_metadata(self._io, entry.metadata_file)
            except _OUT_OF_REACH:  # older ones are as well
                return
            if missing in former.snapshots:
                for snapshot in ancestors(former, missing):
                    yield snapshot
                    missing = snapshot.parent_snapshot_id
