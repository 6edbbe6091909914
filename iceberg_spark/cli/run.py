"""The command line as a whole: `run(arguments)` returns the exit status.

0: done. 1: refused or failed, with one message on standard error. 2: the arguments are wrong.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import typer

import iceberg_spark as ice
from iceberg_spark.cli import (
    catalog_commands,
    maintenance_commands,
    reference_commands,
    row_commands,
    table_commands,
)
from iceberg_spark.cli.arguments import OutputOption
from iceberg_spark.cli.output import OutputFormat, print_result, print_rows
from iceberg_spark.errors import IcebergError
from iceberg_spark.spec.printable import printable

app = typer.Typer(
    name="iceberg-spark",
    help="Apache Iceberg tables from the command line.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
for part in (
    catalog_commands, table_commands, row_commands, maintenance_commands, reference_commands,
):  # fmt: skip
    app.registered_commands += part.app.registered_commands
for group in (
    table_commands.properties, reference_commands.branch, reference_commands.tag,
    maintenance_commands.maintenance,
):  # fmt: skip
    app.add_typer(group)

_TRACEBACK = "ICEBERG_SPARK_TRACEBACK"


def run(arguments: Sequence[str]) -> int:
    """Run a command and return its exit status.

    Examples:
        >>> run(["count", "prod.db.events", "--filter", "id > 10"])
        42
        0
    """
    try:
        app(list(arguments), prog_name="iceberg-spark")
    except SystemExit as done:
        return done.code if isinstance(done.code, int) else int(done.code is not None)
    except Exception as error:
        if os.environ.get(_TRACEBACK):
            raise
        sys.stderr.write(f"Error: {_message(error)}\n")
        return 1
    return 0


@app.command()
def doctor(output: OutputOption = OutputFormat.TEXT) -> None:
    """Check Python, Java, PySpark, extras and catalogs. The exit status is 1 if one is wrong."""
    report = ice.doctor()
    if output is OutputFormat.JSON:
        rows = [(item.what, str(item.state), item.found, item.to_do) for item in report.findings]
        print_rows(["check", "state", "result", "advice"], rows, output)
    else:
        print_result(repr(report), {}, output)
    raise typer.Exit(0 if report.ok else 1)


@app.command()
def version(output: OutputOption = OutputFormat.TEXT) -> None:
    """Print the version of this package."""
    print_result(ice.__version__, {"version": ice.__version__}, output)


def _message(error: Exception) -> str:
    """Return the message on one line: of other libraries' errors the first one, with its kind."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [""]
    if isinstance(error, IcebergError):
        return printable(" ".join(lines))
    return printable(f"{type(error).__name__}: {lines[0]} ({_TRACEBACK}=1 shows where)")
