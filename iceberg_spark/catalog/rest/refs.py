"""Branches and tags that a commit makes, at servers that keep none for tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from iceberg_spark.catalog.catalog import TableChange
from iceberg_spark.errors import UnsupportedError
from iceberg_spark.spec.snapshot import MAIN_BRANCH
from iceberg_spark.spec.updates import RemoveSnapshotRef, SetSnapshotRef

IS_NESSIE = "nessie.is-nessie-catalog"
"""What Nessie's configuration says of itself. It has branches of the whole catalog, says yes to one
of a table, and puts the rows that were meant for that into the table's main branch."""


def refs_of(change: TableChange) -> set[str]:
    """Return the branches and tags that a commit sets, and leaves."""
    names: set[str] = set()
    for update in change.updates:
        match update:
            case SetSnapshotRef(ref_name=name):
                names.add(name)
            case RemoveSnapshotRef(ref_name=name):
                names.discard(name)
            case _:
                continue
    return names


def refuse_refs(config: Mapping[str, str], changes: Iterable[TableChange], shown: str) -> None:
    """Refuse branches and tags of tables before anything is sent to a server that keeps none."""
    names = sorted({name for change in changes for name in refs_of(change)} - {MAIN_BRANCH})
    if names and config.get(IS_NESSIE, "").lower() == "true":
        raise UnsupportedError(
            f"Nessie keeps no branch or tag {', '.join(names)} for {shown} alone: its branches are "
            "of the whole catalog. Make one there and name it by the catalog's property 'prefix'"
        )
