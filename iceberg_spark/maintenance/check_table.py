"""Violations of the specification in a table's metadata; reads no data file.

Reads the metadata, the manifest lists of all snapshots and their manifests, each once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import pairwise
from typing import Any, TypeAlias

import pyarrow.compute as pc

from iceberg_spark.commits.new_manifests import tuple_type
from iceberg_spark.errors import IcebergError
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.maintenance.check_files import (
    CHECKED,
    FirstRowIds,
    SnapshotFiles,
    file_problems,
    live_entries,
    moved_row_ids,
)
from iceberg_spark.manifest.manifest_list import read_manifest_list
from iceberg_spark.manifest.reader import read_manifest
from iceberg_spark.manifest.writer import count
from iceberg_spark.spec.compatibility import check_schema
from iceberg_spark.spec.data_file import DataFileContent, ManifestEntryStatus
from iceberg_spark.spec.manifest_file import ManifestContent, ManifestFile, ManifestVersion
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.snapshot import Snapshot

Table: TypeAlias = Any  # pyarrow ships no types


@dataclass(frozen=True, slots=True)
class Problem:
    """A broken rule; `where` names the snapshot, the manifest or the file."""

    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


@dataclass(frozen=True, slots=True)
class TableCheck:
    """The problems found, oldest snapshots first, and what was checked."""

    problems: tuple[Problem, ...] = ()
    snapshots: int = 0
    manifests: int = 0

    @property
    def is_sound(self) -> bool:
        """Whether nothing breaks the specification."""
        return not self.problems

    def __str__(self) -> str:
        looked = f"{self.snapshots:,} snapshots and {self.manifests:,} manifests"
        if self.is_sound:
            return f"{looked}: nothing breaks the specification"
        lines = (f"  {problem}" for problem in self.problems)
        return "\n".join((f"{looked}: {len(self.problems):,} problems", *lines))

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"


@dataclass(slots=True)
class _Problems:
    """Problems, each once: a manifest is listed by many snapshots."""

    every: dict[Problem, None] = field(default_factory=dict)

    def add(self, where: str, texts: Iterator[str]) -> None:
        self.every.update(dict.fromkeys(Problem(where, text) for text in texts))


def check_table(metadata: TableMetadata, io: FileIO) -> TableCheck:
    """Return the violations of the specification; unreadable files are problems too.

    Memory holds the entries of a snapshot, without statistics, and the paths of its parent's files.
    """
    problems = _Problems()
    problems.add("metadata", _metadata_problems(metadata))
    problems.add("metadata", _row_id_ranges(metadata))
    for snapshot in metadata.snapshots.values():
        problems.add(_name(snapshot), _snapshot_problems(metadata, snapshot))
    manifests = _check_files(metadata, io, problems)
    return TableCheck(tuple(problems.every), len(metadata.snapshots), manifests)


def _name(snapshot: Snapshot) -> str:
    return f"snapshot {snapshot.snapshot_id}"


def _metadata_problems(metadata: TableMetadata) -> Iterator[str]:
    highest = max((schema.highest_field_id for schema in metadata.schemas.values()), default=0)
    if metadata.last_column_id < highest:
        yield f"last-column-id is {metadata.last_column_id}, and there is a field {highest}"
    parts = [part.field_id for spec in metadata.partition_specs.values() for part in spec.fields]
    if parts and metadata.last_partition_id < max(parts):
        yield f"last-partition-id is {metadata.last_partition_id}, and a spec has {max(parts)}"
    for name, ref in metadata.refs.items():
        if ref.snapshot_id not in metadata.snapshots:
            yield f"reference '{name}' points to snapshot {ref.snapshot_id}, which is not there"
    for files, what in (
        (metadata.statistics, "statistics"),
        (metadata.partition_statistics, "partition statistics"),
    ):
        for file in files:
            if file["snapshot-id"] not in metadata.snapshots:
                yield f"{what} are of snapshot {file['snapshot-id']}, which is not there"
    try:
        check_schema(metadata.schema, metadata.format_version)
    except IcebergError as broken:
        yield str(broken)


def _row_id_ranges(metadata: TableMetadata) -> Iterator[str]:
    """Check that each snapshot has its own row ids, all below the table's next row id."""
    if not metadata.rules.has_row_lineage:
        return
    ranges = sorted(
        (snapshot.first_row_id, snapshot.first_row_id + snapshot.added_rows, snapshot.snapshot_id)
        for snapshot in metadata.snapshots.values()
        if snapshot.first_row_id is not None and snapshot.added_rows is not None
    )
    for (first, end, snapshot_id), (begin, _, other) in pairwise(ranges):
        if end > begin and end > first:
            yield (
                f"snapshots {snapshot_id} and {other} have the same row ids, from {begin} on: the "
                f"first has those from {first} to {end - 1}"
            )
    free = metadata.next_row_id or 0
    last = max(ranges, key=lambda row_range: row_range[1], default=None)
    if last is not None and last[1] > free:
        yield f"next-row-id is {free}, and snapshot {last[2]} has row ids up to {last[1] - 1}"


def _snapshot_problems(metadata: TableMetadata, snapshot: Snapshot) -> Iterator[str]:
    parent = metadata.snapshots.get(snapshot.parent_snapshot_id or -1)
    number = snapshot.sequence_number
    if number > metadata.last_sequence_number:
        yield f"its sequence number {number} is above the table's {metadata.last_sequence_number}"
    if parent is not None and 0 < number <= parent.sequence_number:  # version 1 has zeros only
        yield f"its sequence number {number} is not above its parent's {parent.sequence_number}"
    if snapshot.schema_id is not None and snapshot.schema_id not in metadata.schemas:
        yield f"its schema {snapshot.schema_id} is not there"
    if not metadata.rules.has_row_lineage:
        return
    if (snapshot.first_row_id is None) != (snapshot.added_rows is None):
        yield "it has one of first-row-id and added-rows without the other"
    if min(snapshot.first_row_id or 0, snapshot.added_rows or 0) < 0:
        yield "its first-row-id or added-rows is below zero"
    is_younger = parent is not None and parent.first_row_id is not None
    if is_younger and snapshot.first_row_id is None:
        yield "it has no first-row-id, though its parent has one"


def _check_files(metadata: TableMetadata, io: FileIO, problems: _Problems) -> int:
    """Check lists, manifests and files of all snapshots; return the number of manifests."""
    manifests = _Manifests(metadata, io, problems)
    row_ids: dict[int, FirstRowIds] = {}
    ordered = sorted(
        metadata.snapshots.values(),
        key=lambda snapshot: (snapshot.sequence_number, snapshot.timestamp_ms),
    )
    last_child = {snapshot.parent_snapshot_id: index for index, snapshot in enumerate(ordered)}
    for index, snapshot in enumerate(ordered):
        try:
            files = manifests.files_of(snapshot)
        except IcebergError as broken:
            problems.add(_name(snapshot), iter((f"its files can't be read: {broken}",)))
            continue
        problems.add(_name(snapshot), file_problems(metadata, snapshot, files))
        if not metadata.rules.has_row_lineage:
            continue
        ids = files.first_row_ids()
        parent = snapshot.parent_snapshot_id or -1
        before = row_ids.get(parent)
        if before is not None:
            problems.add(_name(snapshot), moved_row_ids(before, ids))
        if last_child.get(parent) == index:
            row_ids.pop(parent, None)
        if last_child.get(snapshot.snapshot_id, -1) > index:
            row_ids[snapshot.snapshot_id] = ids
    return len(manifests.checked)


@dataclass(slots=True)
class _Manifests:
    """Reads and checks each manifest once, and holds the live entries of the last snapshot's.

    A snapshot shares all but a few manifests with the one before it.
    """

    metadata: TableMetadata
    io: FileIO
    problems: _Problems
    checked: set[ManifestVersion] = field(default_factory=set)
    live: dict[ManifestVersion, Table] = field(default_factory=dict)

    def files_of(self, snapshot: Snapshot) -> SnapshotFiles:
        """Return the live files of a snapshot."""
        manifests = read_manifest_list(self.io, snapshot, self.metadata)
        self.problems.add(_name(snapshot), list_problems(self.metadata, snapshot, manifests))
        live = {
            version: self.live[version] if version in self.live else self._read(manifest)
            for manifest in manifests
            for version in (manifest.version,)
        }
        self.live = live
        return SnapshotFiles.of(manifests, [live[manifest.version] for manifest in manifests])

    def _read(self, manifest: ManifestFile) -> Table:
        kind = tuple_type(self.metadata, manifest.partition_spec_id)
        entries = read_manifest(self.io, manifest, kind, columns=CHECKED)
        if manifest.version not in self.checked:
            self.checked.add(manifest.version)
            where = f"manifest {manifest.manifest_path}"
            self.problems.add(where, manifest_problems(self.metadata, manifest, entries))
        return live_entries(entries)


_STATUS = (
    ("added", ManifestEntryStatus.ADDED),
    ("existing", ManifestEntryStatus.EXISTING),
    ("deleted", ManifestEntryStatus.DELETED),
)


def list_problems(
    metadata: TableMetadata, snapshot: Snapshot, manifests: Sequence[ManifestFile]
) -> Iterator[str]:
    """Yield the problems in a snapshot's manifest list."""
    for path, times in Counter(manifest.manifest_path for manifest in manifests).items():
        if times > 1:
            yield f"its manifest list has {path} {times} times"
    for manifest in manifests:
        yield from _number_problems(metadata, snapshot, manifest)
        if metadata.rules.has_row_lineage and snapshot.first_row_id is not None:
            yield from _row_id_problems(snapshot, manifest)


def _number_problems(
    metadata: TableMetadata, snapshot: Snapshot, manifest: ManifestFile
) -> Iterator[str]:
    if not metadata.rules.has_sequence_numbers:
        return
    number, path = manifest.sequence_number or 0, manifest.manifest_path
    least = manifest.min_sequence_number or 0
    if number > snapshot.sequence_number:
        yield (
            f"manifest {path} has the sequence number {number}, above the snapshot's "
            f"{snapshot.sequence_number}"
        )
    if least > number:
        yield f"manifest {path} has min_sequence_number {least}, above its sequence number {number}"
    ours = manifest.added_snapshot_id == snapshot.snapshot_id
    if ours and number < snapshot.sequence_number:
        yield (
            f"manifest {path}, which it added, has the sequence number {number}, not its own "
            f"{snapshot.sequence_number}"
        )


def _row_id_problems(snapshot: Snapshot, manifest: ManifestFile) -> Iterator[str]:
    path, first = manifest.manifest_path, manifest.first_row_id
    if manifest.content is ManifestContent.DELETES:
        if first is not None:
            yield f"manifest {path} holds deletes and has a first_row_id"
        return
    if first is None:
        yield f"data manifest {path} has no first_row_id"
        return
    begin = snapshot.first_row_id or 0
    ours = manifest.added_snapshot_id == snapshot.snapshot_id
    if ours and first < begin:
        yield f"manifest {path}, which it added, has first_row_id {first}, below its own {begin}"


def manifest_problems(
    metadata: TableMetadata, manifest: ManifestFile, entries: Table
) -> Iterator[str]:
    """Yield the problems in a manifest, and where the list's counts differ."""
    yield from _count_problems(manifest, entries)
    contents = set(pc.unique(entries.column("content")).to_pylist())
    of_data = manifest.content is ManifestContent.DATA
    if of_data and contents - {DataFileContent.DATA}:
        yield "it is a data manifest and has delete files"
    if not of_data and DataFileContent.DATA in contents:
        yield "it is a delete manifest and has data files"
    if not of_data and entries.column("first_row_id").null_count < len(entries):
        yield "delete files in it have a first_row_id"
    if metadata.rules.has_sequence_numbers:
        yield from _entry_number_problems(manifest, entries)


def _count_problems(manifest: ManifestFile, entries: Table) -> Iterator[str]:
    for name, status in _STATUS:
        real = count(entries, status)
        for what, stated, actual in (
            ("files", getattr(manifest, f"{name}_files_count"), real.files),
            ("rows", getattr(manifest, f"{name}_rows_count"), real.rows),
        ):
            if stated is not None and stated != actual:
                yield f"the list counts {stated} {name} {what}, and it has {actual}"


def _entry_number_problems(manifest: ManifestFile, entries: Table) -> Iterator[str]:
    live = entries.filter(pc.not_equal(entries.column("status"), int(ManifestEntryStatus.DELETED)))
    if not live.num_rows:
        return
    data, file = live.column("data_sequence_number"), live.column("file_sequence_number")
    top = manifest.sequence_number or 0
    least, most = pc.min(data).as_py(), pc.max(data).as_py()
    if most is not None and most > top:
        yield f"an entry has the data sequence number {most}, above the manifest's {top}"
    if least is not None and least < (manifest.min_sequence_number or 0):
        yield (
            f"an entry has the data sequence number {least}, below the manifest's "
            f"min_sequence_number {manifest.min_sequence_number}"
        )
    newer = pc.fill_null(pc.greater(data, file), False)
    if pc.any(newer).as_py():
        path = live.column("file_path").filter(newer)[0].as_py()
        yield f"file {path} has a data sequence number above its file sequence number"
