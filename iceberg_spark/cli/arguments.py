"""Arguments and options that commands share, and the confirmation of what can't be undone."""

from __future__ import annotations

import sys
import time
from datetime import UTC, datetime
from typing import Annotated

import typer

import iceberg_spark as ice
from iceberg_spark.cli.output import OutputFormat
from iceberg_spark.errors import InvalidInputError
from iceberg_spark.lazy import LazyModule
from iceberg_spark.spec.printable import printable
from iceberg_spark.spec.properties import duration_ms

_registry = LazyModule("iceberg_spark.catalog.registry")

TableArgument = Annotated[
    str, typer.Argument(metavar="TABLE", help="A name such as prod.db.events, or a location.")
]
CatalogArgument = Annotated[
    str, typer.Argument(metavar="CATALOG[.NAMESPACE]", help="A catalog, or a namespace in it.")
]
OutputOption = Annotated[OutputFormat, typer.Option("--output", help="How results are printed.")]
YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
FilterOption = Annotated[
    str | None, typer.Option("--filter", metavar="PREDICATE", help="For example: id > 10.")
]
TimeZoneOption = Annotated[
    str | None,
    typer.Option(metavar="ZONE", help="Of timestamps in the filter that have no offset."),
]
SnapshotOption = Annotated[
    int | None, typer.Option("--snapshot", metavar="ID", help="The snapshot with this id.")
]
RefOption = Annotated[
    str | None, typer.Option("--ref", metavar="NAME", help="The snapshot of a branch or tag.")
]


def catalog_and_name(table: str) -> tuple[ice.TableCatalog, str]:
    """Return the catalog that has a table, and what that catalog calls the table.

    Raises:
        InvalidInputError: The catalog is not configured, or the name has an empty part.
    """
    catalog, identifier = _registry.resolve(table)
    return ice.TableCatalog(catalog), identifier


def catalog_and_namespace(name: str) -> tuple[ice.TableCatalog, tuple[str, ...]]:
    """Return the catalog and the namespace of `CATALOG[.NAMESPACE]`; the root is `()`.

    Raises:
        InvalidInputError: The catalog is not configured.
    """
    catalog, _, namespace = name.partition(".")
    return ice.load_catalog(catalog), tuple(namespace.split(".")) if namespace else ()


def parse_moment(text: str | None) -> datetime | None:
    """Parse `--older-than`: a time with an offset, or a length of time before now.

    Raises:
        InvalidInputError: The text is neither.

    Examples:
        >>> parse_moment("2026-01-31T00:00:00Z")
        datetime.datetime(2026, 1, 31, 0, 0, tzinfo=datetime.timezone.utc)
    """
    if text is None:
        return None
    length = None if text.strip().isdigit() else duration_ms(text)
    if length is not None:
        return datetime.fromtimestamp(time.time() - length / 1000, UTC)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise InvalidInputError(
            f"--older-than {text}: write a length of time such as '7 days', or a time with an "
            "offset such as 2026-01-31T00:00:00Z"
        )
    return moment


def confirm(question: str, yes: bool) -> None:
    """Ask on the terminal before a change that can't be undone; `--yes` answers.

    Raises:
        InvalidInputError: There is no terminal to ask on, and no `--yes`.
        typer.Abort: The answer is no.
    """
    if yes:
        return
    if not sys.stdin.isatty():
        raise InvalidInputError(
            f"{question} Nothing was changed: there is no terminal to ask on, so add --yes"
        )
    typer.confirm(printable(question), abort=True, err=True)
