"""Counts of a plan: scanned, selected and skipped (names as in Java's ScanMetrics)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.arrow.arrays import to_numpy
from iceberg_spark.expr.nodes import ALWAYS_TRUE, Bound
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.manifest.manifest_list import read_manifest_list
from iceberg_spark.scan.context import ScanContext
from iceberg_spark.scan.delete_index import DeleteIndex
from iceberg_spark.spec.data_file import DataFileContent, FileFormat
from iceberg_spark.spec.manifest_file import ManifestContent, ManifestFile
from iceberg_spark.spec.metadata import TableMetadata


@dataclass(frozen=True, slots=True)
class ScanMetrics:
    """Counts of one planning; sizes are bytes, times seconds.

    Skipped manifests were not opened: the manifest list has the number of their live files, but not
    their sizes. `..._by_partition` and `..._by_metrics` count files of opened manifests.
    """

    total_data_manifests: int = 0
    scanned_data_manifests: int = 0
    total_delete_manifests: int = 0
    scanned_delete_manifests: int = 0
    result_data_files: int = 0
    skipped_files_in_manifests: int = 0
    skipped_files_by_partition: int = 0
    skipped_files_by_metrics: int = 0
    total_file_size_in_bytes: int = 0
    skipped_file_size_in_bytes: int = 0
    total_record_count: int = 0
    indexed_delete_files: int = 0
    skipped_delete_files: int = 0
    result_delete_files: int = 0
    position_delete_files: int = 0
    deletion_vectors: int = 0
    equality_delete_files: int = 0
    total_delete_file_size_in_bytes: int = 0
    files_with_deletes: int = 0
    files_with_residual: int = 0
    planning_seconds: float = 0.0

    @property
    def skipped_data_manifests(self) -> int:
        """Data manifests that were not opened."""
        return self.total_data_manifests - self.scanned_data_manifests

    @property
    def skipped_delete_manifests(self) -> int:
        """Delete manifests that were not opened."""
        return self.total_delete_manifests - self.scanned_delete_manifests

    @property
    def skipped_data_files(self) -> int:
        """Data files that are not read, those in unopened manifests too."""
        return (
            self.skipped_files_in_manifests
            + self.skipped_files_by_partition
            + self.skipped_files_by_metrics
        )


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


def with_totals(
    metrics: ScanMetrics, files: pa.Table, residuals: Sequence[Bound], deletes: DeleteIndex
) -> ScanMetrics:
    """Return the metrics with the totals of the planned files (FILES_SCHEMA) and their deletes."""
    left = np.array([residual != ALWAYS_TRUE for residual in residuals], np.bool_)
    counted = replace(
        metrics,
        result_data_files=files.num_rows,
        total_file_size_in_bytes=_sum(files, "file_size_in_bytes"),
        total_record_count=_sum(files, "record_count"),
        files_with_residual=int(left[to_numpy(files.column("residual_index"))].sum()),
    )
    return _with_deletes(counted, files, deletes)


def _with_deletes(metrics: ScanMetrics, files: pa.Table, index: DeleteIndex) -> ScanMetrics:
    if len(index) == 0:
        return metrics
    lists = files.column("delete_rows")
    counted = index.files.select(("content", "file_format", "content_bytes"))
    used = counted.take(pc.unique(pc.list_flatten(lists)))
    equality = pc.equal(used.column("content"), DataFileContent.EQUALITY_DELETES.value)
    by_values = int(pc.sum(equality).as_py() or 0)
    puffin = pc.equal(used.column("file_format"), FileFormat.PUFFIN.value)
    vectors = int(pc.sum(puffin).as_py() or 0)
    return replace(
        metrics,
        result_delete_files=used.num_rows,
        equality_delete_files=by_values,
        position_delete_files=used.num_rows - by_values - vectors,
        deletion_vectors=vectors,
        total_delete_file_size_in_bytes=_sum(used, "content_bytes"),
        files_with_deletes=int(pc.sum(pc.greater(pc.list_value_length(lists), 0)).as_py() or 0),
    )


def _sum(table: pa.Table, name: str) -> int:
    return int(pc.sum(table.column(name)).as_py() or 0)
