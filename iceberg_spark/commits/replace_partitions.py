"""Replace all rows of the partitions that new files fall into (Java: ReplacePartitions)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from iceberg_spark.commits.action import ActionCommit
from iceberg_spark.commits.conflict_scope import Planned
from iceberg_spark.commits.conflicts import (
    history_since,
    refuse_added_data_files,
    refuse_added_delete_files,
    refuse_removed_data_files,
)
from iceberg_spark.commits.removed_entries import Everything, Mask, Partitions, Selection
from iceberg_spark.commits.snapshot_change import FileChange, FileChanges
from iceberg_spark.errors import InvalidInputError
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.spec.data_file import DataFile, DataFileContent
from iceberg_spark.spec.manifest_file import ManifestFile
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.snapshot import Operation
from iceberg_spark.spec.summary import REPLACE_PARTITIONS


class ReplacePartitions:
    """Dynamic partition overwrite: replace data and delete files of the new files' partitions.

    Files of other specs stay, unless the spec of the new files is unpartitioned. Then all files of
    the table are replaced. With `planned`, later commits to the replaced partitions are conflicts.
    """

    def __init__(
        self,
        files: Sequence[DataFile],
        *,
        planned: Planned | None = None,
        branch: str | None = None,
        snapshot_properties: Mapping[str, str] | None = None,
    ) -> None:
        self._files = tuple(files)
        for file in self._files:
            if file.content is not DataFileContent.DATA:
                raise InvalidInputError(
                    f"An overwrite takes data files; {file.file_path} holds deletes"
                )
        self._planned = planned
        self._change = FileChange(branch, snapshot_properties)

    def validate(self, base: TableMetadata, io: FileIO) -> None:
        """Refuse commits to the partitions since the change was planned."""
        planned = self._planned
        if planned is None:
            return
        selection = self._selection(base)

        def touched(manifest: ManifestFile, entries: pa.Table) -> Mask:
            if not selection.may_hold(manifest):
                return np.zeros(entries.num_rows, np.bool_)
            return selection.hits(manifest, entries)

        head = self._change.producer.committed_head(base)
        history = history_since(base, io, head, planned.snapshot_id)
        if planned.refuse_new_data:
            refuse_added_data_files(history, touched)
        if planned.refuse_new_deletes:
            refuse_added_delete_files(history, touched)
            refuse_removed_data_files(history, touched)

    def _selection(self, base: TableMetadata) -> Selection:
        specs = {file.partition_spec_id for file in self._files}
        if any(base.partition_specs[spec_id].is_unpartitioned for spec_id in specs):
            return Everything()
        return Partitions.of(base, self._files)

    def prepare(self, base: TableMetadata, io: FileIO) -> ActionCommit:
        """Return the updates that replace the partitions on this base."""
        selection = self._selection(base)
        changes = FileChanges(
            added=self._files,
            data=(selection,),
            deletes=(selection,),
            operation=lambda _: Operation.OVERWRITE,
            summary={REPLACE_PARTITIONS: "true"},
        )
        return self._change.prepare(base, io, changes)

    def clean_up(self, io: FileIO, committed: TableMetadata | None) -> None:
        """Remove manifests and manifest lists that the committed snapshot does not use."""
        self._change.clean_up(io, committed)
