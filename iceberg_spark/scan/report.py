"""A plan as text for people: the files that are read and skipped, and why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from iceberg_spark.expr.nodes import ALWAYS_FALSE, ALWAYS_TRUE
from iceberg_spark.expr.to_text import to_text
from iceberg_spark.scan.context import ScanContext
from iceberg_spark.scan.metrics import ScanMetrics
from iceberg_spark.scan.plan import ScanPlan

SHOWN_COLUMNS = 8
SHOWN_RESIDUALS = 3
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
_LABEL_WIDTH = 16


def explain(plan: ScanPlan, reading: Sequence[str] = ()) -> str:
    """Return what a scan reads and skips as lines of text; sizes have binary units.

    `reading` describes how Spark reads the files, one line per group.
    """
    context, metrics = plan.context, plan.metrics
    lines = [f"Scan of {context.table_location}"]
    for label, texts in (
        ("snapshot", _snapshot(context)),
        ("columns", [_columns(context)]),
        ("filter", [_filter(context)]),
        ("planned by", ["the catalog"] if plan.is_by_catalog else []),
        ("data manifests", [] if plan.is_by_catalog else _data_manifests(metrics)),
        ("data files", _data_files(metrics)),
        ("deletes", _deletes(metrics)),
        ("rows", _rows(plan)),
        ("on Spark", reading),
        ("planned in", [f"{metrics.planning_seconds * 1000:,.0f} ms"]),
    ):
        for index, text in enumerate(texts):
            lines.append(f"  {label if index == 0 else '':<{_LABEL_WIDTH}}{text}")
    return "\n".join(lines)


def _snapshot(context: ScanContext) -> Iterator[str]:
    if context.snapshot_id is None:
        yield "none: the table is empty"
    elif context.start_snapshot_id is not None:
        yield f"appended after {context.start_snapshot_id} up to {context.snapshot_id}"
    else:
        yield f"{context.snapshot_id} (format v{context.format_version})"


def _columns(context: ScanContext) -> str:
    names = [column.name for column in context.read_schema]
    shown = ", ".join(names[:SHOWN_COLUMNS])
    more = f", … {len(names) - SHOWN_COLUMNS} more" if len(names) > SHOWN_COLUMNS else ""
    return f"{shown}{more} ({len(names)} read, the table has {len(context.table_schema)})"


def _filter(context: ScanContext) -> str:
    return "none" if context.row_filter == ALWAYS_TRUE else to_text(context.row_filter)


def _data_manifests(metrics: ScanMetrics) -> Iterator[str]:
    yield f"{metrics.scanned_data_manifests:,} of {metrics.total_data_manifests:,} opened"
    if metrics.skipped_data_manifests:
        yield (
            f"{metrics.skipped_data_manifests:,} skipped by the manifest list "
            f"({count(metrics.skipped_files_in_manifests, 'file')} in them)"
        )


def _data_files(metrics: ScanMetrics) -> Iterator[str]:
    total = metrics.result_data_files + metrics.skipped_data_files
    yield (
        f"{metrics.result_data_files:,} of {total:,} to read, "
        f"{size_text(metrics.total_file_size_in_bytes)}"
    )
    if metrics.skipped_files_by_partition:
        yield f"{metrics.skipped_files_by_partition:,} skipped by partition"
    if metrics.skipped_files_by_metrics:
        yield f"{metrics.skipped_files_by_metrics:,} skipped by column bounds and counts"
    if metrics.skipped_file_size_in_bytes:
        yield f"{size_text(metrics.skipped_file_size_in_bytes)} skipped in opened manifests"


def _deletes(metrics: ScanMetrics) -> Iterator[str]:
    if metrics.total_delete_manifests == 0 and metrics.result_delete_files == 0:
        yield "none"
        return
    if metrics.total_delete_manifests:
        yield (
            f"{metrics.scanned_delete_manifests:,} of {metrics.total_delete_manifests:,} delete "
            f"manifests opened; {count(metrics.indexed_delete_files, 'delete file')} looked up, "
            f"{metrics.skipped_delete_files:,} skipped"
        )
    vectors = metrics.deletion_vectors
    yield (
        f"{count(vectors, 'deletion vector') + ', ' if vectors else ''}"
        f"{count(metrics.position_delete_files, 'position delete file')} and "
        f"{count(metrics.equality_delete_files, 'equality delete file')} apply to "
        f"{count(metrics.files_with_deletes, 'data file')}, "
        f"{size_text(metrics.total_delete_file_size_in_bytes)}"
    )


def _rows(plan: ScanPlan) -> Iterator[str]:
    metrics = plan.metrics
    exact = plan.record_count
    if exact is not None:
        yield f"{exact:,}, known from metadata"
        return
    yield f"at most {metrics.total_record_count:,}"
    if metrics.files_with_residual:
        left = [
            to_text(residual)
            for residual in plan.residuals
            if residual not in (ALWAYS_TRUE, ALWAYS_FALSE)
        ]
        more = f" or … {len(left) - SHOWN_RESIDUALS} more" if len(left) > SHOWN_RESIDUALS else ""
        yield (
            f"checked one by one in {count(metrics.files_with_residual, 'file')}: "
            f"{' or '.join(left[:SHOWN_RESIDUALS])}{more}"
        )


def count(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural where it is one."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def size_text(size: int) -> str:
    """Return bytes as text with a binary unit, such as "1.5 GiB"."""
    amount = float(size)
    for unit in _UNITS[:-1]:
        if amount < 1024:
            return f"{amount:,.0f} {unit}" if unit == "B" else f"{amount:,.1f} {unit}"
        amount /= 1024
    return f"{amount:,.1f} {_UNITS[-1]}"
