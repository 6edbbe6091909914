"""The port of changes: an action is a function of the base metadata."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from iceberg_spark.io.file_io import FileIO
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.requirements import TableRequirement
from iceberg_spark.spec.updates import TableUpdate


@dataclass(frozen=True, slots=True)
class ActionCommit:
    """What an action wants done on a base; requirements are derived from the updates.

    `requirements` are those that no update tells of.
    """

    updates: tuple[TableUpdate, ...]
    requirements: tuple[TableRequirement, ...] = ()


class Action(Protocol):
    """A change of a table. A retry calls `validate` and `prepare` again with the newer base."""

    def validate(self, base: TableMetadata, io: FileIO) -> None:
        """Refuse the change when it conflicts with what was committed since it was planned.

        `base` is what is committed: snapshots of the same transaction are not in it. Raises
        ValidationException.
        """
        ...

    def prepare(self, base: TableMetadata, io: FileIO) -> ActionCommit:
        """Return the updates that make the change on this base.

        May write files that nothing refers to yet (manifests, a manifest list) and reuses those
        it wrote for an earlier base where they still fit. `base` has what earlier actions of the
        same transaction did. Raises ValidationException when files that the change removes are
        not there.
        """
        ...

    def clean_up(self, io: FileIO, committed: TableMetadata | None) -> None:
        """Remove files this action wrote that the committed metadata does not use.

        `committed` is None when nothing landed. Never called when the state is unknown.
        """
        ...
