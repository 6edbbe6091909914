"""The number of rows of a snapshot from its manifest list alone, no manifest opened."""

from __future__ import annotations

from collections.abc import Iterable

from iceberg_spark.expr.nodes import ALWAYS_TRUE
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.manifest.manifest_list import read_manifest_list
from iceberg_spark.scan.context import ScanContext
from iceberg_spark.spec.manifest_file import ManifestContent, ManifestFile
from iceberg_spark.spec.metadata import TableMetadata


def count_by_manifest_list(metadata: TableMetadata, io: FileIO, context: ScanContext) -> int | None:
    """Return the number of rows of a scan, None if its manifest list does not determine it.

    It does for whole snapshots without delete files if every manifest has its row counts
    (specification, "Manifest Lists": `added_rows_count`, `existing_rows_count`).
    """
    if context.start_snapshot_id is not None or context.row_filter != ALWAYS_TRUE:
        return None
    if context.snapshot_id is None:
        return 0
    snapshot = metadata.snapshot(context.snapshot_id)
    if snapshot.key_id is not None:
        return None  # planning reports the problem
    return count_live_rows(read_manifest_list(io, snapshot, metadata))


def count_live_rows(manifests: Iterable[ManifestFile]) -> int | None:
    """Return the rows of all live data files, None where deletes or missing counts forbid it."""
    rows = 0
    for manifest in manifests:
        if not manifest.may_have_live_files:
            continue
        added, existing = manifest.added_rows_count, manifest.existing_rows_count
        if manifest.content is ManifestContent.DELETES or added is None or existing is None:
            return None
        rows += added + existing
    return rows
