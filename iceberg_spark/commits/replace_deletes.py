"""Replace delete files by others that delete the same rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pyarrow.compute as pc

from iceberg_spark.commits.action import ActionCommit
from iceberg_spark.commits.conflicts import (
    History,
    history_since,
    refuse_new_vectors,
    require_data_files,
)
from iceberg_spark.commits.manifest_filter import Paths, check_all_removed
from iceberg_spark.commits.new_manifests import data_files_of
from iceberg_spark.commits.snapshot_change import FileChange, FileChanges, Removed
from iceberg_spark.errors import ValidationException
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.spec.data_file import (
    DataFile,
    DataFileContent,
    DeleteKey,
    ManifestEntry,
    ManifestEntryStatus,
)
from iceberg_spark.spec.manifest_file import ManifestContent
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.partition import partition_key
from iceberg_spark.spec.snapshot import Operation

_ADD_DATA = (Operation.APPEND, Operation.OVERWRITE, Operation.REPLACE)


class ReplaceDeletes:
    """Replace delete files (`removed`: their manifest entries, and others); no row changes.

    `sequence_numbers` maps the key of a new file to the data sequence number of the files that it
    replaces; other files get the commit's number. These are a ValidationException:

    - A data file in the scope of a removed equality delete, added since `planned_on` with a smaller
      data sequence number. A compaction can add one, and deleted rows would come back.
    - A deletion vector of a data file that another commit gave a vector since, or removed.
    """

    def __init__(
        self,
        added: Sequence[DataFile],
        removed: Sequence[ManifestEntry],
        *,
        planned_on: int | None,
        also_removed: Sequence[DataFile] = (),
        sequence_numbers: Mapping[DeleteKey, int] | None = None,
        branch: str | None = None,
        snapshot_properties: Mapping[str, str] | None = None,
    ) -> None:
        self._added = tuple(added)
        self._removed = (*(entry.data_file for entry in removed), *also_removed)
        self._equality = tuple(
            (entry.data_file, entry.data_sequence_number or 0)
            for entry in removed
            if entry.data_file.content is DataFileContent.EQUALITY_DELETES
        )
        self._planned_on = planned_on
        self._numbers = dict(sequence_numbers or {})
        self._change = FileChange(branch, snapshot_properties)

    def validate(self, base: TableMetadata, io: FileIO) -> None:
        """Refuse older rows in the scope of a removed equality delete, and other vectors.

        Also refuse a branch that was rolled back: data files may be live again whose deletes are
        removed.
        """
        if not self._removed and not any(file.is_vector for file in self._added):
            return
        head = self._change.producer.parent(base)
        history = history_since(base, io, head, self._planned_on)
        refuse_new_vectors(history, self._added)
        targets = [file.referenced_data_file for file in self._added if file.is_vector]
        require_data_files(history, filter(None, targets), allow_deletes=False)
        if not self._equality:
            return
        for file, number in _added_data(history):
            for delete, deletes_below in self._equality:
                everywhere = base.partition_specs[delete.partition_spec_id].is_unpartitioned
                same = _partition(file) == _partition(delete)
                if number < deletes_below and (everywhere or same):
                    raise ValidationException(
                        f"Data file {file.file_path} was added meanwhile with rows that are older "
                        f"than equality deletes {delete.file_path}, which still apply to it: "
                        "convert them again"
                    )

    def prepare(self, base: TableMetadata, io: FileIO) -> ActionCommit:
        """Return the updates that replace the files on this base."""
        gone = Paths.of(self._removed)

        def check(removed: Removed) -> None:
            check_all_removed(gone, removed)

        changes = FileChanges(
            added=self._added,
            data=[],
            deletes=[gone] if self._removed else [],
            operation=lambda _: Operation.REPLACE,
            check=check,
            delete_sequence_numbers=self._numbers,
        )
        return self._change.prepare(base, io, changes)

    def clean_up(self, io: FileIO, committed: TableMetadata | None) -> None:
        """Remove manifests and manifest lists that the committed snapshot does not use."""
        self._change.clean_up(io, committed)


def _partition(file: DataFile) -> tuple[int, tuple[object, ...]]:
    return file.partition_spec_id, partition_key(file.partition)


def _added_data(history: History) -> Iterator[tuple[DataFile, int]]:
    """Yield the data files that were added, with their data sequence numbers; of few commits."""
    for manifest, entries in history.changed_entries(
        ManifestContent.DATA, ManifestEntryStatus.ADDED, _ADD_DATA
    ):
        numbers = pc.fill_null(entries.column("data_sequence_number"), 0).to_pylist()
        yield from zip(data_files_of(history.base, manifest, entries), numbers, strict=True)
