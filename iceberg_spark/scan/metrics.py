"""Counts of a plan: scanned, selected and skipped (names as in Java's ScanMetrics)."""

from __future__ import annotations

from dataclasses import dataclass


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
