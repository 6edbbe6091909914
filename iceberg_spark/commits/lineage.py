"""The ancestors of a branch, including snapshots that have expired."""

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
