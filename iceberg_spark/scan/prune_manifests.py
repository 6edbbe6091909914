"""Read the manifests of a scan and keep the files that may have matching rows.

This process reads them, or tasks of a cluster do, a few neighbouring manifests each. The result is
the same, in the order of the manifests. Sources: specification "Scan Planning"; Java's
`ManifestGroup`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.arrow.arrays import from_numpy, int_scalar
from iceberg_spark.expr.may_match import may_match
from iceberg_spark.expr.nodes import ALWAYS_TRUE, Bound
from iceberg_spark.expr.stats import Statistic, column, evaluate, needed_statistics
from iceberg_spark.expr.variant_filter import VariantFilter
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.lazy import LazyModule
from iceberg_spark.manifest.reader import read_manifest
from iceberg_spark.scan.column_stats import statistic_columns, stats_table
from iceberg_spark.scan.context import ScanContext
from iceberg_spark.scan.delete_index import DELETE_COLUMNS
from iceberg_spark.scan.delete_pairs import Mask, Rows
from iceberg_spark.scan.entry_tables import read_ahead
from iceberg_spark.scan.incremental import Appended
from iceberg_spark.scan.limits import PLANNING
from iceberg_spark.scan.partition_codes import distinct
from iceberg_spark.scan.plan import PartitionTuples
from iceberg_spark.scan.planning_tasks import PlanningTasks, run_by_tasks
from iceberg_spark.scan.pruning import SpecPruning, metrics_mask, spec_pruning
from iceberg_spark.spec.data_file import DataFileContent, ManifestEntryStatus
from iceberg_spark.spec.manifest_file import ManifestFile
from iceberg_spark.spec.properties import DATA_PLANNING_MODE, DELETE_PLANNING_MODE
from iceberg_spark.spec.types import StructType

_variant_bounds = LazyModule("iceberg_spark.scan.variant_bounds")

_DELETED = int_scalar(ManifestEntryStatus.DELETED, np.int32)
PLAIN_COLUMNS = (
    "file_path",
    "file_format",
    "record_count",
    "file_size_in_bytes",
    "data_sequence_number",
    "split_offsets",
    "first_row_id",
)
DATA_COLUMNS = ("status", "partition", *PLAIN_COLUMNS)
"""The columns of ENTRY_COLUMNS that planning needs, besides statistics."""


@dataclass(frozen=True, slots=True)
class MatchingDeletes:
    """Delete files of one spec that may delete a matching row, and the number of others."""

    spec_id: int
    entries: pa.Table
    skipped: int


@dataclass(frozen=True, slots=True)
class MatchingFiles:
    """Data files of one spec that may have matching rows.

    `files` has the columns for tasks, the partition, and the statistics that a lookup of deletes
    needs. `partition_of` and `residual_of` number the tuples and the residuals of the files.
    """

    files: pa.Table
    spec_id: int
    partitions: PartitionTuples
    partition_of: Rows
    residuals: Sequence[Bound]
    residual_of: Rows
    skipped_by_partition: int
    skipped_by_metrics: int
    skipped_bytes: int


@dataclass(frozen=True, slots=True)
class ManifestScan:
    """The inputs of a planning that do not depend on the manifest: what tasks get, pickled.

    `partition_types` are the types of partition tuples by spec. Delete files matter if they may
    delete rows that match `deleted_rows`. With `appended` only files that these snapshots added are
    read. `pruned_by` leaves out more files. Without `residuals` the residual is the whole filter.
    """

    io: FileIO = field(repr=False)
    context: ScanContext
    partition_types: Mapping[int, StructType]
    deleted_rows: Bound = ALWAYS_TRUE
    appended: Appended | None = None
    pruned_by: VariantFilter | None = None
    residuals: bool = True

    def reader(self) -> ManifestPruner:
        """Return the reader of these manifests: the filter is projected for each spec."""
        context, residuals = self.context, self.residuals
        by_spec = {
            spec_id: spec_pruning(
                context.row_filter,
                context.specs[spec_id],
                kind,
                context.table_schema,
                residuals=residuals,
            )
            for spec_id, kind in self.partition_types.items()
        }
        return ManifestPruner(self, by_spec)


@dataclass(frozen=True, slots=True)
class ManifestPruner:
    """Reads manifests in this process and prunes them by a scan's filter."""

    scan: ManifestScan
    by_spec: Mapping[int, SpecPruning]

    def matching(self, manifests: Sequence[ManifestFile]) -> list[ManifestFile]:
        """Return the manifests that may have live files with matching rows, in order."""
        live = [manifest for manifest in manifests if manifest.may_have_live_files]
        selected: set[int] = set()
        for spec_id, pruning in self.by_spec.items():
            places = [
                index
                for index, candidate in enumerate(live)
                if candidate.partition_spec_id == spec_id
            ]
            masks = pruning.manifests([live[index] for index in places])
            selected.update(index for index, keep in zip(places, masks, strict=True) if keep)
        return [manifest for index, manifest in enumerate(live) if index in selected]

    def deletes(
        self, manifests: Sequence[ManifestFile], least_sequence: int
    ) -> Iterator[MatchingDeletes]:
        """Yield the matching delete files of each manifest; see `matching_deletes`."""
        for manifest, entries in self._tables(manifests, self._delete_entries):
            pruning = self.by_spec[manifest.partition_spec_id]
            matching, skipped = matching_deletes(
                entries, pruning, self.scan.deleted_rows, least_sequence
            )
            yield MatchingDeletes(manifest.partition_spec_id, matching, skipped)

    def data_files(
        self, manifests: Sequence[ManifestFile], of_deletes: Sequence[Statistic]
    ) -> Iterator[MatchingFiles]:
        """Yield the matching data files, chunk by chunk, with the statistics `of_deletes`."""
        scan = self.scan
        extra = () if scan.appended is None else ("snapshot_id",)
        if scan.pruned_by is not None:
            extra = (*extra, *_variant_bounds.variant_columns(scan.pruned_by))
        selected = (*PLAIN_COLUMNS, "partition", *statistic_columns(of_deletes))

        others = {*DATA_COLUMNS, *extra, *statistic_columns(of_deletes)}
        incomplete: set[int] = set()

        def read(manifest: ManifestFile, pruning: SpecPruning) -> pa.Table:
            kind, spec_id = pruning.partition_type, manifest.partition_spec_id
            if spec_id not in incomplete:
                bounds = statistic_columns(pruning.bounds)
                entries = read_manifest(scan.io, manifest, kind, columns={*others, *bounds})
                if not any(entries.column(name).null_count for name in bounds):
                    return entries
                incomplete.add(spec_id)  # the next manifests are probably alike
            every = statistic_columns(pruning.statistics)
            return read_manifest(scan.io, manifest, kind, columns={*others, *every})

        for spec_id, entries in _chunked(self._tables(manifests, read)):
            chunk = _Chunk(entries, self.by_spec[spec_id], scan.appended, scan.pruned_by)
            yield _matching_files(chunk, selected)

    def _delete_entries(self, manifest: ManifestFile, pruning: SpecPruning) -> pa.Table:
        kind = pruning.partition_type
        return read_manifest(self.scan.io, manifest, kind, columns=DELETE_COLUMNS)

    def _tables(
        self,
        manifests: Sequence[ManifestFile],
        read: Callable[[ManifestFile, SpecPruning], pa.Table],
    ) -> Iterator[tuple[ManifestFile, pa.Table]]:
        tables = read_ahead(
            lambda manifest: read(manifest, self.by_spec[manifest.partition_spec_id]), manifests
        )
        return zip(manifests, tables, strict=True)


@dataclass(frozen=True, slots=True)
class _ReadDeletes:
    """The function of tasks that read delete manifests."""

    scan: ManifestScan
    least_sequence: int

    def matching(self, manifests: Sequence[ManifestFile]) -> list[MatchingDeletes]:
        """Return the matching delete files of some manifests."""
        return list(self.scan.reader().deletes(manifests, self.least_sequence))


@dataclass(frozen=True, slots=True)
class _ReadData:
    """The function of tasks that read data manifests."""

    scan: ManifestScan
    of_deletes: tuple[Statistic, ...]

    def matching(self, manifests: Sequence[ManifestFile]) -> list[MatchingFiles]:
        """Return the matching data files of some manifests."""
        return list(self.scan.reader().data_files(manifests, self.of_deletes))


@dataclass(frozen=True, slots=True)
class ManifestReads:
    """Reads the matching manifests of a planning, in this process or in tasks.

    `properties` are those of the table; without `tasks` this process reads.
    """

    pruner: ManifestPruner
    properties: Mapping[str, str]
    tasks: PlanningTasks | None = None

    def deletes(
        self, manifests: Sequence[ManifestFile], least_sequence: int
    ) -> Iterable[MatchingDeletes]:
        """Return the matching delete files; see `matching_deletes`."""
        work = _ReadDeletes(self.pruner.scan, least_sequence).matching
        matching = run_by_tasks(self.tasks, DELETE_PLANNING_MODE, self.properties, manifests, work)
        return self.pruner.deletes(manifests, least_sequence) if matching is None else matching

    def data_files(
        self, manifests: Sequence[ManifestFile], of_deletes: tuple[Statistic, ...]
    ) -> Iterable[MatchingFiles]:
        """Return the matching data files with the statistics `of_deletes`."""
        work = _ReadData(self.pruner.scan, of_deletes).matching
        matching = run_by_tasks(self.tasks, DATA_PLANNING_MODE, self.properties, manifests, work)
        return self.pruner.data_files(manifests, of_deletes) if matching is None else matching


def _chunked(
    tables: Iterable[tuple[ManifestFile, pa.Table]],
) -> Iterator[tuple[int, pa.Table]]:
    """Yield (spec id, entries) of neighbouring manifests of one spec, joined up to a chunk."""
    pending: list[pa.Table] = []
    spec_id, rows = -1, 0
    for manifest, table in tables:
        full = rows + table.num_rows > PLANNING.entries_at_once
        if pending and (full or manifest.partition_spec_id != spec_id):
            yield spec_id, _joined(pending)
            pending, rows = [], 0
        spec_id = manifest.partition_spec_id
        pending.append(table)
        rows += table.num_rows
    if pending:
        yield spec_id, _joined(pending)


def _joined(tables: Sequence[pa.Table]) -> pa.Table:
    """Return one table; many small pieces are copied together, since each costs every kernel."""
    joined = pa.concat_tables(tables, promote_options="default")  # some lack counts
    return joined.combine_chunks() if len(tables) > PLANNING.uncombined_tables else joined


def matching_deletes(
    entries: pa.Table, pruning: SpecPruning, row_filter: Bound, least_sequence: int
) -> tuple[pa.Table, int]:
    """Return the live delete files that may delete a matching row, and the number of others.

    `least_sequence` is the least data sequence number of the data files: position deletes apply
    from that number on, equality deletes only after it.
    """
    status = entries.column("status")
    live = _filtered(entries, pc.not_equal(status, _DELETED))
    equality = _numbers(live, "content") == DataFileContent.EQUALITY_DELETES.value
    sequences = _numbers(live, "data_sequence_number")
    keep = np.where(equality, sequences > least_sequence, sequences >= least_sequence)
    keep &= pruning.partitions(live.column("partition").combine_chunks())
    matching = _filtered(live, from_numpy(keep))
    matching = _filtered(matching, _metrics_mask(row_filter, matching))
    return matching, live.num_rows - matching.num_rows


def _filtered(entries: pa.Table, keep: Any) -> pa.Table:
    return entries if pc.all(keep, min_count=0).as_py() else entries.filter(keep)


def _metrics_mask(row_filter: Bound, deletes: pa.Table) -> Any:
    """Return which delete files may delete a matching row, by their bounds and counts.

    Only the statistics of equality columns count: other columns of the file do not determine which
    rows are deleted.
    """
    if row_filter == ALWAYS_TRUE or deletes.num_rows == 0:
        return from_numpy(np.ones(deletes.num_rows, np.bool_))
    statistics = needed_statistics(row_filter)
    stats = stats_table(deletes, statistics)
    for statistic in statistics:
        name = column(statistic.kind, statistic.field_id)
        uses = pa.array(uses_column(deletes.column("equality_ids"), statistic.field_id))
        index = stats.column_names.index(name)
        stats = stats.set_column(index, name, pc.if_else(uses, stats.column(name), None))
    return evaluate(may_match(row_filter), stats)


def uses_column(equality_ids: Any, field_id: int) -> Mask:
    """Return which delete files have the column among their equality columns."""
    ids = equality_ids.combine_chunks()
    uses = np.zeros(len(ids), np.bool_)
    owners = pc.list_parent_indices(ids).to_numpy()
    uses[owners[_flat(ids) == field_id]] = True
    return uses


def _flat(lists: Any) -> Any:
    return pc.list_flatten(lists).to_numpy(zero_copy_only=False)


def _numbers(table: pa.Table, name: str) -> Any:
    return table.column(name).to_numpy()


@dataclass(frozen=True, slots=True)
class _Chunk:
    """Entries of data manifests of one spec, and the filter for them."""

    entries: pa.Table
    pruning: SpecPruning
    appended: Appended | None = None
    pruned_by: VariantFilter | None = None


def _matching_files(chunk: _Chunk, selected: Sequence[str]) -> MatchingFiles:
    """Return the files of a chunk that may have matching rows, with some of their columns."""
    live = _live(chunk)
    pruning = chunk.pruning
    tuples = live.column("partition").combine_chunks()
    first, tuple_of = distinct(tuples)
    tuples = tuples.take(from_numpy(first))
    in_partition = pruning.partitions(tuples)[tuple_of]
    in_partitions, their_tuples = _only(live, tuple_of, in_partition)
    residuals, way_of = pruning.residuals(tuples)
    by_metrics = metrics_mask(in_partitions, pruning.statistics, residuals, way_of[their_tuples])
    if chunk.pruned_by is not None:
        by_metrics = by_metrics & _variant_bounds.variant_mask(chunk.pruned_by, in_partitions)
    matching, tuple_of = _only(in_partitions, their_tuples, by_metrics)
    return MatchingFiles(
        files=matching.select(selected),
        spec_id=pruning.spec.spec_id,
        partitions=PartitionTuples(pruning.partition_type, tuples),
        partition_of=tuple_of,
        residuals=residuals,
        residual_of=way_of[tuple_of],
        skipped_by_partition=live.num_rows - in_partitions.num_rows,
        skipped_by_metrics=in_partitions.num_rows - matching.num_rows,
        skipped_bytes=_bytes(live) - _bytes(matching),
    )


def _live(chunk: _Chunk) -> pa.Table:
    """Return the entries that the scan is about: not deleted, or those that were appended."""
    status = chunk.entries.column("status")
    if chunk.appended is not None:
        added = pc.equal(status, ManifestEntryStatus.ADDED.value)
        ids = pa.array(chunk.appended, pa.int64())
        return chunk.entries.filter(
            pc.and_(added, pc.is_in(chunk.entries.column("snapshot_id"), ids))
        )
    live = pc.not_equal(status, _DELETED)
    return chunk.entries if pc.all(live).as_py() else chunk.entries.filter(live)


def _only(files: pa.Table, numbers: Rows, keep: Any) -> tuple[pa.Table, Rows]:
    if keep.all():
        return files, numbers
    return files.filter(from_numpy(keep)), numbers[keep]


def _bytes(files: pa.Table) -> int:
    return int(pc.sum(files.column("file_size_in_bytes")).as_py() or 0)
