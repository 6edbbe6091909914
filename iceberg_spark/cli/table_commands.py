"""Commands that show a table's metadata and change its properties."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

import iceberg_spark as ice
from iceberg_spark.cli.arguments import (
    OutputOption,
    RefOption,
    SnapshotOption,
    TableArgument,
    YesOption,
    confirm,
)
from iceberg_spark.cli.catalog_commands import parse_properties
from iceberg_spark.cli.output import (
    OutputFormat,
    print_batches,
    print_json,
    print_record,
    print_result,
    print_rows,
)
from iceberg_spark.errors import InvalidInputError
from iceberg_spark.lazy import LazyModule

_schema_json = LazyModule("iceberg_spark.spec.schema_json")
_partition_json = LazyModule("iceberg_spark.spec.partition_json")
_sort_json = LazyModule("iceberg_spark.spec.sort_json")

app = typer.Typer()

_FILE_COLUMNS = (
    "content", "file_path", "file_format", "record_count", "file_size_in_bytes", "partition",
)  # fmt: skip
_SNAPSHOT_COLUMNS = ("committed_at", "snapshot_id", "parent_id", "operation", "summary")


@app.command()
def describe(table: TableArgument, output: OutputOption = OutputFormat.TEXT) -> None:
    """Show a table's location, columns, partitioning, snapshot and properties."""
    loaded = ice.load_table(table)
    metadata, head = loaded.metadata, loaded.current_snapshot()
    record: dict[str, Any] = {
        "identifier": loaded.identifier,
        "location": loaded.location(),
        "metadata_location": loaded.metadata_location,
        "uuid": metadata.table_uuid,
        "format_version": metadata.format_version,
        "current_snapshot_id": None if head is None else head.snapshot_id,
        "snapshots": len(metadata.snapshots),
        "summary": {} if head is None else dict(head.summary),
        "refs": {name: ref.snapshot_id for name, ref in loaded.refs().items()},
        "schema": _schema_json.schema_to_dict(loaded.schema()),
        "partition_spec": _partition_json.spec_to_dict(loaded.spec()),
        "sort_order": _sort_json.order_to_dict(loaded.sort_order()),
        "properties": dict(loaded.properties),
    }
    if output is OutputFormat.TEXT:
        nested = ("schema", "summary", "refs", "properties")
        record["schema"] = {
            field.name: f"{field.field_type}{', required' if field.required else ''}"
            for field in loaded.schema().fields
        }
        record["partition_spec"] = _spec_text(loaded.spec(), loaded.schema())
        record["sort_order"] = _order_text(loaded.sort_order(), loaded.schema())
        record = {name: value for name, value in record.items() if name not in nested} | {
            f"{name}.{key}": value for name in nested for key, value in record[name].items()
        }
    print_record(record, output)


@app.command()
def schema(table: TableArgument, output: OutputOption = OutputFormat.TEXT) -> None:
    """Show the columns, nested ones too. JSON is the schema as the specification writes it."""
    current = ice.load_table(table).schema()
    if output is OutputFormat.JSON:
        print_json(_schema_json.schema_to_dict(current))
        return
    print_rows(["id", "name", "type", "required", "comment"], _columns(current), output)


@app.command()
def spec(table: TableArgument, output: OutputOption = OutputFormat.TEXT) -> None:
    """Show the partition spec. JSON is the spec as the specification writes it."""
    loaded = ice.load_table(table)
    if output is OutputFormat.JSON:
        print_json(_partition_json.spec_to_dict(loaded.spec()))
        return
    rows = [
        (part.field_id, part.name, str(part.transform), _names(part.source_ids, loaded.schema()))
        for part in loaded.spec().fields
    ]
    print_rows(["id", "name", "transform", "source"], rows, output)


@app.command()
def snapshots(table: TableArgument, output: OutputOption = OutputFormat.TEXT) -> None:
    """List the snapshots, oldest first."""
    _print_table(ice.load_table(table).inspect.snapshots(), _SNAPSHOT_COLUMNS, output)


@app.command()
def history(table: TableArgument, output: OutputOption = OutputFormat.TEXT) -> None:
    """List which snapshot became current when."""
    _print_table(ice.load_table(table).inspect.history(), (), output)


@app.command()
def refs(table: TableArgument, output: OutputOption = OutputFormat.TEXT) -> None:
    """List the branches and tags."""
    _print_table(ice.load_table(table).inspect.refs(), (), output)


@app.command()
def files(
    table: TableArgument,
    snapshot: SnapshotOption = None,
    ref: RefOption = None,
    output: OutputOption = OutputFormat.TEXT,
) -> None:
    """List the data and delete files. JSON has their metrics too."""
    rows = ice.load_table(table).inspect.files(snapshot, ref=ref)
    _print_table(rows, _FILE_COLUMNS, output)


@app.command()
def partitions(
    table: TableArgument,
    snapshot: SnapshotOption = None,
    ref: RefOption = None,
    output: OutputOption = OutputFormat.TEXT,
) -> None:
    """List the partitions with their files and rows."""
    _print_table(ice.load_table(table).inspect.partitions(snapshot, ref=ref), (), output)


@app.command()
def report(
    table: TableArgument,
    file: Annotated[
        Path, typer.Option("-o", "--file", metavar="FILE", help="The HTML file to write.")
    ],
    output: OutputOption = OutputFormat.TEXT,
) -> None:
    """Write a report for people: one HTML file with charts. Needs the extra report."""
    document = ice.load_table(table).report()
    try:
        document.save(file)
    except OSError as error:
        raise InvalidInputError(f"Cannot write {file}: {error.strerror}") from error
    print_result(f"Wrote a report of {table} to {file}", {"file": str(file)}, output)


def _print_table(rows: Any, text_columns: Sequence[str], output: OutputFormat) -> None:
    """Print a metadata table; text shows these columns only, if there are any."""
    names = [name for name in text_columns if name in rows.column_names]
    if names and output is OutputFormat.TEXT:
        rows = rows.select(names)
    print_batches(rows.column_names, rows.to_batches(), output)


def _columns(current: ice.Schema) -> Iterator[tuple[Any, ...]]:
    for field_id in sorted(current.field_ids):
        name = current.find_column_name(field_id)
        field = current.find_field(field_id)
        yield field_id, name, str(field.field_type), field.required, field.doc or ""


def _spec_text(current: ice.PartitionSpec, columns: ice.Schema) -> str:
    return ", ".join(
        f"{part.name} = {part.transform}({_names(part.source_ids, columns)})"
        for part in current.fields
    )


def _order_text(order: ice.SortOrder, columns: ice.Schema) -> str:
    return ", ".join(
        f"{key.transform}({_names(key.source_ids, columns)}) {key.direction} {key.null_order}"
        for key in order.fields
    )


def _names(source_ids: Sequence[int], columns: ice.Schema) -> str:
    return ", ".join(columns.find_column_name(i) or f"dropped column {i}" for i in source_ids)


properties = typer.Typer(name="properties", help="Show and change a table's properties.")


@properties.command()
def get(
    table: TableArgument,
    key: Annotated[str | None, typer.Argument(help="One property; all without it.")] = None,
    output: OutputOption = OutputFormat.TEXT,
) -> None:
    """Show properties."""
    values = ice.load_table(table).properties
    if key is None:
        print_record(dict(sorted(values.items())), output)
        return
    _check_set(table, values, [key])
    print_result(values[key], {key: values[key]}, output)


@properties.command("set")
def set_properties(
    table: TableArgument,
    properties: Annotated[list[str], typer.Argument(metavar="KEY=VALUE...")],
    output: OutputOption = OutputFormat.TEXT,
) -> None:
    """Set properties in one commit."""
    updates = parse_properties(properties)
    ice.load_table(table).update_properties().set(updates).commit()
    print_result(f"Set {', '.join(updates)} of {table}", {"set": updates}, output)


@properties.command()
def remove(
    table: TableArgument,
    keys: Annotated[list[str], typer.Argument(metavar="KEY...")],
    yes: YesOption = False,
    output: OutputOption = OutputFormat.TEXT,
) -> None:
    """Remove properties in one commit."""
    loaded = ice.load_table(table)
    _check_set(table, loaded.properties, keys)
    confirm(f"Remove {', '.join(keys)} of {table}?", yes)
    loaded.update_properties().remove(*keys).commit()
    print_result(f"Removed {', '.join(keys)} of {table}", {"removed": keys}, output)


def _check_set(table: str, properties: dict[str, str], keys: list[str]) -> None:
    for key in keys:
        if key not in properties:
            raise InvalidInputError(f"Table {table} has no property '{key}'")
