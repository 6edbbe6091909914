"""Which manifests a metadata table over files reads."""

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


def chosen_manifests(
    metadata: TableMetadata, io: FileIO, name: MetadataTable, snapshot: Snapshot | None
) -> Iterator[ManifestFile]:
    """Yield the manifests of the snapshot, or (`all_*`) those of all, each path once.

    Files that several manifests name come several times, as in Java. Source: Java's
    BaseAllMetadataTableScan.reachableManifests.
    """
    if name.is_of_all_snapshots:
        chosen = tuple(metadata.snapshots.values())
    else:
        chosen = () if snapshot is None else (snapshot,)
    wanted = _CONTENT.get(name)
    seen: set[str] = set()

    def listed(one: Snapshot) -> pa.Table:
        return read_manifest_list_columns(io, one, metadata)

    for one, table in zip(chosen, read_ahead(listed, chosen), strict=True):
        paths = table.column("manifest_path").to_pylist()
        new = [at for at, path in enumerate(paths) if path not in seen]
        seen.update(paths)
        added = table.take(pa.array(new, pa.int64()))
        for manifest in manifest_files(added, str(one.manifest_list)):
            if wanted is None or manifest.content is wanted:
                yield manifest
