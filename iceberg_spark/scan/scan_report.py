"""The scan report that a catalog receives (specification: ScanReport; Java's names)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, assert_never

import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.arrow.transforms import apply_transform
from iceberg_spark.catalog.catalog import LoadedTable
from iceberg_spark.expr.expression_json import OPS, binary
from iceberg_spark.expr.nodes import (
    And,
    Bound,
    BoundReference,
    Comparison,
    Constant,
    In,
    IsNaN,
    IsNull,
    Leaf,
    Or,
    StartsWith,
    Term,
)
from iceberg_spark.scan.context import ScanContext
from iceberg_spark.scan.plan import ScanPlan
from iceberg_spark.spec.data_file import DataFileContent, FileFormat
from iceberg_spark.spec.metrics_report import bytes_of, count, duration, who_reports
from iceberg_spark.spec.transforms import BucketTransform
from iceberg_spark.spec.types import (
    DateType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    StringType,
    TimestampNanoType,
    TimestampType,
    TimestamptzNanoType,
    TimestamptzType,
    TimeType,
)


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


# A scan's filter as JSON that shows no value, for reports (Java: ExpressionUtil.sanitize).
#
# A number is shown by its digits, a text by its hash, a time as such: "(2-digit-int)".

_HASH = BucketTransform(2**31 - 1)


def filter_json(node: Bound) -> Any:
    """Return the filter in the JSON of expressions, its values hidden."""
    match node:
        case Constant(value=value):
            return value
        case And(children=children):
            return binary("and", map(filter_json, children))
        case Or(children=children):
            return binary("or", map(filter_json, children))
        case _:
            return _leaf(node)


def terms(node: Bound) -> Iterator[Term]:
    """Yield the columns that a filter is about, one for each leaf."""
    match node:
        case Constant():
            return
        case And(children=children) | Or(children=children):
            for child in children:
                yield from terms(child)
        case _:
            yield node.term


def _leaf(leaf: Leaf) -> Any:
    term = leaf.term
    match leaf:
        case IsNull(negated=negated):
            return {"type": "not-null" if negated else "is-null", "term": term.name}
        case IsNaN(negated=negated):
            return {"type": "not-nan" if negated else "is-nan", "term": term.name}
        case Comparison(op=op, value=value):
            return {"type": OPS[op], "term": term.name, "value": _hidden(term, value)}
        case In(values=values, negated=negated):
            shown = [_hidden(term, value) for value in values]
            return {"type": "not-in" if negated else "in", "term": term.name, "values": shown}
        case StartsWith(prefix=prefix, negated=negated):
            kind = "not-starts-with" if negated else "starts-with"
            return {"type": kind, "term": term.name, "value": _hash(prefix)}
        case _:
            assert_never(leaf)


def _hidden(term: Term, value: Any) -> str:
    match term.field_type if isinstance(term, BoundReference) else None:
        case IntegerType() | LongType():
            return f"({_digits(value)}-digit-int)"
        case FloatType() | DoubleType():
            return f"({_digits(value)}-digit-float)"
        case DateType():
            return "(date)"
        case TimeType():
            return "(time)"
        case TimestampType() | TimestamptzType() | TimestampNanoType() | TimestamptzNanoType():
            return "(timestamp)"
        case _:
            return _hash(str(value))


def _digits(value: float) -> int:
    size = abs(value)
    return int(math.log10(size)) + 1 if size and math.isfinite(size) else 1


def _hash(text: str) -> str:
    hashed = apply_transform(_HASH, StringType(), pa.array([text], pa.string()))
    return f"(hash-{hashed[0].as_py():08x})"
