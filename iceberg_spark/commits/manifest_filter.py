"""Remove files from manifests; manifests without any of them stay unchanged.

A rewritten manifest has every live entry with its sequence numbers and all its statistics,
including those of dropped columns (Java: ManifestFilterManager).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.commits.new_manifests import (
    data_files_of,
    read_entries,
    with_status,
    write_entries,
)
from iceberg_spark.commits.removed_entries import Paths, Selection
from iceberg_spark.commits.snapshot_producer import SnapshotProducer
from iceberg_spark.errors import ValidationException
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.manifest.delete_names import name_of, shown
from iceberg_spark.spec.data_file import DataFile, ManifestEntryStatus
from iceberg_spark.spec.manifest_file import ManifestFile, ManifestVersion
from iceberg_spark.spec.metadata import TableMetadata


@dataclass(frozen=True, slots=True)
class FilteredManifest:
    """A rewritten manifest and the files that it marks as deleted."""

    manifest: ManifestFile
    removed: tuple[DataFile, ...]


@dataclass(slots=True)
class FilteredManifests:
    """The manifests rewritten by earlier attempts, by original and inherited values.

    The path alone is not enough as a key. A rewritten manifest contains the numbers that entries
    inherit. A manifest of the same transaction, or of an upgraded table, inherits other numbers at
    each attempt.
    """

    by_version: dict[ManifestVersion, FilteredManifest] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Remaining:
    """The manifests after filtering, in their order, and every file that was removed."""

    manifests: tuple[ManifestFile, ...]
    removed: tuple[DataFile, ...]


def remove_files(
    producer: SnapshotProducer,
    base: TableMetadata,
    io: FileIO,
    manifests: Iterable[ManifestFile],
    selections: Sequence[Selection],
    done: FilteredManifests,
) -> Remaining:
    """Return the manifests without the files that any selection contains.

    A retry reuses the manifests of earlier attempts; the selections must be the same.
    """
    remaining: list[ManifestFile] = []
    removed: list[DataFile] = []
    for manifest in manifests:
        filtered = done.by_version.get(manifest.version)
        if filtered is None:
            filtered = _without(producer, base, io, manifest, selections)
        if filtered is None:
            remaining.append(manifest)
            continue
        done.by_version[manifest.version] = filtered
        remaining.append(filtered.manifest)
        removed.extend(filtered.removed)
    return Remaining(tuple(remaining), tuple(removed))


def _without(
    producer: SnapshotProducer,
    base: TableMetadata,
    io: FileIO,
    manifest: ManifestFile,
    selections: Sequence[Selection],
) -> FilteredManifest | None:
    relevant = [selection for selection in selections if selection.may_hold(manifest)]
    if not relevant or not manifest.may_have_live_files:
        return None
    entries = read_entries(io, base, manifest)
    live = entries.filter(pc.not_equal(entries.column("status"), int(ManifestEntryStatus.DELETED)))
    if not live.num_rows:
        return None
    hit = np.logical_or.reduce([selection.hits(manifest, live) for selection in relevant])
    if not hit.any():
        return None
    removed = data_files_of(base, manifest, live.filter(pa.array(hit)))
    status = np.where(hit, int(ManifestEntryStatus.DELETED), int(ManifestEntryStatus.EXISTING))
    table = with_status(live, status)
    ours = np.where(hit, producer.snapshot_id(base), table.column("snapshot_id").to_numpy())
    index = table.schema.get_field_index("snapshot_id")
    table = table.set_column(index, table.schema.field(index), pa.array(ours, pa.int64()))
    written = write_entries(producer, base, io, table, manifest.partition_spec_id, manifest.content)
    return FilteredManifest(written, tuple(removed))


def check_all_removed(selection: Paths, removed: Iterable[DataFile]) -> None:
    """Raise ValidationException if a file to remove is no longer in the table.

    Source: specification, "Commit Conflict Resolution": replace and delete operations must verify
    that the files they delete are still there.
    """
    missing = selection.names - {name_of(file.key) for file in removed}
    if missing:
        raise ValidationException(
            f"File {shown(min(missing))} is not in the table any more"
            + (f", nor are {len(missing) - 1} others" if len(missing) > 1 else "")
            + "; it was to be removed. Another commit removed it: plan the change again"
        )


def check_row_ids(planned: Iterable[DataFile], removed: Iterable[DataFile]) -> None:
    """Raise ValidationException if rows of replaced files got other row ids since the plan.

    Example: a delete rewrites a file of version 2, so that the kept rows have no row ids. Then
    another commit upgrades the table, and the next append gives these rows ids 0 to 9. The
    rewritten file would give them ids once more. Source: specification, "Row Lineage": a row
    that moves to another file keeps its row id.
    """
    before = {file.file_path: file.first_row_id for file in planned}
    for file in removed:
        if before.get(file.file_path, file.first_row_id) != file.first_row_id:
            raise ValidationException(
                f"The rows of {file.file_path} have other row ids now: the table was upgraded to "
                "format-version 3, or this transaction was overtaken by another commit. Plan the "
                "change again"
            )
