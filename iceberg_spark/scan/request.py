"""A user's request of a table's rows, pinned and bound: the first step of a scan.

`snapshot_choice` selects the snapshot, `projection` the columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from iceberg_spark.errors import InvalidOptionError
from iceberg_spark.expr.bind import bind
from iceberg_spark.expr.build import Predicate, as_unbound
from iceberg_spark.expr.nodes import ALWAYS_TRUE, Bound, Unbound
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.io.storage import open_storage
from iceberg_spark.scan.context import ScanContext
from iceberg_spark.scan.projection import (
    Projection,
    dropped_fields,
    project,
    with_metadata_columns,
)
from iceberg_spark.scan.snapshot_choice import SnapshotChoice, choose_snapshot
from iceberg_spark.spec.encryption import check_not_encrypted
from iceberg_spark.spec.field_history import field_history
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.properties import DEFAULT_NAME_MAPPING
from iceberg_spark.spec.schema import Schema

DEFAULT_BATCH_ROWS = 131_072


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanRequest(SnapshotChoice):
    """A request of a table's rows, not pinned yet: the start of every read.

    `row_filter` is a SQL predicate or a tree; `selected_fields` are full names ("a", "b.c"; None
    or "*": all), returned in the table's order, `metadata_columns` last. `time_zone` applies to
    timestamptz literals without an offset. `batch_rows` limits the rows of a batch.
    """

    row_filter: str | Predicate | Unbound | None = None
    selected_fields: tuple[str, ...] | None = ("*",)
    metadata_columns: tuple[str, ...] = ()
    case_sensitive: bool = True
    time_zone: str | None = None
    batch_rows: int | None = None


def scan_context(
    metadata: TableMetadata,
    request: ScanRequest,
    io: FileIO | None = None,
) -> ScanContext:
    """Return the pinned and bound scan of a request (see `snapshot_choice`, `projection`).

    `io` opens files in tasks. Raises InvalidOptionError,
    NoSuchSnapshotError, InvalidSchemaError, InvalidExpressionError.
    """
    check_not_encrypted(metadata)
    chosen = choose_snapshot(metadata, request)
    schema = chosen.schema
    projection = project(schema, request.selected_fields, case_sensitive=request.case_sensitive)
    return ScanContext(
        table_location=metadata.location,
        snapshot_id=chosen.snapshot_id,
        format_version=metadata.format_version,
        table_schema=schema,
        read_schema=_read_schema(projection, request.metadata_columns, metadata),
        specs=metadata.partition_specs,
        row_filter=bound_filter(schema, request),
        dropped_fields=dropped_fields(metadata, schema),
        name_mapping=metadata.properties.get(DEFAULT_NAME_MAPPING),
        case_sensitive=request.case_sensitive,
        batch_rows=_batch_rows(request.batch_rows),
        io=io or open_storage(),
        start_snapshot_id=chosen.start_snapshot_id,
        history=field_history(schema, metadata.schemas),
    )


def narrow_scan(
    context: ScanContext, metadata: TableMetadata, request: ScanRequest, io: FileIO
) -> ScanContext:
    """Return a scan of the same snapshot with the columns and the filter of a request.

    Raises as `scan_context` does.
    """
    schema = context.table_schema
    projection = project(schema, request.selected_fields, case_sensitive=request.case_sensitive)
    return replace(
        context,
        read_schema=_read_schema(projection, request.metadata_columns, metadata),
        row_filter=bound_filter(schema, request),
        io=io,
    )


def _read_schema(projection: Projection, added: Sequence[str], metadata: TableMetadata) -> Schema:
    schema = with_metadata_columns(
        projection.schema, (*projection.metadata_columns, *added), metadata
    )
    if not schema.fields and metadata.schema.fields:
        raise InvalidOptionError("No column chosen: name at least one, or omit the option")
    return schema


def bound_filter(schema: Schema, request: ScanRequest) -> Bound:
    """Return the filter of a request over a schema. Raises InvalidExpressionError."""
    if request.row_filter is None:
        return ALWAYS_TRUE
    return bind(
        schema,
        as_unbound(request.row_filter),
        case_sensitive=request.case_sensitive,
        time_zone=request.time_zone,
    )


def _batch_rows(batch_rows: int | None) -> int:
    if batch_rows is None:
        return DEFAULT_BATCH_ROWS
    if batch_rows < 1:
        raise InvalidOptionError(f"Option 'batch-size' must be at least 1, not {batch_rows}")
    return batch_rows
