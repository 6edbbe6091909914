"""Merge new deletion vectors with those that other commits gave the same data files since.

Java refuses this case. Two changes that only delete rows of a file can be applied in any order,
with the same rows left. A change that also rewrites rows can follow such a change if both concern
different rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.commits.new_manifests import data_files_of, read_entries
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.manifest.delete_names import is_vector
from iceberg_spark.spec.data_file import DataFile, DeleteKey, ManifestEntryStatus
from iceberg_spark.spec.manifest_file import ManifestContent, ManifestFile
from iceberg_spark.spec.metadata import TableMetadata


@dataclass(frozen=True, slots=True)
class Overtaken:
    """The vectors of one data file: the change's own, the newer one, the one of the plan."""

    ours: DataFile
    newer: DataFile
    before: DataFile | None


MergeVectors: TypeAlias = Callable[[Sequence[Overtaken]], Sequence[DataFile]]
"""Returns for each data file one vector with the positions of both.

Raises ValidationException if both delete the same row and the change does not allow that.
"""


@dataclass(frozen=True, slots=True)
class NewDeletes:
    """The delete files that a change adds, and those that it removes for them."""

    added: tuple[DataFile, ...]
    removed: tuple[DataFile, ...]


class OvertakenVectors:
    """The data files of a change with a newer vector, and the last attempt's merged vectors."""

    __slots__ = ("_from", "_merge", "_merged", "_paths", "_written")

    def __init__(self, merge: MergeVectors | None) -> None:
        self._merge = merge
        self._paths: frozenset[str] = frozenset()
        self._from: tuple[DeleteKey, ...] = ()
        self._merged: tuple[DataFile, ...] = ()
        self._written: set[str] = set()

    @property
    def can_merge(self) -> bool:
        """Whether vectors can be merged."""
        return self._merge is not None

    def note(self, paths: frozenset[str]) -> None:
        """Record the data files that got a vector since the change was planned."""
        self._paths = paths

    def of(
        self, new: NewDeletes, manifests: Iterable[ManifestFile], base: TableMetadata, io: FileIO
    ) -> tuple[NewDeletes, bool]:
        """Return the added and removed files on a base, and whether the last attempt had others.

        A merged vector replaces the newer one. The newer one contains all deletes of the data file
        that the change would have removed.
        """
        newer = _live_vectors(manifests, self._paths, base, io) if self._paths else ()
        newer_keys = tuple(file.key for file in newer)
        changed = newer_keys != self._from
        if changed and self._merge is not None:
            ours, before = _by_data_file(new.added), _by_data_file(new.removed)
            met = [(file.referenced_data_file, file) for file in newer]
            overtaken = [Overtaken(ours[path], file, before.get(path)) for path, file in met]
            self._merged = tuple(self._merge(overtaken)) if overtaken else ()
            self._written.update(file.file_path for file in self._merged)
            self._from = newer_keys
        if not newer:
            return new, changed
        over = {file.referenced_data_file for file in newer}
        return NewDeletes(
            (*(f for f in new.added if f.referenced_data_file not in over), *self._merged),
            (*(f for f in new.removed if f.referenced_data_file not in over), *newer),
        ), changed

    def clean_up(
        self, io: FileIO, added: Iterable[DataFile], committed: TableMetadata | None
    ) -> None:
        """Remove merged vectors that were not committed, and Puffin files without others."""
        if not self._written:
            return
        unused = set(self._written)
        if committed is not None:
            over = {file.referenced_data_file for file in self._merged}
            files = tuple(added)
            used = {file.file_path for file in files if file.referenced_data_file not in over}
            unused |= {file.file_path for file in files}
            unused -= used | {file.file_path for file in self._merged}
        with suppress(Exception):
            io.delete_many(sorted(unused))


def _by_data_file(files: Iterable[DataFile]) -> dict[str | None, DataFile]:
    return {file.referenced_data_file: file for file in files if file.is_vector}


def _live_vectors(
    manifests: Iterable[ManifestFile], paths: frozenset[str], base: TableMetadata, io: FileIO
) -> tuple[DataFile, ...]:
    path_set = pa.array(sorted(paths), pa.string())
    vectors: list[DataFile] = []
    for manifest in manifests:
        if manifest.content is not ManifestContent.DELETES or not manifest.may_have_live_files:
            continue
        entries = read_entries(io, base, manifest)
        live = pc.not_equal(entries.column("status"), int(ManifestEntryStatus.DELETED))
        aimed = pc.is_in(entries.column("referenced_data_file"), value_set=path_set)
        hit = pc.and_(pc.and_(live, aimed), is_vector(entries))
        vectors += data_files_of(base, manifest, entries.filter(hit))
    return tuple(vectors)
