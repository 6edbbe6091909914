"""Commands on the installation: `doctor` and `version`."""

from __future__ import annotations

import typer

import iceberg_spark as ice
from iceberg_spark.cli.arguments import OutputOption
from iceberg_spark.cli.output import OutputFormat, print_result, print_rows

app = typer.Typer()


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
