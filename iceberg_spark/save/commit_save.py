"""The commit of a planned save's files, on the table's newest version."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from iceberg_spark.catalog.catalog import Catalog, LoadedTable, NewTable
from iceberg_spark.catalog.registry import resolve
from iceberg_spark.commits.commit import CleanupOnFailure, commit
from iceberg_spark.commits.create_table import DropOnFailure, drop_unchanged
from iceberg_spark.commits.table_part import check_same_table
from iceberg_spark.errors import (
    AlreadyCommittedException,
    NoSuchTableError,
    TableAlreadyExistsError,
)
from iceberg_spark.maintenance.auto_compact import compact_after
from iceberg_spark.save.plan_save import SavePlan, TablePlace, UpsertPlan, plan_save
from iceberg_spark.save.write_options import WriteOptions
from iceberg_spark.spec.data_file import DataFile
from iceberg_spark.spec.schema import Schema
from iceberg_spark.write.cdc_writer import UpsertedFiles


def commit_save(target: TablePlace, plan: SavePlan, files: Sequence[DataFile]) -> None:
    """Commit what the tasks of a save wrote; nothing of it stays when that is refused.

    A batch that is committed already is skipped. A table that asks for it is compacted a little
    afterwards. Raises what `commits.commit.commit` raises.
    """
    catalog, identifier = resolve(target.path, target.storage)
    io = plan.context.io
    paths = [file.file_path for file in files]
    base = after = None
    with (
        suppress(AlreadyCommittedException),
        CleanupOnFailure(io, paths) as commit_state,
        DropOnFailure(catalog, identifier, plan.created_table, commit_state),
    ):
        base = None if plan.creation else _loaded(catalog, identifier, plan.uuid)
        actions = plan.actions(io, files)
        creation = NewTable(plan.creation, io) if plan.creation else None
        after = commit(
            catalog, identifier, actions, base, creation=creation, commit_state=commit_state
        )
    if after is not None:
        compact_after(catalog, base, after)


def create_if_missing(options: WriteOptions, columns: Schema) -> None:
    """Create the table that the options describe, without rows, unless it exists.

    Raises what `plan_save` and `commits.commit.commit` raise.
    """
    catalog, identifier = resolve(options.path, options.storage)
    with suppress(NoSuchTableError):
        catalog.load(identifier)
        return
    plan = plan_save(options, columns, overwrite=False)
    if plan.creation:  # else another writer or the catalog's server has created it
        creation = NewTable(plan.creation, plan.context.io)
        with suppress(TableAlreadyExistsError):
            commit(catalog, identifier, (), None, creation=creation)


@contextmanager
def not_in_vain(target: TablePlace, plan: SavePlan) -> Iterator[None]:
    """Take back what a plan brought about, if the block fails that was to write its files."""
    try:
        yield
    except BaseException:
        take_back(target, plan)
        raise


def take_back(target: TablePlace, plan: SavePlan) -> None:
    """Drop the empty table that a server made for a save which is not committed."""
    if plan.created_table is not None:
        catalog, identifier = resolve(target.path, target.storage)
        drop_unchanged(catalog, identifier, plan.created_table)


def commit_upsert(target: TablePlace, plan: UpsertPlan, files: UpsertedFiles) -> None:
    """Commit what the tasks of an upsert wrote; as `commit_save`."""
    catalog, identifier = resolve(target.path, target.storage)
    io = plan.context.write.io
    base = after = None
    with suppress(AlreadyCommittedException), CleanupOnFailure(io, files.paths) as commit_state:
        base = _loaded(catalog, identifier, plan.uuid)
        after = commit(catalog, identifier, plan.actions(files), base, commit_state=commit_state)
    if after is not None:
        compact_after(catalog, base, after)


def _loaded(catalog: Catalog, identifier: str, uuid: str | None) -> LoadedTable:
    """Load the table as it is now. Raises ValidationException where it isn't that of the plan."""
    table = catalog.load(identifier)
    if uuid is not None:
        check_same_table(table, uuid)
    return table
