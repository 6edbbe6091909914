"""The scan report that a catalog receives (specification: ScanReport; Java's names)."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.catalog.catalog import LoadedTable
from iceberg_spark.expr.nodes import BoundReference
from iceberg_spark.scan.context import ScanContext
from iceberg_spark.scan.plan import ScanPlan
from iceberg_spark.scan.report_filter import filter_json, terms
from iceberg_spark.spec.data_file import DataFileContent, FileFormat
from iceberg_spark.spec.metrics_report import bytes_of, count, duration, who_reports


def report_scan(table: LoadedTable, plan: ScanPlan) -> None:
    """Report a plan to the catalog's reporter, unless it has no snapshot; it never raises."""
    if table.reporter is None or plan.context.snapshot_id is None:
        return
    with suppress(Exception):  # a report must not fail the scan
        table.reporter.take(scan_report(plan))


def scan_report(plan: ScanPlan) -> Mapping[str, Any]:
    """Return the report of a plan."""
    context, schema = plan.context, plan.context.table_schema
    ids = sorted(_read_ids(context))
    return {
        "report-type": "scan-report",
        "snapshot-id": context.snapshot_id,
        "filter": filter_json(context.row_filter),
        "schema-id": context.table_schema.schema_id,
        "projected-field-ids": ids,
        "projected-field-names": [schema.find_column_name(field_id) for field_id in ids],
        "metrics": _metrics(plan),
        "metadata": who_reports(),
    }


def _read_ids(context: ScanContext) -> set[int]:
    """Return the columns that are read: the projection, and those of the filter."""
    ids = {
        field_id
        for field_id in context.read_schema.field_ids
        if field_id in context.table_schema.field_ids
    }
    for term in terms(context.row_filter):
        if isinstance(term, BoundReference):
            ids.update(context.table_schema.path_ids(term.field_id))
    return ids


def _metrics(plan: ScanPlan) -> dict[str, Any]:
    """Return the counts; delete files that are attached to several data files count for each."""
    m = plan.metrics
    attached, attached_bytes = _attached(plan)
    return {
        "total-planning-duration": duration(m.planning_seconds),
        "result-data-files": count(m.result_data_files),
        "result-delete-files": count(attached),
        "total-data-manifests": count(m.total_data_manifests),
        "total-delete-manifests": count(m.total_delete_manifests),
        "scanned-data-manifests": count(m.scanned_data_manifests),
        "skipped-data-manifests": count(m.skipped_data_manifests),
        "total-file-size-in-bytes": bytes_of(m.total_file_size_in_bytes),
        "total-delete-file-size-in-bytes": bytes_of(attached_bytes),
        "skipped-data-files": count(m.skipped_files_by_partition + m.skipped_files_by_metrics),
        "skipped-delete-files": count(m.skipped_delete_files),
        "scanned-delete-manifests": count(m.scanned_delete_manifests),
        "skipped-delete-manifests": count(m.skipped_delete_manifests),
        **_indexed(plan),
    }


def _attached(plan: ScanPlan) -> tuple[int, int]:
    if not plan.metrics.files_with_deletes:
        return 0, 0
    rows = pc.list_flatten(plan.files.column("delete_rows"))
    sizes = plan.deletes.files.column("file_size_in_bytes").take(rows)
    return len(rows), int(pc.sum(sizes).as_py() or 0)


def _indexed(plan: ScanPlan) -> dict[str, Any]:
    files: pa.Table = plan.deletes.files
    equality = vectors = 0
    if len(plan.deletes):
        content, kind = files.column("content"), files.column("file_format")
        equality = _how_many(content, DataFileContent.EQUALITY_DELETES.value)
        vectors = _how_many(kind, FileFormat.PUFFIN.value)
    every = len(plan.deletes)
    return {
        "indexed-delete-files": count(every),
        "equality-delete-files": count(equality),
        "positional-delete-files": count(every - equality - vectors),
        "dvs": count(vectors),
    }


def _how_many(column: pa.ChunkedArray, value: int | str) -> int:
    return int(pc.sum(pc.equal(column, value)).as_py() or 0)
