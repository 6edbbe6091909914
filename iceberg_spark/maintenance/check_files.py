"""Inconsistencies between a snapshot's files (specification: "Row Lineage", "Deletes")."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.manifest.schemas import entry_schema
from iceberg_spark.spec.data_file import DataFileContent, FileFormat, ManifestEntryStatus
from iceberg_spark.spec.manifest_file import ManifestContent, ManifestFile
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.snapshot import Snapshot
from iceberg_spark.spec.types import StructType

Table: TypeAlias = Any  # pyarrow ships no types

CHECKED = (
    "status", "snapshot_id", "data_sequence_number", "file_sequence_number", "content",
    "file_path", "file_format", "record_count", "equality_ids", "first_row_id",
    "referenced_data_file", "content_offset", "content_size_in_bytes",
)  # fmt: skip
"""The columns of entries that the check reads."""


@dataclass(frozen=True, slots=True)
class FirstRowIds:
    """The first row ids of data files, by path, and the commits that listed the files.

    A file that a later commit lists again has new rows.
    """

    paths: Any
    ids: Any
    commits: Any


@dataclass(frozen=True, slots=True)
class SnapshotFiles:
    """The live data and delete files of a snapshot, as entries."""

    data: Table
    deletes: Table

    @classmethod
    def of(cls, manifests: Sequence[ManifestFile], live: Sequence[Table]) -> SnapshotFiles:
        """Return the files of a snapshot from its manifests and their live entries."""
        by_content: dict[ManifestContent, list[Table]] = {
            content: [] for content in ManifestContent
        }
        for manifest, entries in zip(manifests, live, strict=True):
            by_content[manifest.content].append(entries)
        none = _no_entries()
        return cls(*(pa.concat_tables([none, *by_content[content]]) for content in ManifestContent))

    def first_row_ids(self) -> FirstRowIds:
        """Return the first row id of each data file."""
        ids = self.data.column("first_row_id")
        paths, commits = (self.data.column(n) for n in ("file_path", "file_sequence_number"))
        return FirstRowIds(*(column.combine_chunks() for column in (paths, ids, commits)))


def live_entries(entries: Table) -> Table:
    """Return the entries (CHECKED) of a manifest's added and existing files."""
    deleted = pc.equal(entries.column("status"), int(ManifestEntryStatus.DELETED))
    return entries.filter(pc.invert(deleted))


def file_problems(
    metadata: TableMetadata, snapshot: Snapshot, files: SnapshotFiles
) -> Iterator[str]:
    """Yield the problems of a snapshot's files."""
    for path, times in _repeated(files.data.column("file_path")):
        yield f"data file {path} is listed {times} times"
    if files.deletes.num_rows:
        yield from _delete_problems(metadata, snapshot, files)
    if metadata.rules.has_row_lineage and snapshot.first_row_id is not None:
        yield from _row_id_problems(metadata, snapshot, files.data)


def moved_row_ids(before: FirstRowIds, after: FirstRowIds) -> Iterator[str]:
    """Yield files whose row ids differ from those in the parent snapshot."""
    index_before = pc.index_in(after.paths, value_set=before.paths)
    was = before.ids.take(index_before)
    same_commit = pc.equal(before.commits.take(index_before), after.commits)
    other = pc.fill_null(pc.and_(same_commit, pc.not_equal(was, after.ids)), False)
    for path, old, new in zip(
        after.paths.filter(other), was.filter(other), after.ids.filter(other), strict=True
    ):
        yield f"the first_row_id of {path} is {new}, and was {old} in its parent"


def _row_id_problems(metadata: TableMetadata, snapshot: Snapshot, data: Table) -> Iterator[str]:
    nameless = pc.is_null(data.column("first_row_id"))
    for path in data.column("file_path").filter(nameless).to_pylist():
        yield f"data file {path} has no first_row_id"
    numbered = data.filter(pc.invert(nameless)).sort_by("first_row_id")
    first = numbered.column("first_row_id").to_numpy()
    end = first + numbered.column("record_count").to_numpy()
    paths = numbered.column("file_path")
    overlaps = np.flatnonzero(end[:-1] > first[1:])
    for row in overlaps.tolist():
        yield (
            f"data files {paths[row]} and {paths[row + 1]} have the same row ids: those of the "
            f"first are {first[row]} to {end[row] - 1}, of the second from {first[row + 1]} on"
        )
    begin = snapshot.first_row_id or 0
    stated_end = begin + (snapshot.added_rows or 0)
    above = (first >= begin) & (end > stated_end)
    for row in np.flatnonzero(above).tolist():
        yield (
            f"added-rows is {snapshot.added_rows}, which is too low: data file {paths[row]} has "
            f"row ids up to {end[row] - 1}, and the snapshot's begin with {begin}"
        )
    free = metadata.next_row_id or 0
    for row in np.flatnonzero((end > free) & ~above).tolist():
        yield f"next-row-id is {free}, and data file {paths[row]} has row ids up to {end[row] - 1}"


def _delete_problems(
    metadata: TableMetadata, snapshot: Snapshot, files: SnapshotFiles
) -> Iterator[str]:
    deletes = files.deletes
    content, kind = deletes.column("content"), deletes.column("file_format")
    by_key = pc.equal(content, int(DataFileContent.EQUALITY_DELETES))
    lengths = pc.fill_null(pc.list_value_length(deletes.column("equality_ids")), 0)
    for path in deletes.filter(pc.and_(by_key, pc.equal(lengths, 0))).column("file_path"):
        yield f"equality delete file {path} has no equality_ids"
    is_vector = pc.equal(kind, FileFormat.PUFFIN.value)
    yield from _vector_problems(metadata, deletes.filter(is_vector), files.data)
    if snapshot.first_row_id is None:
        return
    ours = pc.and_(
        pc.equal(deletes.column("status"), int(ManifestEntryStatus.ADDED)),
        pc.equal(deletes.column("snapshot_id"), snapshot.snapshot_id),
    )
    added = pc.and_(ours, pc.invert(pc.or_(is_vector, by_key)))
    for path in deletes.filter(added).column("file_path"):
        yield f"position delete file {path} was added: from version 3 on these are deletion vectors"


def _vector_problems(metadata: TableMetadata, vectors: Table, data: Table) -> Iterator[str]:
    if not metadata.rules.has_deletion_vectors and vectors.num_rows:
        yield f"it has deletion vectors, which format version {metadata.format_version} lacks"
    needed = ("referenced_data_file", "content_offset", "content_size_in_bytes")
    for name in needed:
        for path in vectors.filter(pc.is_null(vectors.column(name))).column("file_path"):
            yield f"a deletion vector in {path} has no {name}"
    about = vectors.column("referenced_data_file")
    for path, times in _repeated(about.drop_null()):
        yield f"data file {path} has {times} deletion vectors"
    index_in_data = pc.index_in(about, value_set=data.column("file_path").combine_chunks())
    for path in about.filter(pc.and_(index_in_data.is_null(), about.is_valid())):
        yield f"there is a deletion vector for data file {path}, which is not in the snapshot"
    index_in_data = index_in_data.combine_chunks()
    numbers = data.column("data_sequence_number").take(index_in_data)
    yield from _cardinality_problems(vectors, data.column("record_count").take(index_in_data))
    older = pc.fill_null(pc.less(vectors.column("data_sequence_number"), numbers), False)
    for path in about.filter(older):
        yield f"the deletion vector for data file {path} has a smaller data sequence number than it"


def _cardinality_problems(vectors: Table, rows: Table) -> Iterator[str]:
    counts = vectors.column("record_count")
    wrong = pc.or_(pc.less(counts, 0), pc.fill_null(pc.greater(counts, rows), False))
    places = pa.array(np.flatnonzero(wrong.to_numpy()))
    for vector, has in zip(vectors.take(places).to_pylist(), rows.take(places), strict=True):
        yield (
            f"the deletion vector for data file {vector['referenced_data_file']} deletes "
            f"{vector['record_count']} of its {has} rows"
        )


def _repeated(paths: Any) -> Iterator[tuple[str, int]]:
    counted = pc.value_counts(paths.combine_chunks())
    several = counted.filter(pc.greater(counted.field("counts"), 1))
    for count in several.to_pylist():
        yield count["values"], count["counts"]


@cache
def _no_entries() -> Any:
    """Created at first use: the first array makes Arrow import pandas."""
    return entry_schema(StructType(), CHECKED).empty_table()
