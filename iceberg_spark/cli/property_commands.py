"""Commands on the properties of a table."""

from __future__ import annotations

from typing import Annotated

import typer

import iceberg_spark as ice
from iceberg_spark.cli.arguments import OutputOption, TableArgument, YesOption, confirm
from iceberg_spark.cli.catalog_commands import parse_properties
from iceberg_spark.cli.output import OutputFormat, print_record, print_result
from iceberg_spark.errors import InvalidInputError

app = typer.Typer(name="properties", help="Show and change a table's properties.")


@app.command()
def get(
    table: TableArgument,
    key: Annotated[str | None, typer.Argument(help="One property; all without it.")] = None,
    output: OutputOption = OutputFormat.TEXT,
) -> None:
    """Show properties."""
    properties = ice.load_table(table).properties
    if key is None:
        print_record(dict(sorted(properties.items())), output)
        return
    _check_set(table, properties, [key])
    print_result(properties[key], {key: properties[key]}, output)


@app.command("set")
def set_properties(
    table: TableArgument,
    properties: Annotated[list[str], typer.Argument(metavar="KEY=VALUE...")],
    output: OutputOption = OutputFormat.TEXT,
) -> None:
    """Set properties in one commit."""
    updates = parse_properties(properties)
    ice.load_table(table).update_properties().set(updates).commit()
    print_result(f"Set {', '.join(updates)} of {table}", {"set": updates}, output)


@app.command()
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
