"""Add data files (Java: FastAppend, MergeAppend)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from iceberg_spark.commits.action import ActionCommit
from iceberg_spark.commits.manifest_merge import WrittenManifests, merge_manifests
from iceberg_spark.commits.new_manifests import check_new_files, write_added
from iceberg_spark.commits.snapshot_producer import SnapshotProducer
from iceberg_spark.errors import InvalidInputError
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.spec.data_file import DataFile, DataFileContent
from iceberg_spark.spec.manifest_file import ManifestContent, ManifestFile
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.snapshot import Operation


class AppendFiles:
    """Add data files to a branch; applies to any newer metadata.

    With `merge` (the default), small manifests are merged by the `commit.manifest-merge.*` and
    `commit.manifest.*` properties. Without it, an append writes its own manifests and a manifest
    list only. In both cases a retry reuses the manifests of the new files.
    """

    def __init__(
        self,
        files: Sequence[DataFile],
        *,
        branch: str | None = None,
        snapshot_properties: Mapping[str, str] | None = None,
        merge: bool = True,
    ) -> None:
        self._files = tuple(files)
        for file in self._files:
            if file.content is not DataFileContent.DATA:
                raise InvalidInputError(f"An append takes data files; {file.file_path} is not one")
        self._merge = merge
        self._producer = SnapshotProducer(branch, snapshot_properties)
        self._written = WrittenManifests()

    def validate(self, base: TableMetadata, io: FileIO) -> None:
        """An append conflicts with nothing."""

    def prepare(self, base: TableMetadata, io: FileIO) -> ActionCommit:
        """Return the updates that append the files to this base."""
        earlier = self._producer.parent_manifests(base, io)
        self._written.use_for(base)
        if self._files:
            self._written.check_required_columns(base)
        if self._written.added is None:
            check_new_files(base, self._files)
            self._written.added = write_added(self._producer, base, io, self._files)
        manifests = (*self._written.added, *earlier)
        if self._merge:
            manifests = self._with_merged(base, io, manifests)
        return self._producer.produce(base, io, Operation.APPEND, manifests, added=self._files)

    def _with_merged(
        self, base: TableMetadata, io: FileIO, manifests: Sequence[ManifestFile]
    ) -> tuple[ManifestFile, ...]:
        data = [manifest for manifest in manifests if manifest.content is ManifestContent.DATA]
        deletes = [
            manifest for manifest in manifests if manifest.content is ManifestContent.DELETES
        ]
        return (
            *merge_manifests(self._producer, base, io, data, self._written.merged),
            *deletes,
        )

    def clean_up(self, io: FileIO, committed: TableMetadata | None) -> None:
        """Remove manifests and manifest lists that the committed snapshot does not use."""
        self._producer.clean_up(io, committed)
