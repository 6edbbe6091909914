"""Verbs of one call: planned on the table's newest version, not on the one that is shown."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from iceberg_spark.api.staged_changes import StagedChanges
from iceberg_spark.catalog.catalog import Catalog, LoadedTable
from iceberg_spark.commits.commit import CommitState
from iceberg_spark.errors import CommitFailedException, CommitStateUnknownException
from iceberg_spark.maintenance.auto_compact import compact_after
from iceberg_spark.save.write_options import WriteOptions


def newest(catalog: Catalog, shown: LoadedTable) -> LoadedTable:
    """Load a table's newest version. Raises CommitFailedException if the table was replaced."""
    loaded = catalog.load(shown.identifier)
    if loaded.metadata.table_uuid != shown.metadata.table_uuid:
        raise CommitFailedException(
            f"{shown.identifier} is another table by now, it was dropped and created again "
            "(its uuid differs): load it to change it"
        )
    return loaded


@contextmanager
def verb(
    catalog: Catalog,
    shown: LoadedTable,
    take: Callable[[LoadedTable], None],
    *,
    on_shown: bool = False,
    options: WriteOptions | None = None,
) -> Iterator[StagedChanges]:
    """Yield the changes of one verb, commit them, and pass the resulting version to `take`.

    That is the newest version if there was no change to commit. `take` is not called on an error.
    With `on_shown` the changes are planned on the shown version; the commit detects a newer one.
    `options` are those of the write and of the session.
    """
    outcome = shown if on_shown else newest(catalog, shown)

    def note(committed: LoadedTable) -> None:
        nonlocal outcome
        outcome = committed

    changes = StagedChanges(catalog, outcome, options=options)
    try:
        yield changes
    except BaseException:
        changes.discard()
        raise
    before = outcome
    try:
        changes.land(note)
        take(outcome)
        compact_after(catalog, before, outcome)
    except BaseException as error:  # an interrupt between these says that the commit has landed
        if outcome is before or isinstance(error, CommitStateUnknownException):
            raise
        raise CommitState(may_have_landed=True, landed=True).unknown(error) from error
