"""Commands that read rows: `scan`, `count`, `diff` and `sql`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

import iceberg_spark as ice
from iceberg_spark.cli.arguments import (
    FilterOption,
    OutputOption,
    RefOption,
    SnapshotOption,
    TableArgument,
    TimeZoneOption,
)
from iceberg_spark.cli.output import OutputFormat, print_batches, print_note, print_result
from iceberg_spark.errors import InvalidInputError, no_pyspark
from iceberg_spark.lazy import LazyModule

_row_file = LazyModule("iceberg_spark.cli.row_file")
_pyspark_sql = LazyModule("pyspark.sql")

app = typer.Typer()

ColumnsOption = Annotated[
    str | None, typer.Option("--columns", metavar="a,b", help="The columns; nested ones as a.b.")
]


@app.command()
def scan(  # noqa: PLR0913, PLR0917 - options of one command
    table: TableArgument,
    row_filter: FilterOption = None,
    time_zone: TimeZoneOption = None,
    columns: ColumnsOption = None,
    limit: Annotated[int | None, typer.Option(metavar="N", help="At most this many rows.")] = None,
    snapshot: SnapshotOption = None,
    ref: RefOption = None,
    file: Annotated[
        Path | None,
        typer.Option("-o", "--file", metavar="FILE", help="Write .parquet, .csv or .arrow."),
    ] = None,
    output: OutputOption = OutputFormat.TEXT,
) -> None:
    """Print rows, or write them to a file. Rows are streamed: memory holds a batch at a time."""
    if file is not None:
        _row_file.check_kind(file)
    selected = replace(_scan(table, row_filter, snapshot, ref), limit=limit, time_zone=time_zone)
    reader = selected.select(*_names(columns)).to_arrow_batch_reader()
    if file is None:
        print_batches(reader.schema.names, reader, output)
        return
    rows = _row_file.write_rows(reader, file)
    print_result(f"Wrote {rows:,} rows to {file}", {"file": str(file), "rows": rows}, output)


@app.command()
def count(
    table: TableArgument,
    row_filter: FilterOption = None,
    time_zone: TimeZoneOption = None,
    snapshot: SnapshotOption = None,
    ref: RefOption = None,
    output: OutputOption = OutputFormat.TEXT,
) -> None:
    """Count rows, from metadata if it has the answer."""
    rows = replace(_scan(table, row_filter, snapshot, ref), time_zone=time_zone).count()
    print_result(str(rows), {"count": rows}, output)


@app.command()
def diff(
    table: TableArgument,
    start: Annotated[str, typer.Argument(metavar="A", help="A snapshot id, branch or tag.")],
    end: Annotated[str, typer.Argument(metavar="B", help="A later snapshot id, branch or tag.")],
    row_filter: FilterOption = None,
    time_zone: TimeZoneOption = None,
    columns: ColumnsOption = None,
    net: Annotated[
        bool, typer.Option("--net", help="Leave out rows that came and went again.")
    ] = False,
    output: OutputOption = OutputFormat.TEXT,
) -> None:
    """Print the rows that were inserted and deleted after A, up to and including B."""
    loaded = ice.load_table(table)
    changes = loaded.scan(row_filter, _names(columns), time_zone=time_zone).changes(
        _snapshot_or_ref(loaded, start), _snapshot_or_ref(loaded, end), net_changes=net
    )
    reader = changes.to_arrow_batch_reader()
    print_batches(reader.schema.names, reader, output)


@app.command()
def sql(
    statement: Annotated[str, typer.Argument(metavar="TEXT", help="One SQL statement.")],
    limit: Annotated[int, typer.Option(metavar="N", help="Show at most this many rows.")] = 1000,
    output: OutputOption = OutputFormat.TEXT,
) -> None:
    """Run a SQL statement with Spark, which starts in this process. Needs PySpark and Java."""
    try:
        rows = _run_sql(statement, limit + 1)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "pyspark":
            raise
        raise no_pyspark() from error
    print_batches(rows.column_names, rows.slice(0, limit).to_batches(), output)
    if rows.num_rows > limit:
        print_note(f"Only the first {limit:,} rows are shown: --limit shows more")


def _run_sql(statement: str, most_rows: int) -> Any:  # importing pyarrow for a type takes long
    """Run a statement in a Spark session of this process; return its first rows as Arrow."""
    builder = _pyspark_sql.SparkSession.builder.appName("iceberg-spark")
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
    }
    session = builder.config(map=settings).getOrCreate()
    return ice.sql(session, statement).limit(most_rows).toArrow()


def _scan(
    table: str, row_filter: str | None, snapshot_id: int | None, ref: str | None
) -> ice.TableScan:
    loaded = ice.load_table(table)
    if snapshot_id is not None and ref is not None:
        raise InvalidInputError("--snapshot and --ref exclude each other")
    if ref is not None and ref in loaded.refs() and not loaded.refs()[ref].is_branch:
        return loaded.scan(row_filter, tag=ref)
    return loaded.scan(row_filter, snapshot_id=snapshot_id, branch=ref)


def _names(columns: str | None) -> tuple[str, ...]:
    return tuple(columns.split(",")) if columns else ("*",)


def _snapshot_or_ref(table: ice.Table, text: str) -> int | str:
    is_id = text.removeprefix("-").isdecimal() and text not in table.refs()
    return int(text) if is_id else text
