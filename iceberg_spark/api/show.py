"""How tables look in a terminal and in a notebook."""

from __future__ import annotations

import html
from datetime import UTC, datetime

from iceberg_spark.catalog.catalog import LoadedTable
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.partition import PartitionSpec
from iceberg_spark.spec.printable import printable
from iceberg_spark.spec.shown import shown_type
from iceberg_spark.spec.sort import SortOrder


def table_text(loaded: LoadedTable) -> str:
    """Return a table's columns, layout and newest snapshot as text."""
    lines = [f"Table {loaded.identifier}", *_columns(loaded.metadata)]
    lines += [f"  {label}: {value}" for label, value in _facts(loaded.metadata)]
    return printable("\n".join(lines))


def table_html(loaded: LoadedTable) -> str:
    """Return the same for a notebook."""
    metadata = loaded.metadata
    columns = "".join(
        f"<tr><td><b>{html.escape(field.name)}</b></td>"
        f"<td>{html.escape(shown_type(field.field_type))}</td>"
        f"<td>{'required' if field.required else ''}</td>"
        f"<td>{html.escape(field.doc or '')}</td></tr>"
        for field in metadata.schema.fields
    )
    facts = "".join(
        f"<tr><th style='text-align:left'>{html.escape(label)}</th>"
        f"<td>{html.escape(value)}</td></tr>"
        for label, value in _facts(metadata)
    )
    return (
        f"<div><b>Iceberg table</b> <code>{html.escape(printable(loaded.identifier))}</code>"
        f"<table>{facts}</table><table><tr><th>column</th><th>type</th><th></th>"
        f"<th>comment</th></tr>{columns}</table></div>"
    )


def _columns(metadata: TableMetadata) -> list[str]:
    return [f"  {field}" for field in metadata.schema.fields]


def _facts(metadata: TableMetadata) -> list[tuple[str, str]]:
    facts = [
        ("format", f"v{metadata.format_version}"),
        ("partitioned by", _spec(metadata.spec, metadata)),
    ]
    if not metadata.sort_order.is_unsorted:
        facts.append(("sorted by", _order(metadata.sort_order, metadata)))
    snapshot = metadata.current_snapshot
    if snapshot is None:
        return [*facts, ("snapshot", "none yet")]
    when = datetime.fromtimestamp(snapshot.timestamp_ms / 1000, UTC)
    description = f"{snapshot.snapshot_id}, {snapshot.operation}, {when:%Y-%m-%d %H:%M:%S} UTC"
    facts.append(("snapshot", f"{description}, one of {len(metadata.snapshots)}"))
    totals = [
        f"{int(snapshot.summary[key]):,} {unit}"
        for key, unit in (
            ("total-records", "rows"),
            ("total-data-files", "data files"),
            ("total-delete-files", "delete files"),
        )
        if snapshot.summary.get(key, "").isdigit()
    ]
    return [*facts, ("holds", ", ".join(totals))] if totals else facts


def _spec(spec: PartitionSpec, metadata: TableMetadata) -> str:
    if spec.is_unpartitioned:
        return "nothing"
    return ", ".join(
        f"{part.name} = {part.transform}({_names(part.source_ids, metadata)})"
        for part in spec.fields
    )


def _order(order: SortOrder, metadata: TableMetadata) -> str:
    return ", ".join(
        f"{key.transform}({_names(key.source_ids, metadata)}) {key.direction} {key.null_order}"
        for key in order.fields
    )


def _names(ids: tuple[int, ...], metadata: TableMetadata) -> str:
    return ", ".join(metadata.schema.find_column_name(i) or f"dropped column {i}" for i in ids)
