"""The manifests that a metadata table over files reads."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from iceberg_spark.inspect.names import MetadataTable
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.manifest.manifest_list import manifest_files, read_manifest_list_columns
from iceberg_spark.scan.entry_tables import read_ahead
from iceberg_spark.spec.manifest_file import ManifestContent, ManifestFile
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.snapshot import Snapshot

_CONTENT = {
    MetadataTable.DATA_FILES: ManifestContent.DATA,
    MetadataTable.ALL_DATA_FILES: ManifestContent.DATA,
    MetadataTable.DELETE_FILES: ManifestContent.DELETES,
    MetadataTable.ALL_DELETE_FILES: ManifestContent.DELETES,
}


def reachable_manifests(
    metadata: TableMetadata, io: FileIO, name: MetadataTable, snapshot: Snapshot | None
) -> Iterator[ManifestFile]:
    """Yield the manifests of a snapshot, or (`all_*` tables) of all snapshots, each path once.

    A data file that several manifests list is in the table several times, as in Java. Source:
    Java's BaseAllMetadataTableScan.reachableManifests.
    """
    if name.is_of_all_snapshots:
        snapshots = tuple(metadata.snapshots.values())
    else:
        snapshots = () if snapshot is None else (snapshot,)
    content = _CONTENT.get(name)
    seen: set[str] = set()

    def read_list(listed: Snapshot) -> pa.Table:
        return read_manifest_list_columns(io, listed, metadata)

    for listed, rows in zip(snapshots, read_ahead(read_list, snapshots), strict=True):
        paths = rows.column("manifest_path").to_pylist()
        new = [row for row, path in enumerate(paths) if path not in seen]
        seen.update(paths)
        added = rows.take(pa.array(new, pa.int64()))
        for manifest in manifest_files(added, str(listed.manifest_list)):
            if content is None or manifest.content is content:
                yield manifest
