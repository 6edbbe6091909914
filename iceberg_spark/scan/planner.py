"""Plan a scan: from the manifest list to the files to read, column by column.

Manifests are masked by their summaries, the delete index is complete before the first lookup, and
data entries are processed in chunks, so that their statistics are freed right after use.
Source: specification "Scan Planning"; Java's `ManifestGroup`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.arrow.arrays import from_numpy, int_scalar
from iceberg_spark.catalog.planned_io import planner_of, refuse_server_planning
from iceberg_spark.errors import CorruptFileError, UnsupportedError
from iceberg_spark.expr.may_match import may_match
from iceberg_spark.expr.nodes import ALWAYS_TRUE, Bound
from iceberg_spark.expr.stats import column, evaluate, needed
from iceberg_spark.expr.variant_filter import VariantFilter
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.lazy import LazyFunction, LazyModule
from iceberg_spark.manifest.manifest_list import read_manifest_list
from iceberg_spark.manifest.reader import read_manifest
from iceberg_spark.scan.column_stats import statistic_columns, stats_table
from iceberg_spark.scan.context import ScanContext
from iceberg_spark.scan.delete_index import DELETE_COLUMNS, DeleteIndex, delete_index
from iceberg_spark.scan.delete_pairs import Mask, Rows
from iceberg_spark.scan.entry_tables import read_ahead
from iceberg_spark.scan.incremental import Appended, added_manifests, appended_manifests
from iceberg_spark.scan.limits import PLANNING
from iceberg_spark.scan.metrics import ScanMetrics, with_totals
from iceberg_spark.scan.partition_codes import distinct
from iceberg_spark.scan.plan import FILES_SCHEMA, PartitionTuples, ScanPlan
from iceberg_spark.scan.plan_cache import PlannedScan, cached_plan
from iceberg_spark.scan.pruning import SpecPruning, metrics_mask, spec_pruning
from iceberg_spark.spec.data_file import DataFileContent, ManifestEntryStatus
from iceberg_spark.spec.manifest_file import ManifestContent, ManifestFile
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.partition_type import partition_type
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.snapshot import Snapshot
from iceberg_spark.spec.types import IcebergType

_server_plan: Callable[[TableMetadata, FileIO, ScanContext], ScanPlan] = LazyFunction(
    "iceberg_spark.scan.server_plan", "server_plan"
)
_in_partitions: Callable[[ScanPlan, Bound], ScanPlan] = LazyFunction(
    "iceberg_spark.scan.server_plan", "in_partitions"
)
_variant_bounds = LazyModule("iceberg_spark.scan.variant_bounds")

_DELETED = int_scalar(ManifestEntryStatus.DELETED, np.int32)
_ADDED_BY = "It plans what several snapshots appended: use start_snapshot_id and end_snapshot_id"


def plan(
    metadata: TableMetadata,
    io: FileIO,
    context: ScanContext,
    *,
    whole_files: bool = False,
    added_by: Sequence[Snapshot] | None = None,
    residuals: bool = True,
    pruned_by: VariantFilter | None = None,
) -> ScanPlan:
    """Return the files that a scan reads, with their deletes and residual filters.

    With `added_by`, snapshots newest first, the result is the files that these added, independent
    of the context's snapshot, without deletes. Deletes of rows that can't match are left out,
    unless `whole_files`: then all other rows of the files are read as well, for example by a
    change that rewrites them. Without `residuals`, for callers that only need the files, the
    residual is the complete filter. `pruned_by` filters rows elsewhere: files that can't match
    it are left out.

    If the table's catalog plans its scans, the catalog is asked. It plans neither `whole_files` nor
    `added_by`, and `pruned_by` leaves out nothing.

    Raises ValidationException for contradictory delete metadata, UnsupportedError for encrypted
    snapshots and for what a catalog does not plan, CorruptFileError and NoSuchFileError for
    unreadable manifests, and what `server_plan` raises.
    """
    started = time.perf_counter()
    if planner_of(io) is not None:
        planned = _by_catalog(metadata, io, context, whole_files=whole_files, added_by=added_by)
        return _timed(planned, started)
    of_snapshot = added_by is None and pruned_by is None
    scan = None
    if of_snapshot:
        scan = PlannedScan.of(metadata, context, whole_files=whole_files, residuals=residuals)
    planned = cached_plan(
        scan,
        lambda: _planned(
            metadata,
            io,
            context,
            whole_files=whole_files,
            added_by=added_by,
            residuals=residuals,
            pruned_by=pruned_by,
        ),
    )
    return _timed(replace(planned, context=context), started)


def _timed(planned: ScanPlan, started: float) -> ScanPlan:
    seconds = time.perf_counter() - started
    return replace(planned, metrics=replace(planned.metrics, planning_seconds=seconds))


def _by_catalog(
    metadata: TableMetadata,
    io: FileIO,
    context: ScanContext,
    *,
    whole_files: bool,
    added_by: Sequence[Snapshot] | None,
) -> ScanPlan:
    if whole_files:
        refuse_server_planning(io, "change or rewrite rows")
    if added_by is not None:
        refuse_server_planning(io, "read the files that one snapshot added", _ADDED_BY)
    return _server_plan(metadata, io, context)


def _planned(
    metadata: TableMetadata,
    io: FileIO,
    context: ScanContext,
    *,
    whole_files: bool,
    added_by: Sequence[Snapshot] | None,
    residuals: bool,
    pruned_by: VariantFilter | None,
) -> ScanPlan:
    manifests, appended = _manifests(metadata, io, context, added_by)
    by_content = {
        content: [manifest for manifest in manifests if manifest.content is content]
        for content in ManifestContent
    }
    pruning = _pruning(metadata, context, manifests, residuals=residuals)
    deleted = ALWAYS_TRUE if whole_files else context.row_filter
    work = _Planning(metadata, io, context, appended, pruning, deleted, pruned_by)
    data = by_content[ManifestContent.DATA]
    matching = work.matching(data)
    deletes = [] if appended is not None else by_content[ManifestContent.DELETES]
    opened, index, skipped = work.deletes(matching, deletes)
    chunks = list(work.chunks(matching, index))
    metrics = ScanMetrics(
        total_data_manifests=len(data),
        scanned_data_manifests=len(matching),
        total_delete_manifests=len(deletes),
        scanned_delete_manifests=opened,
        skipped_files_in_manifests=_live_files(data) - _live_files(matching),
        indexed_delete_files=len(index),
        skipped_delete_files=skipped,
    )
    return _assemble(metadata, context, chunks, index, metrics)


def narrowed(
    planned: ScanPlan, condition: Bound, pruned_by: VariantFilter | None = None
) -> ScanPlan | None:
    """Return the files of a plan that match another condition, None if it can't be planned.

    The plan's own filters are not repeated: the files in both results match both. Residuals are not
    computed. A catalog that plans scans may write files for a plan, so two of its plans can't be
    compared: files of its plan are left out by their partitions only.
    """
    if planned.metadata is None:
        return None
    if planned.is_by_catalog:
        return _in_partitions(planned, condition)
    context = replace(planned.context, row_filter=condition)
    return plan(planned.metadata, context.io, context, residuals=False, pruned_by=pruned_by)


def _manifests(
    metadata: TableMetadata,
    io: FileIO,
    context: ScanContext,
    added_by: Sequence[Snapshot] | None,
) -> tuple[Sequence[ManifestFile], Appended | None]:
    if added_by is not None:
        return added_manifests(metadata, io, added_by)
    if context.snapshot_id is None:
        return (), None
    if context.start_snapshot_id is not None:
        return appended_manifests(metadata, io, context.start_snapshot_id, context.snapshot_id)
    snapshot = metadata.snapshot(context.snapshot_id)
    if snapshot.key_id is not None:
        raise UnsupportedError(
            f"Snapshot {snapshot.snapshot_id} of {metadata.location} is encrypted (key-id "
            f"{snapshot.key_id}): encrypted tables can't be read by this version"
        )
    return read_manifest_list(io, snapshot, metadata), None


def _pruning(
    metadata: TableMetadata,
    context: ScanContext,
    manifests: Iterable[ManifestFile],
    *,
    residuals: bool,
) -> dict[int, SpecPruning]:
    """Return the filter projected for each spec that the manifests use."""
    schema = context.table_schema
    former = [metadata.schemas[number] for number in sorted(metadata.schemas, reverse=True)]
    by_spec = {}
    for spec_id in sorted({manifest.partition_spec_id for manifest in manifests}):
        spec = context.specs.get(spec_id)
        if spec is None:
            spec_ids = ", ".join(str(number) for number in context.specs)
            raise CorruptFileError(
                f"A manifest of {metadata.location} has partition spec {spec_id}, but the "
                f"table's metadata has only: {spec_ids}"
            )
        kind = partition_type(spec, schema, former)
        by_spec[spec_id] = spec_pruning(context.row_filter, spec, kind, schema, residuals=residuals)
    return by_spec


@dataclass(frozen=True, slots=True)
class _Planning:
    """The values that every step of one planning uses."""

    metadata: TableMetadata
    io: FileIO
    context: ScanContext
    appended: Appended | None
    by_spec: Mapping[int, SpecPruning]
    deleted_rows: Bound
    pruned_by: VariantFilter | None

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
        self, data: Sequence[ManifestFile], manifests: Sequence[ManifestFile]
    ) -> tuple[int, DeleteIndex, int]:
        """Return how many delete manifests were opened, the index, and how many files it left out.

        Deletes older than every remaining data file are not opened, or left out.
        """
        least = min((candidate.min_sequence_number or 0 for candidate in data), default=None)
        if least is None:
            return 0, delete_index((), {}, {}), 0
        matching = self.matching(
            [
                candidate
                for candidate in manifests
                if candidate.sequence_number is None or candidate.sequence_number >= least
            ]
        )
        skipped = 0
        parts = []
        for manifest, entries in self._tables(matching, lambda _: DELETE_COLUMNS):
            pruning = self.by_spec[manifest.partition_spec_id]
            matching_entries, dropped = matching_deletes(entries, pruning, self.deleted_rows, least)
            skipped += dropped
            parts.append((manifest.partition_spec_id, matching_entries))
        types = _field_types(self.context.table_schema, self.metadata)
        return len(matching), delete_index(parts, self.context.specs, types), skipped

    def chunks(
        self, manifests: Sequence[ManifestFile], index: DeleteIndex
    ) -> Iterator[PlannedChunk]:
        """Yield the matching data files of the manifests, planned chunk by chunk."""
        extra = () if self.appended is None else ("snapshot_id",)
        if self.pruned_by is not None:
            extra = (*extra, *_variant_bounds.variant_columns(self.pruned_by))

        def columns(pruning: SpecPruning) -> Collection[str]:
            statistics = statistic_columns((*pruning.statistics, *index.needed))
            return {*DATA_COLUMNS, *statistics, *extra}

        for spec_id, entries in _chunked(self._tables(manifests, columns)):
            chunk = Chunk(entries, self.by_spec[spec_id], self.appended, self.pruned_by)
            yield plan_chunk(chunk, index)

    def _tables(
        self,
        manifests: Sequence[ManifestFile],
        columns: Callable[[SpecPruning], Collection[str]],
    ) -> Iterator[tuple[ManifestFile, pa.Table]]:
        def read(manifest: ManifestFile) -> pa.Table:
            pruning = self.by_spec[manifest.partition_spec_id]
            kind = pruning.partition_type
            return read_manifest(self.io, manifest, kind, columns=columns(pruning))

        return zip(manifests, read_ahead(read, manifests), strict=True)


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
    joined = pa.concat_tables(tables)
    return joined.combine_chunks() if len(tables) > PLANNING.uncombined_tables else joined


def _live_files(manifests: Iterable[ManifestFile]) -> int:
    return sum(
        (manifest.added_files_count or 0) + (manifest.existing_files_count or 0)
        for manifest in manifests
    )


def _field_types(schema: Schema, metadata: TableMetadata) -> dict[int, IcebergType]:
    """Return the type of every present and former column, from the newest schema with it."""
    types: dict[int, IcebergType] = {}
    former = [metadata.schemas[number] for number in sorted(metadata.schemas)]
    for version in (*former, schema):
        types.update({field_id: version.find_type(field_id) for field_id in version.field_ids})
    return types


def _assemble(
    metadata: TableMetadata,
    context: ScanContext,
    chunks: Sequence[PlannedChunk],
    index: DeleteIndex,
    metrics: ScanMetrics,
) -> ScanPlan:
    """Join the planned chunks: their indexes become those of the plan."""
    residuals: dict[Bound, int] = {}
    tables, partitions, moved = [], [], 0
    for chunk in chunks:
        indices = [residuals.setdefault(residual, len(residuals)) for residual in chunk.residuals]
        tables.append(chunk.table(moved, indices))
        partitions.append(chunk.partitions)
        moved += len(chunk.partitions.tuples)
    files = pa.concat_tables(tables) if tables else FILES_SCHEMA.empty_table()
    counted = with_totals(_with_skipped(metrics, chunks), files, tuple(residuals), index)
    return ScanPlan(
        context=context,
        files=files,
        partitions=tuple(partitions),
        residuals=tuple(residuals),
        deletes=index,
        metrics=counted,
        metadata=metadata,
    )


def _with_skipped(metrics: ScanMetrics, chunks: Sequence[PlannedChunk]) -> ScanMetrics:
    return replace(
        metrics,
        skipped_files_by_partition=sum(chunk.skipped_by_partition for chunk in chunks),
        skipped_files_by_metrics=sum(chunk.skipped_by_metrics for chunk in chunks),
        skipped_file_size_in_bytes=sum(chunk.skipped_bytes for chunk in chunks),
    )


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
    statistics = needed(row_filter)
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


_PLAIN = (
    "file_path",
    "file_format",
    "record_count",
    "file_size_in_bytes",
    "data_sequence_number",
    "split_offsets",
    "first_row_id",
)
DATA_COLUMNS = ("status", "partition", *_PLAIN)
"""The columns of ENTRY_COLUMNS that planning needs, besides statistics."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Entries of data manifests of one spec, and the filter for them."""

    entries: pa.Table
    pruning: SpecPruning
    appended: Appended | None = None
    pruned_by: VariantFilter | None = None


@dataclass(frozen=True, slots=True)
class PlannedChunk:
    """Matching data files; `partition_of` and `residual_of` number their tuples and residuals."""

    files: pa.Table
    spec_id: int
    partitions: PartitionTuples
    partition_of: Rows
    residuals: Sequence[Bound]
    residual_of: Rows
    delete_rows: Any
    skipped_by_partition: int
    skipped_by_metrics: int
    skipped_bytes: int

    def table(self, first_partition: int, residuals: Sequence[int]) -> pa.Table:
        """Return the files as FILES_SCHEMA, with indexes into the whole plan."""
        rows = self.files.num_rows
        numbers = np.asarray(residuals, np.int32)
        columns = {name: self.files.column(name) for name in _PLAIN} | {
            "spec_id": from_numpy(np.full(rows, self.spec_id, np.int32)),
            "partition_index": from_numpy((self.partition_of + first_partition).astype(np.int32)),
            "residual_index": from_numpy(numbers[self.residual_of]),
            "delete_rows": self.delete_rows,
        }
        ordered = [columns[name] for name in FILES_SCHEMA.names]
        return pa.Table.from_arrays(ordered, schema=FILES_SCHEMA)


def plan_chunk(chunk: Chunk, index: DeleteIndex) -> PlannedChunk:
    """Return the files of a chunk that may have matching rows, with their deletes and residuals."""
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
    return PlannedChunk(
        files=matching.select(_PLAIN),
        spec_id=pruning.spec.spec_id,
        partitions=PartitionTuples(pruning.partition_type, tuples),
        partition_of=tuple_of,
        residuals=residuals,
        residual_of=way_of[tuple_of],
        delete_rows=index.lookup(pruning.spec.spec_id, matching),
        skipped_by_partition=live.num_rows - in_partitions.num_rows,
        skipped_by_metrics=in_partitions.num_rows - matching.num_rows,
        skipped_bytes=_bytes(live) - _bytes(matching),
    )


def _live(chunk: Chunk) -> pa.Table:
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
