"""Merge small manifests into fewer without reordering them (Java: ManifestMergeManager)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.commits.manifest_filter import FilteredManifests
from iceberg_spark.commits.new_manifests import read_entries, with_status, write_entries
from iceberg_spark.commits.required_columns import check_required_columns
from iceberg_spark.commits.snapshot_producer import SnapshotProducer
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.spec.data_file import ManifestEntryStatus
from iceberg_spark.spec.manifest_file import ManifestFile, ManifestVersion
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.partition import PartitionSpec
from iceberg_spark.spec.properties import (
    MANIFEST_MERGE_ENABLED,
    MANIFEST_MIN_MERGE_COUNT,
    MANIFEST_TARGET_SIZE_BYTES,
    bool_property,
    int_property,
)
from iceberg_spark.spec.schema import Schema


@dataclass(slots=True)
class MergedManifests:
    """The manifests merged by earlier attempts; a retry with the same inputs reuses them."""

    by_versions: dict[tuple[ManifestVersion, ...], ManifestFile] = field(default_factory=dict)


def merge_manifests(
    producer: SnapshotProducer,
    base: TableMetadata,
    io: FileIO,
    manifests: Sequence[ManifestFile],
    merged: MergedManifests,
) -> tuple[ManifestFile, ...]:
    """Return the manifests of one content, newest first, with full bins of them merged.

    A bin has manifests of one spec, up to `commit.manifest.target-size-bytes`. The bin with the
    newest manifest waits until it has `commit.manifest.min-count-to-merge` of them.
    """
    if not manifests or not bool_property(base.properties, MANIFEST_MERGE_ENABLED):
        return tuple(manifests)
    target = int_property(base.properties, MANIFEST_TARGET_SIZE_BYTES)
    min_count = int_property(base.properties, MANIFEST_MIN_MERGE_COUNT)
    by_spec: dict[int, list[ManifestFile]] = defaultdict(list)
    for manifest in manifests:
        by_spec[manifest.partition_spec_id].append(manifest)
    result: list[ManifestFile] = []
    for spec_id in sorted(by_spec, reverse=True):
        for bin_ in pack_from_end(by_spec[spec_id], target):
            if len(bin_) == 1 or (manifests[0] in bin_ and len(bin_) < min_count):
                result.extend(bin_)
            else:
                result.append(_merge(producer, base, io, bin_, merged))
    return tuple(result)


def pack_from_end(
    manifests: Sequence[ManifestFile], target_bytes: int
) -> tuple[tuple[ManifestFile, ...], ...]:
    """Return runs of neighbours whose lengths sum to at most the target, in the given order.

    Packs from the end: the run that is not full is the first one, with the newest manifests, which
    a later commit merges.
    """
    bins: list[list[ManifestFile]] = []
    size = 0
    for manifest in reversed(manifests):
        if bins and size + manifest.manifest_length <= target_bytes:
            bins[-1].append(manifest)
            size += manifest.manifest_length
        else:
            bins.append([manifest])
            size = manifest.manifest_length
    return tuple(tuple(reversed(bin_)) for bin_ in reversed(bins))


def _merge(
    producer: SnapshotProducer,
    base: TableMetadata,
    io: FileIO,
    bin_: Sequence[ManifestFile],
    merged: MergedManifests,
) -> ManifestFile:
    key = tuple(manifest.version for manifest in bin_)
    if key not in merged.by_versions:
        entries = [read_entries(io, base, manifest) for manifest in bin_]
        first = bin_[0]
        table = carried_over(pa.concat_tables(entries), producer.snapshot_id(base))
        merged.by_versions[key] = write_entries(
            producer, base, io, table, first.partition_spec_id, first.content
        )
    return merged.by_versions[key]


def carried_over(entries: pa.Table, snapshot_id: int) -> pa.Table:
    """Return entries with the status that a new manifest of a snapshot gives them.

    Files that this snapshot adds or deletes keep their status. Other live files are existing. Files
    that earlier snapshots deleted are left out.
    """
    status = entries.column("status").to_numpy()
    ours = pc.fill_null(pc.equal(entries.column("snapshot_id"), snapshot_id), False).to_numpy()
    deleted = status == ManifestEntryStatus.DELETED
    status = np.where((status == ManifestEntryStatus.ADDED) & ~ours, 0, status)
    return with_status(entries, status).filter(pa.array(~deleted | ours))


@dataclass(frozen=True, slots=True)
class ManifestForm:
    """What the encoding of a manifest depends on: format version, schema and partition specs."""

    format_version: int
    schema: Schema
    specs: tuple[PartitionSpec, ...]

    @classmethod
    def of(cls, base: TableMetadata) -> ManifestForm:
        """Return the form of manifests that are written for a base."""
        return cls(base.format_version, base.schema, tuple(base.partition_specs.values()))


@dataclass(slots=True)
class WrittenManifests:
    """Written manifests by their inputs.

    `filtered_deletes` is keyed by the number below which deletes are not needed; an attempt after
    other commits has its own. A manifest of version 1 must not be listed by version 2. So all are
    dropped if the base has another form, and `clean_up` removes their files.
    """

    added: tuple[ManifestFile, ...] | None = None
    filtered: FilteredManifests = field(default_factory=FilteredManifests)
    filtered_deletes: dict[int, FilteredManifests] = field(default_factory=dict)
    merged: MergedManifests = field(default_factory=MergedManifests)
    _form: ManifestForm | None = None
    _planned: Schema | None = None

    def use_for(self, base: TableMetadata) -> None:
        """Drop the manifests that do not fit a base."""
        form = ManifestForm.of(base)
        if self._form is not None and form != self._form:
            self.added = None
            self.filtered = FilteredManifests()
            self.filtered_deletes = {}
            self.merged = MergedManifests()
        self._form = form
        self._planned = self._planned or base.schema

    def check_required_columns(self, base: TableMetadata) -> None:
        """Refuse new rows for a base that requires columns which they lack.

        The rows were written for the schema of the first attempt. Raises ValidationException.
        """
        if self._planned is not None:
            check_required_columns(base, self._planned)
