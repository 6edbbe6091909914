"""Invalid values in manifest lists and manifests (specification: "Manifests")."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import pyarrow.compute as pc

from iceberg_spark.manifest.writer import count
from iceberg_spark.spec.data_file import DataFileContent, ManifestEntryStatus
from iceberg_spark.spec.manifest_file import ManifestContent, ManifestFile
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.snapshot import Snapshot

Table: TypeAlias = Any  # pyarrow ships no types

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
