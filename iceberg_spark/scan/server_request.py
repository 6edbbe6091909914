"""What a catalog that plans scans is asked for (REST specification, PlanTableScanRequest)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from iceberg_spark.expr.expression_json import to_json
from iceberg_spark.expr.logic import field_ids
from iceberg_spark.expr.nodes import BoundReference, Term
from iceberg_spark.scan.context import ScanContext
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.types import ListType, MapType, StructType


@dataclass(frozen=True, slots=True)
class ServerRequest:
    """The request of a scan, and the schema by which the catalog resolves names.

    A scan of a snapshot uses the snapshot's own schema, whatever the table's is now: that is the
    one that every server selects columns by. Filters are sent for columns that have the same name
    in both, since Java's server uses both.
    """

    node: dict[str, Any]
    names: Schema

    @property
    def filter(self) -> Any:
        """The filter's JSON."""
        return self.node.get("filter", True)


def server_request(metadata: TableMetadata, context: ScanContext, end: int) -> ServerRequest:
    """Return the request of a scan that is pinned to the snapshot `end`."""
    start = context.start_snapshot_id
    node: dict[str, Any]
    if start is None:
        names = _schema_of_snapshot(metadata, end)
        node = {"snapshot-id": end, "use-snapshot-schema": True}
    else:
        names = metadata.schema
        node = {"start-snapshot-id": start, "end-snapshot-id": end, "use-snapshot-schema": False}
    selected = _selected(context, names)
    row_filter = to_json(context.row_filter, lambda term: _name(term, names, metadata.schema))
    node |= {"case-sensitive": True}
    if selected:
        node["select"] = selected
    if row_filter is not True:
        node["filter"] = row_filter
    return ServerRequest(node, names)


def _schema_of_snapshot(metadata: TableMetadata, snapshot_id: int) -> Schema:
    schema_id = metadata.snapshot(snapshot_id).schema_id
    current = metadata.schema
    return current if schema_id is None else metadata.schemas.get(schema_id, current)


def _selected(context: ScanContext, names: Schema) -> list[str]:
    """Return the full names of the columns that are read or filtered; those without parts."""
    read = [
        field_id
        for field_id in context.read_schema.field_ids
        if not isinstance(
            context.read_schema.find_field(field_id).field_type, StructType | ListType | MapType
        )
    ]
    every = dict.fromkeys((*read, *field_ids(context.row_filter)))
    columns = (names.find_column_name(field_id) for field_id in every)
    return [name for name in columns if name is not None]


def _name(term: Term, names: Schema, current: Schema) -> str | None:
    """Return a column's name if it has not changed since."""
    if not isinstance(term, BoundReference):
        return None
    name = names.find_column_name(term.field_id)
    return name if name == current.find_column_name(term.field_id) else None
