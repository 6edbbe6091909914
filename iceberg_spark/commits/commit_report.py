"""Metrics of a commit as catalogs expect them (specification: CommitReport; Java's names)."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from iceberg_spark.commits.table_part import TablePart
from iceberg_spark.spec.metrics_report import bytes_of, count, duration, who_reports
from iceberg_spark.spec.snapshot import Snapshot
from iceberg_spark.spec.updates import AddSnapshot

_COUNTS = {
    "added-data-files": "added-data-files",
    "removed-data-files": "deleted-data-files",
    "total-data-files": "total-data-files",
    "added-delete-files": "added-delete-files",
    "added-equality-delete-files": "added-equality-delete-files",
    "added-positional-delete-files": "added-position-delete-files",
    "added-dvs": "added-dvs",
    "removed-delete-files": "removed-delete-files",
    "removed-equality-delete-files": "removed-equality-delete-files",
    "removed-positional-delete-files": "removed-position-delete-files",
    "removed-dvs": "removed-dvs",
    "total-delete-files": "total-delete-files",
    "added-records": "added-records",
    "removed-records": "deleted-records",
    "total-records": "total-records",
    "added-positional-deletes": "added-position-deletes",
    "removed-positional-deletes": "removed-position-deletes",
    "total-positional-deletes": "total-position-deletes",
    "added-equality-deletes": "added-equality-deletes",
    "removed-equality-deletes": "removed-equality-deletes",
    "total-equality-deletes": "total-equality-deletes",
    "manifests-created": "manifests-created",
    "manifests-replaced": "manifests-replaced",
    "manifests-kept": "manifests-kept",
    "manifest-entries-processed": "entries-processed",
}
_SIZES = {
    "added-files-size-bytes": "added-files-size",
    "removed-files-size-bytes": "removed-files-size",
    "total-files-size-bytes": "total-files-size",
}
"""Metrics and the summary keys that they come from (Java: CommitMetricsResult)."""


def report_commit(parts: tuple[TablePart, ...], seconds: float, tries: int) -> None:
    """Report the snapshots of a successful commit to the catalog's reporters. Never fails."""
    for part in parts:
        reporter = None if part.base is None else part.base.reporter
        if reporter is None:
            continue
        with suppress(Exception):  # the commit has succeeded, whatever a reporter raises
            for update in part.updates:
                if isinstance(update, AddSnapshot):
                    reporter.take(commit_report(update.snapshot, seconds, tries))


def commit_report(snapshot: Snapshot, seconds: float, tries: int) -> Mapping[str, Any]:
    """Return the report of one snapshot, without the metrics that its summary lacks, as in Java."""
    summary = snapshot.summary
    metrics = {"total-duration": duration(seconds), "attempts": count(tries)}
    for names, metric in ((_COUNTS, count), (_SIZES, bytes_of)):
        for name, key in names.items():
            text = summary.get(key, "")
            if text.isdecimal():
                metrics[name] = metric(int(text))
    return {
        "report-type": "commit-report",
        "snapshot-id": snapshot.snapshot_id,
        "sequence-number": snapshot.sequence_number,
        "operation": snapshot.operation or "",
        "metrics": metrics,
        "metadata": who_reports(),
    }
