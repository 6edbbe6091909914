"""Commands on branches and tags, and on the current snapshot."""

from __future__ import annotations

from typing import Annotated

import typer

import iceberg_spark as ice
from iceberg_spark.cli.arguments import (
    OutputOption,
    SnapshotOption,
    TableArgument,
    YesOption,
    confirm,
)
from iceberg_spark.cli.output import OutputFormat, print_result, print_rows

app = typer.Typer()
branch = typer.Typer(name="branch", help="List, create and drop branches.")
tag = typer.Typer(name="tag", help="List, create and drop tags.")

NameArgument = Annotated[str, typer.Argument(metavar="NAME")]


@app.command()
def rollback(
    table: TableArgument,
    snapshot_id: Annotated[int, typer.Argument(metavar="ID", help="An earlier snapshot of main.")],
    yes: YesOption = False,
    output: OutputOption = OutputFormat.TEXT,
) -> None:
    """Move the main branch back to one of its earlier snapshots."""
    loaded = ice.load_table(table)
    confirm(f"Roll {table} back to snapshot {snapshot_id}?", yes)
    loaded.manage_snapshots().rollback_to_snapshot(snapshot_id).commit()
    print_result(
        f"Rolled {table} back to snapshot {snapshot_id}", {"snapshot_id": snapshot_id}, output
    )


@branch.command("list")
def list_branches(table: TableArgument, output: OutputOption = OutputFormat.TEXT) -> None:
    """List branches."""
    _print_references(table, is_branch=True, output=output)


@branch.command("create")
def create_branch(
    table: TableArgument,
    name: NameArgument,
    snapshot: SnapshotOption = None,
    output: OutputOption = OutputFormat.TEXT,
) -> None:
    """Create a branch at a snapshot, by default the current one."""
    ice.load_table(table).manage_snapshots().create_branch(snapshot, name).commit()
    print_result(f"Created branch {name} of {table}", {"created": name}, output)


@branch.command("drop")
def drop_branch(
    table: TableArgument,
    name: NameArgument,
    yes: YesOption = False,
    output: OutputOption = OutputFormat.TEXT,
) -> None:
    """Drop a branch. Snapshots that only it has can then expire."""
    changes = ice.load_table(table).manage_snapshots().remove_branch(name)
    confirm(f"Drop branch {name} of {table}?", yes)
    changes.commit()
    print_result(f"Dropped branch {name} of {table}", {"dropped": name}, output)


@tag.command("list")
def list_tags(table: TableArgument, output: OutputOption = OutputFormat.TEXT) -> None:
    """List tags."""
    _print_references(table, is_branch=False, output=output)


@tag.command("create")
def create_tag(
    table: TableArgument,
    name: NameArgument,
    snapshot: SnapshotOption = None,
    output: OutputOption = OutputFormat.TEXT,
) -> None:
    """Create a tag at a snapshot, by default the current one."""
    ice.load_table(table).manage_snapshots().create_tag(snapshot, name).commit()
    print_result(f"Created tag {name} of {table}", {"created": name}, output)


@tag.command("drop")
def drop_tag(
    table: TableArgument,
    name: NameArgument,
    yes: YesOption = False,
    output: OutputOption = OutputFormat.TEXT,
) -> None:
    """Drop a tag. A snapshot that only it has can then expire."""
    changes = ice.load_table(table).manage_snapshots().remove_tag(name)
    confirm(f"Drop tag {name} of {table}?", yes)
    changes.commit()
    print_result(f"Dropped tag {name} of {table}", {"dropped": name}, output)


def _print_references(table: str, *, is_branch: bool, output: OutputFormat) -> None:
    rows = [
        (name, ref.snapshot_id, ref.max_ref_age_ms, ref.max_snapshot_age_ms,
         ref.min_snapshots_to_keep)
        for name, ref in ice.load_table(table).refs().items()
        if ref.is_branch is is_branch
    ]  # fmt: skip
    names = ["name", "snapshot_id", "max_ref_age_ms", "max_snapshot_age_ms",
             "min_snapshots_to_keep"]  # fmt: skip
    print_rows(names, rows, output)
