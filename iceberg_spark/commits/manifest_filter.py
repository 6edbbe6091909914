"""Remove files from manifests; manifests without any of them stay unchanged.

A rewritten manifest has every live entry with its sequence numbers and all its statistics,
including those of dropped columns (Java: ManifestFilterManager).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.arrow.values import to_array
from iceberg_spark.commits.new_manifests import (
    data_files_of,
    read_entries,
    tuple_type,
    with_status,
    write_entries,
)
from iceberg_spark.commits.snapshot_producer import SnapshotProducer
from iceberg_spark.errors import ValidationException
from iceberg_spark.expr import stats
from iceberg_spark.expr.logic import field_ids
from iceberg_spark.expr.may_match import may_match, must_match
from iceberg_spark.expr.nodes import Bound, Constant
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.manifest.entries import delete_names, is_vector, name_of, show_path
from iceberg_spark.scan.column_stats import stats_table
from iceberg_spark.scan.partition_codes import NOT_THERE, partition_codes
from iceberg_spark.scan.pruning import SpecPruning, spec_pruning
from iceberg_spark.spec.data_file import DataFile, ManifestEntryStatus
from iceberg_spark.spec.manifest_file import ManifestContent, ManifestFile, ManifestVersion
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.partition import partition_key


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
            f"File {show_path(min(missing))} is not in the table any more"
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


Mask = npt.NDArray[np.bool_]


class Selection(Protocol):
    """Files to remove."""

    def may_hold(self, manifest: ManifestFile) -> bool:
        """Return False if no entry of a manifest can be selected, so that it is not read."""
        ...

    def hits(self, manifest: ManifestFile, entries: pa.Table) -> Mask:
        """Return which of a manifest's live entries are selected."""
        ...


@dataclass(frozen=True, slots=True)
class Paths:
    """Files by path, as written in the metadata, of these specs (None: any spec).

    `names` are paths. `delete_names` are names of deletion vectors, of which one file has many.
    """

    names: frozenset[str]
    spec_ids: frozenset[int] | None = None

    @classmethod
    def of(cls, files: Iterable[DataFile]) -> Paths:
        """Select these files."""
        files_once = tuple(files)
        return cls(
            frozenset(name_of(file.key) for file in files_once),
            frozenset(file.partition_spec_id for file in files_once),
        )

    def may_hold(self, manifest: ManifestFile) -> bool:
        """Return whether a manifest has a spec of the files."""
        specs = self.spec_ids
        return bool(self.names) and (specs is None or manifest.partition_spec_id in specs)

    def hits(self, manifest: ManifestFile, entries: pa.Table) -> Mask:  # noqa: ARG002 (paths say all)
        """Return which entries have one of the names."""
        names = pa.array(sorted(self.names), pa.string())
        return _mask(pc.is_in(delete_names(entries), value_set=names))


@dataclass(frozen=True, slots=True)
class VectorsOf:
    """The deletion vectors of removed data files, which have the partition specs of these."""

    paths: frozenset[str]
    spec_ids: frozenset[int]

    @classmethod
    def of(cls, files: Iterable[DataFile]) -> VectorsOf:
        """Select the vectors of these data files."""
        files_once = tuple(files)
        return cls(
            frozenset(file.file_path for file in files_once),
            frozenset(file.partition_spec_id for file in files_once),
        )

    def may_hold(self, manifest: ManifestFile) -> bool:
        """Return whether a manifest has a spec of the files."""
        return manifest.partition_spec_id in self.spec_ids

    def hits(self, manifest: ManifestFile, entries: pa.Table) -> Mask:  # noqa: ARG002 (paths say all)
        """Return which entries are vectors of the files."""
        paths = pa.array(sorted(self.paths), pa.string())
        aimed = pc.is_in(entries.column("referenced_data_file"), value_set=paths)
        return _mask(pc.and_(aimed, is_vector(entries)))


@dataclass(frozen=True, slots=True)
class OlderDeletes:
    """Delete files that are older than every data file: the rows that they deleted are gone.

    Deletion vectors are removed with their data files (Java: dropDeleteFilesOlderThan).
    """

    least: int
    """The least data sequence number of a data file."""

    def may_hold(self, manifest: ManifestFile) -> bool:
        """Return whether a manifest has older delete files by its summary."""
        oldest = manifest.min_sequence_number
        return oldest is not None and oldest < self.least

    def hits(self, manifest: ManifestFile, entries: pa.Table) -> Mask:  # noqa: ARG002 (numbers say all)
        """Return which entries are older."""
        older = pc.fill_null(pc.less(entries.column("data_sequence_number"), self.least), False)
        return _mask(pc.and_not(older, is_vector(entries)))


@dataclass(frozen=True, slots=True)
class Partitions:
    """All files of some partitions: tuples of canonical values, by spec id."""

    base: TableMetadata
    by_spec: Mapping[int, Sequence[tuple[Any, ...]]]

    @classmethod
    def of(cls, base: TableMetadata, files: Iterable[DataFile]) -> Partitions:
        """Select the partitions of these files."""
        by_spec: dict[int, dict[tuple[object, ...], tuple[Any, ...]]] = {}
        for file in files:
            by_spec.setdefault(file.partition_spec_id, {})[partition_key(file.partition)] = (
                file.partition
            )
        return cls(
            base, {spec_id: tuple(partitions.values()) for spec_id, partitions in by_spec.items()}
        )

    def may_hold(self, manifest: ManifestFile) -> bool:
        """Return whether a manifest has the spec of one of the partitions."""
        return manifest.partition_spec_id in self.by_spec

    def hits(self, manifest: ManifestFile, entries: pa.Table) -> Mask:
        """Return which entries are in one of the partitions."""
        spec_id = manifest.partition_spec_id
        tuples = self.by_spec[spec_id]
        fields = tuple_type(self.base, spec_id).fields
        if not fields:
            return np.ones(entries.num_rows, np.bool_)
        columns = [
            to_array(field.field_type, [values[index] for values in tuples])
            for index, field in enumerate(fields)
        ]
        wanted_tuples = pa.StructArray.from_arrays(
            columns, [str(field.field_id) for field in fields]
        )
        numbering, _ = partition_codes(wanted_tuples)
        codes = numbering.codes(combine(entries.column("partition")))
        return np.asarray(codes != NOT_THERE, np.bool_)


@dataclass(frozen=True, slots=True)
class Everything:
    """All files, of every spec."""

    def may_hold(self, manifest: ManifestFile) -> bool:  # noqa: ARG002
        """Return True."""
        return True

    def hits(self, manifest: ManifestFile, entries: pa.Table) -> Mask:  # noqa: ARG002
        """Return True for all entries."""
        return np.ones(entries.num_rows, np.bool_)


@dataclass(frozen=True, slots=True)
class MatchingRows:
    """Files whose rows all match a predicate.

    Decides by the partition, then by statistics (Java: ManifestFilterManager). A data file with
    only some rows that may match is a ValidationException, which names it. Such a delete file is
    kept: the rows that it deletes may remain. With `partition_only` statistics decide nothing.
    """

    base: TableMetadata
    bound: Bound
    text: str
    partition_only: bool = False

    def may_hold(self, manifest: ManifestFile) -> bool:
        """Return whether a manifest's partitions may hold matching rows."""
        pruning = _pruning(self.base, manifest.partition_spec_id, self.bound)
        return pruning.manifests([manifest])[0]

    def hits(self, manifest: ManifestFile, entries: pa.Table) -> Mask:
        """Return which entries' rows all match. Raises ValidationException."""
        may, must = row_matches(
            self.base, manifest, entries, self.bound, partition_only=self.partition_only
        )
        partly = may & ~must
        if manifest.content is ManifestContent.DATA and partly.any():
            path = entries.column("file_path")[int(np.flatnonzero(partly)[0])].as_py()
            raise ValidationException(
                f"File {path} may hold rows that match {self.text} and others that don't, so it "
                "can't be removed as a whole; allow a rewrite or use a predicate on partition "
                "columns"
            )
        return must


def row_matches(
    base: TableMetadata,
    manifest: ManifestFile,
    entries: pa.Table,
    bound: Bound,
    *,
    partition_only: bool = False,
) -> tuple[Mask, Mask]:
    """Return which entries may have matching rows, and which have nothing else."""
    rows = entries.num_rows
    may, must = np.zeros(rows, np.bool_), np.zeros(rows, np.bool_)
    if not rows:
        return may, must
    pruning = _pruning(base, manifest.partition_spec_id, bound)
    rests, number = pruning.residuals(combine(entries.column("partition")))
    statistics = None
    for index, rest in enumerate(rests):
        members = number == index
        if isinstance(rest, Constant):
            may[members] = must[members] = rest.value
            continue
        if partition_only:
            may[members] = True
            continue
        if statistics is None:
            statistics = stats_table(entries, stats.needed_statistics(bound))
        part = statistics.filter(pa.array(members))
        may[members] = _mask(stats.evaluate(may_match(rest), part))
        must[members] = _mask(stats.evaluate(must_match(rest), part))
        if manifest.content is ManifestContent.DELETES:
            must[members] &= _compares_columns(entries, rest)[members]
    return may, must


def _compares_columns(entries: pa.Table, rest: Bound) -> Mask:
    """Return which equality deletes compare all columns of a predicate.

    A delete file may store whole rows and compare some columns of them, as Flink's do. The bounds
    of the other columns say nothing about the rows that it deletes.
    """
    needed = set(field_ids(rest))
    compared = entries.column("equality_ids").to_pylist()
    return np.array([needed.issubset(columns or ()) for columns in compared], np.bool_)


def _pruning(base: TableMetadata, spec_id: int, bound: Bound) -> SpecPruning:
    spec = base.partition_specs[spec_id]
    return spec_pruning(bound, spec, tuple_type(base, spec_id), base.schema)


def combine(column: Any) -> Any:
    """Return a column as one array."""
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _mask(column: Any) -> Mask:
    mask: Mask = combine(column).to_numpy(zero_copy_only=False).astype(np.bool_)
    return mask
