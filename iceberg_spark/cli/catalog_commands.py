"""Commands on catalogs: what is in them, and creating, dropping and renaming tables."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Annotated

import typer

import iceberg_spark as ice
from iceberg_spark.cli.arguments import (
    CatalogArgument,
    OutputOption,
    TableArgument,
    YesOption,
    catalog_and_name,
    catalog_and_namespace,
    confirm,
)
from iceberg_spark.cli.output import OutputFormat, print_result, print_rows
from iceberg_spark.errors import InvalidInputError, NoSuchNamespaceError
from iceberg_spark.lazy import LazyModule

_registry = LazyModule("iceberg_spark.catalog.registry")

app = typer.Typer()
Name = tuple[str, ...]


@app.command()
def namespaces(catalog: CatalogArgument, output: OutputOption = OutputFormat.TEXT) -> None:
    """List namespaces, with those below them."""
    opened, parent = catalog_and_namespace(catalog)
    rows = ((".".join((opened.name, *name)),) for name in _namespaces_below(opened, parent))
    print_rows(["namespace"], rows, output)


@app.command()
def tables(catalog: CatalogArgument, output: OutputOption = OutputFormat.TEXT) -> None:
    """List the tables of a namespace, or of all namespaces of a catalog."""
    opened, parent = catalog_and_namespace(catalog)
    names = opened.list_tables(parent) if parent else _all_tables(opened)
    rows = ((".".join((opened.name, *name)),) for name in names)
    print_rows(["table"], rows, output)


@app.command("create-namespace")
def create_namespace(namespace: CatalogArgument, output: OutputOption = OutputFormat.TEXT) -> None:
    """Create a namespace."""
    opened, name = catalog_and_namespace(namespace)
    opened.create_namespace(_checked(namespace, name))
    print_result(f"Created namespace {namespace}", {"created": namespace}, output)


@app.command("drop-namespace")
def drop_namespace(
    namespace: CatalogArgument,
    cascade: Annotated[
        bool, typer.Option("--cascade", help="Drop its tables and views too; their files stay.")
    ] = False,
    yes: YesOption = False,
    output: OutputOption = OutputFormat.TEXT,
) -> None:
    """Drop a namespace."""
    opened, name = catalog_and_namespace(namespace)
    contents = " and all tables and views in it" if cascade else ""
    confirm(f"Drop namespace {namespace}{contents}?", yes)
    opened.drop_namespace(_checked(namespace, name), cascade=cascade)
    print_result(f"Dropped namespace {namespace}", {"dropped": namespace}, output)


@app.command()
def create(
    table: TableArgument,
    schema: Annotated[
        str, typer.Option(metavar="DDL", help="For example: 'id bigint NOT NULL, ts timestamp'.")
    ],
    partition_by: Annotated[
        list[str] | None,
        typer.Option(metavar="FIELD", help="A column or a transform: 'days(ts)'. May repeat."),
    ] = None,
    sort_by: Annotated[
        list[str] | None, typer.Option(metavar="FIELD", help="For example: 'id desc'. May repeat.")
    ] = None,
    properties: Annotated[
        list[str] | None,
        typer.Option("--property", metavar="KEY=VALUE", help="A table property. May repeat."),
    ] = None,
    output: OutputOption = OutputFormat.TEXT,
) -> None:
    """Create an empty table."""
    created = ice.create_table(
        table,
        schema,
        partition_by=partition_by or (),
        sort_order=sort_by or (),
        properties=parse_properties(properties or []),
    )
    location = created.location()
    print_result(f"Created {table} at {location}", {"created": table, "location": location}, output)


@app.command()
def drop(
    table: TableArgument,
    purge: Annotated[bool, typer.Option("--purge", help="Delete the table's files too.")] = False,
    yes: YesOption = False,
    output: OutputOption = OutputFormat.TEXT,
) -> None:
    """Drop a table."""
    catalog, name = catalog_and_name(table)
    loses_files = purge or _registry.catalog_of(table) is None
    confirm(f"Drop {table}{' and delete its files' if loses_files else ''}?", yes)
    catalog.drop_table(name, purge=purge)
    print_result(f"Dropped {table}", {"dropped": table, "purged": purge}, output)


@app.command()
def rename(
    table: TableArgument,
    new_name: Annotated[str, typer.Argument(metavar="NEW_NAME", help="In the same catalog.")],
    output: OutputOption = OutputFormat.TEXT,
) -> None:
    """Rename a table; its files stay where they are."""
    names = [_registry.catalog_of(name) for name in (table, new_name)]
    if names[0] is None or names[0] != names[1]:
        raise InvalidInputError(
            f"Cannot rename {table} to {new_name}: both must be names of one catalog, such as "
            "prod.db.events"
        )
    catalog, name = catalog_and_name(table)
    catalog.rename_table(name, _registry.identifier_of(new_name))
    print_result(f"Renamed {table} to {new_name}", {"renamed": table, "new_name": new_name}, output)


def parse_properties(texts: list[str]) -> dict[str, str]:
    """Parse properties that are written as KEY=VALUE.

    Raises:
        InvalidInputError: A text has no `=`.

    Examples:
        >>> parse_properties(["format-version=3"])
        {'format-version': '3'}
    """
    for text in texts:
        if not text.partition("=")[1]:
            raise InvalidInputError(f"'{text}' is not a property: write KEY=VALUE")
    return {key: value for key, _, value in (text.partition("=") for text in texts)}


def _all_tables(catalog: ice.TableCatalog) -> Iterator[Name]:
    with suppress(NoSuchNamespaceError):  # most catalogs have no tables in their root
        yield from catalog.list_tables(())
    for namespace in _namespaces_below(catalog, ()):
        yield from catalog.list_tables(namespace)


def _namespaces_below(catalog: ice.TableCatalog, parent: Name) -> Iterator[Name]:
    for namespace in catalog.list_namespaces(parent):
        yield namespace
        yield from _namespaces_below(catalog, namespace)


def _checked(text: str, name: Name) -> Name:
    if not name:
        raise InvalidInputError(f"{text} names a catalog: write CATALOG.NAMESPACE")
    return name
