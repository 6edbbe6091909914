"""Commands that maintain a table: what they would do comes first, and the changes if confirmed."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

import typer

import iceberg_spark as ice
from iceberg_spark.cli.arguments import (
    FilterOption,
    OutputOption,
    TableArgument,
    YesOption,
    confirm,
    parse_moment,
)
from iceberg_spark.cli.catalog_commands import parse_properties
from iceberg_spark.cli.output import OutputFormat, print_note, print_result, print_rows

app = typer.Typer()
maintenance = typer.Typer(name="maintenance", help="Plan and run what a table needs.")

OlderThanOption = Annotated[
    str | None,
    typer.Option(metavar="TIME", help="'7 days', or a time such as 2026-01-31T00:00:00Z."),
]
DryRunOption = Annotated[
    bool, typer.Option("--dry-run", help="Change nothing, and show what would be done.")
]
_PLAN_COLUMNS = ["action", "reason", "gain", "bytes", "requests"]


@app.command()
def expire(
    table: TableArgument,
    older_than: OlderThanOption = None,
    retain_last: Annotated[
        int | None, typer.Option(metavar="N", help="Snapshots that stay at least.")
    ] = None,
    dry_run: DryRunOption = False,
    yes: YesOption = False,
    output: OutputOption = OutputFormat.TEXT,
) -> None:
    """Remove old snapshots, and the files that only they need."""
    care = ice.load_table(table).maintenance
    moment = parse_moment(older_than)
    result = care.expire_snapshots(moment, retain_last, dry_run=True)
    if not dry_run and result.snapshot_ids:
        confirm(f"{result!r}. Expire them?", yes)
        result = care.expire_snapshots(moment, retain_last)
    counts = {
        name: value for name, value in asdict(result).items()
        if name.endswith("_count") or name in ("snapshot_ids", "refs", "dry_run", "not_deleted")
    }  # fmt: skip
    print_result(repr(result), counts, output)


@app.command()
def orphans(
    table: TableArgument,
    delete: Annotated[bool, typer.Option("--delete", help="Delete the files.")] = False,
    older_than: OlderThanOption = None,
    yes: YesOption = False,
    output: OutputOption = OutputFormat.TEXT,
) -> None:
    """List files that no snapshot names, older than three days; --delete deletes them."""
    care = ice.load_table(table).maintenance
    moment = parse_moment(older_than)
    result = care.remove_orphan_files(moment, dry_run=True)
    if not delete or not result.orphan_files_count:
        print_rows(["file_path"], ((path,) for path in result.orphan_file_locations), output)
        return
    confirm(f"Delete {result.orphan_files_count:,} orphan files of {table}?", yes)
    result = care.remove_orphan_files(moment)
    print_result(repr(result), asdict(result), output)


@app.command()
def compact(
    table: TableArgument,
    row_filter: FilterOption = None,
    sort: Annotated[
        str | None, typer.Option(metavar="ORDER", help="'id desc, day', or 'zorder(a, b)'.")
    ] = None,
    options: Annotated[
        list[str] | None,
        typer.Option("--option", metavar="KEY=VALUE", help="Of Java's procedure. May repeat."),
    ] = None,
    output: OutputOption = OutputFormat.TEXT,
) -> None:
    """Rewrite data files that are too small, too large or have many deletes."""
    result = ice.load_table(table).maintenance.rewrite_data_files(
        None if sort is None else "sort", sort, row_filter, parse_properties(options or [])
    )
    print_result(str(result), asdict(result), output)


@app.command("rewrite-manifests")
def rewrite_manifests(table: TableArgument, output: OutputOption = OutputFormat.TEXT) -> None:
    """Rewrite manifests, sorted by partition and of an even size."""
    result = ice.load_table(table).maintenance.rewrite_manifests()
    counts = {
        "rewritten_manifests_count": result.rewritten_manifests_count,
        "added_manifests_count": result.added_manifests_count,
    }
    print_result(str(result), counts, output)


@app.command()
def check(table: TableArgument, output: OutputOption = OutputFormat.TEXT) -> None:
    """Compare the metadata with the specification. The exit status is 1 if a rule is broken."""
    result = ice.load_table(table).maintenance.check()
    print_result(str(result), asdict(result), output)
    raise typer.Exit(0 if result.is_sound else 1)


@maintenance.command()
def plan(table: TableArgument, output: OutputOption = OutputFormat.TEXT) -> None:
    """List what is worth doing, why, and at what cost."""
    _print_plan(ice.load_table(table), output)


@maintenance.command()
def run(
    table: TableArgument,
    yes: YesOption = False,
    output: OutputOption = OutputFormat.TEXT,
) -> None:
    """Do what the plan lists."""
    loaded = ice.load_table(table)
    items = loaded.maintenance.plan()
    if items:
        for item in items:
            print_note(str(item))
        confirm(f"Do this to {table}?", yes)
    results = loaded.maintenance.run() if items else {}
    rows = [(action, str(result)) for action, result in results.items()]
    print_rows(["action", "result"], rows, output)


def _print_plan(table: ice.Table, output: OutputFormat) -> None:
    rows: list[tuple[Any, ...]] = [
        (item.action, item.reason, item.gain, item.bytes, item.requests)
        for item in table.maintenance.plan()
    ]
    print_rows(_PLAN_COLUMNS, rows, output)
