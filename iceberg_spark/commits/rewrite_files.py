"""Replace files by others with the same rows (Java: RewriteFiles)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from iceberg_spark.commits.action import ActionCommit
from iceberg_spark.commits.conflicts import history_since, refuse_new_deletes_for
from iceberg_spark.commits.manifest_filter import Paths, Selection, check_all_removed, check_row_ids
from iceberg_spark.commits.snapshot_change import FileChange, FileChanges, Removed
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.spec.data_file import DataFile, DataFileContent
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.snapshot import Operation


class RewriteFiles:
    """Replace data and delete files; the table's rows stay the same.

    `data_sequence_number` is the number of the snapshot that the rows were read from. Equality
    deletes committed since then still apply to the new files (specification: "Sequence Number
    Inheritance"). `planned_on` is the id of that snapshot. Deletes committed since then for a
    replaced file are a ValidationException; equality deletes only if there is no
    `data_sequence_number`.
    """

    def __init__(
        self,
        add: Sequence[DataFile],
        delete: Sequence[DataFile],
        *,
        planned_on: int | None,
        data_sequence_number: int | None = None,
        branch: str | None = None,
        snapshot_properties: Mapping[str, str] | None = None,
    ) -> None:
        self._add = tuple(add)
        self._data = tuple(f for f in delete if f.content is DataFileContent.DATA)
        self._deletes = tuple(f for f in delete if f.content is not DataFileContent.DATA)
        self._planned_on = planned_on
        self._data_sequence_number = data_sequence_number
        self._change = FileChange(branch, snapshot_properties)

    def validate(self, base: TableMetadata, io: FileIO) -> None:
        """Refuse deletes for the replaced files that were committed since they were read."""
        head = self._change.producer.parent(base)
        history = history_since(base, io, head, self._planned_on)
        kept_number = self._data_sequence_number is not None
        refuse_new_deletes_for(history, self._data, ignore_equality=kept_number)

    def prepare(self, base: TableMetadata, io: FileIO) -> ActionCommit:
        """Return the updates that replace the files on this base."""
        data, deletes = Paths.of(self._data), Paths.of(self._deletes)

        def check(removed: Removed) -> None:
            check_all_removed(data, removed)
            check_all_removed(deletes, removed)
            check_row_ids(self._data, removed)

        selections: list[Selection] = [data] if self._data else []
        others: list[Selection] = [deletes] if self._deletes else []
        changes = FileChanges(
            added=self._add,
            data=selections,
            deletes=others,
            operation=lambda _: Operation.REPLACE,
            check=check,
            data_sequence_number=self._data_sequence_number,
        )
        return self._change.prepare(base, io, changes)

    def clean_up(self, io: FileIO, committed: TableMetadata | None) -> None:
        """Remove manifests and manifest lists that the committed snapshot does not use."""
        self._change.clean_up(io, committed)
