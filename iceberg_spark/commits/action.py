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
    """The updates of an action on a base.

    The commit derives requirements from the updates. `requirements` are further ones, which no
    update implies.
    """

    updates: tuple[TableUpdate, ...]
    requirements: tuple[TableRequirement, ...] = ()


class Action(Protocol):
    """A change of a table. A retry calls `validate` and `prepare` again with the newer base."""

    def validate(self, base: TableMetadata, io: FileIO) -> None:
        """Refuse the change if it conflicts with commits since it was planned.

        `base` is the committed metadata, without the snapshots of the same transaction.

        Raises:
            ValidationException: the change conflicts with another commit.
        """
        ...

    def prepare(self, base: TableMetadata, io: FileIO) -> ActionCommit:
        """Return the updates that apply the change to this base.

        May write files that nothing refers to yet: manifests and a manifest list. Reuses the
        manifests that it wrote for an earlier base if they still fit. `base` includes the changes
        of earlier actions of the same transaction.

        Raises:
            ValidationException: a file to remove is not in the table.
        """
        ...

    def clean_up(self, io: FileIO, committed: TableMetadata | None) -> None:
        """Remove the files that this action wrote and that the committed metadata does not use.

        `committed` is None if the commit failed. Never called if the outcome is unknown.
        """
        ...
