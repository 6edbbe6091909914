"""Plan a scan: from the manifest list to the files to read, column by column.

Manifests are masked by their summaries, the delete index is complete before the first lookup, and
data entries are processed in chunks, so that their statistics are freed right after use.
Source: specification "Scan Planning"; Java's `ManifestGroup`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from iceberg_spark.arrow.arrays import from_numpy
from iceberg_spark.catalog.planned_io import planner_of, refuse_server_planning
from iceberg_spark.errors import CorruptFileError, UnsupportedError
from iceberg_spark.expr.nodes import ALWAYS_TRUE, Bound
from iceberg_spark.expr.variant_filter import VariantFilter
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.lazy import LazyFunction
from iceberg_spark.manifest.manifest_list import read_manifest_list
from iceberg_spark.scan.context import ScanContext
from iceberg_spark.scan.delete_index import DeleteIndex, delete_index
from iceberg_spark.scan.incremental import Appended, added_manifests, appended_manifests
from iceberg_spark.scan.metrics import ScanMetrics, with_totals
from iceberg_spark.scan.plan import FILES_SCHEMA, ScanPlan
from iceberg_spark.scan.plan_cache import PlannedScan, cached_plan
from iceberg_spark.scan.planning_tasks import PlanningTasks
from iceberg_spark.scan.prune_manifests import (
    PLAIN_COLUMNS,
    ManifestReads,
    ManifestScan,
    MatchingFiles,
)
from iceberg_spark.spec.manifest_file import ManifestContent, ManifestFile
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.partition_type import partition_type
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.snapshot import Snapshot
from iceberg_spark.spec.types import IcebergType, StructType

_server_plan: Callable[[TableMetadata, FileIO, ScanContext], ScanPlan] = LazyFunction(
    "iceberg_spark.scan.server_plan", "server_plan"
)
_in_partitions: Callable[[ScanPlan, Bound], ScanPlan] = LazyFunction(
    "iceberg_spark.scan.server_plan", "in_partitions"
)
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
    tasks: PlanningTasks | None = None,
) -> ScanPlan:
    """Return the files that a scan reads, with their deletes and residual filters.

    With `added_by`, snapshots newest first, the result is the files that these added, independent
    of the context's snapshot, without deletes. Deletes of rows that can't match are left out,
    unless `whole_files`: then all other rows of the files are read as well, for example by a
    change that rewrites them. Without `residuals`, for callers that only need the files, the
    residual is the complete filter. `pruned_by` filters rows elsewhere: files that can't match
    it are left out. With `tasks`, the modes of the session and of the table decide whether these
    read the manifests or this process does; the plan is the same.

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
            tasks=tasks,
        ),
    )
    return _timed(replace(planned, context=context, tasks=tasks), started)


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
    tasks: PlanningTasks | None,
) -> ScanPlan:
    manifests, appended = _manifests(metadata, io, context, added_by)
    by_content = {
        content: [manifest for manifest in manifests if manifest.content is content]
        for content in ManifestContent
    }
    scan = ManifestScan(
        io,
        context,
        _partition_types(metadata, context, manifests),
        ALWAYS_TRUE if whole_files else context.row_filter,
        appended,
        pruned_by,
        residuals,
    )
    reads = ManifestReads(scan.reader(), metadata.properties, tasks)
    data = by_content[ManifestContent.DATA]
    matching = reads.pruner.matching(data)
    deletes = [] if appended is not None else by_content[ManifestContent.DELETES]
    opened, index, skipped = _deletes(reads, metadata, matching, deletes)
    chunks = [_planned_chunk(files, index) for files in reads.data_files(matching, index.needed)]
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


def _deletes(
    reads: ManifestReads,
    metadata: TableMetadata,
    data: Sequence[ManifestFile],
    manifests: Sequence[ManifestFile],
) -> tuple[int, DeleteIndex, int]:
    """Return how many delete manifests were opened, the index, and how many files it left out.

    Deletes older than every remaining data file are not opened, or left out.
    """
    least = min((candidate.min_sequence_number or 0 for candidate in data), default=None)
    if least is None:
        return 0, delete_index((), {}, {}), 0
    matching = reads.pruner.matching(
        [
            candidate
            for candidate in manifests
            if candidate.sequence_number is None or candidate.sequence_number >= least
        ]
    )
    skipped = 0
    parts = []
    for deletes in reads.deletes(matching, least):
        skipped += deletes.skipped
        parts.append((deletes.spec_id, deletes.entries))
    context = reads.pruner.scan.context
    types = _field_types(context.table_schema, metadata)
    return len(matching), delete_index(parts, context.specs, types), skipped


def narrow_plan(
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
    return plan(
        planned.metadata,
        context.io,
        context,
        residuals=False,
        pruned_by=pruned_by,
        tasks=planned.tasks,
    )


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


def _partition_types(
    metadata: TableMetadata, context: ScanContext, manifests: Iterable[ManifestFile]
) -> dict[int, StructType]:
    """Return the types of partition tuples for each spec that the manifests use."""
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
        by_spec[spec_id] = partition_type(spec, schema, former)
    return by_spec


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
        matching = chunk.matching
        indices = [
            residuals.setdefault(residual, len(residuals)) for residual in matching.residuals
        ]
        tables.append(chunk.table(moved, indices))
        partitions.append(matching.partitions)
        moved += len(matching.partitions.tuples)
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
        skipped_files_by_partition=sum(chunk.matching.skipped_by_partition for chunk in chunks),
        skipped_files_by_metrics=sum(chunk.matching.skipped_by_metrics for chunk in chunks),
        skipped_file_size_in_bytes=sum(chunk.matching.skipped_bytes for chunk in chunks),
    )


@dataclass(frozen=True, slots=True)
class PlannedChunk:
    """Matching data files of one spec, and the list of delete files of each."""

    matching: MatchingFiles
    delete_rows: Any

    def table(self, first_partition: int, residuals: Sequence[int]) -> pa.Table:
        """Return the files as FILES_SCHEMA, with indexes into the whole plan."""
        matching = self.matching
        rows = matching.files.num_rows
        numbers = np.asarray(residuals, np.int32)
        partition_of = matching.partition_of + first_partition
        columns = {name: matching.files.column(name) for name in PLAIN_COLUMNS} | {
            "spec_id": from_numpy(np.full(rows, matching.spec_id, np.int32)),
            "partition_index": from_numpy(partition_of.astype(np.int32)),
            "residual_index": from_numpy(numbers[matching.residual_of]),
            "delete_rows": self.delete_rows,
        }
        ordered = [columns[name] for name in FILES_SCHEMA.names]
        return pa.Table.from_arrays(ordered, schema=FILES_SCHEMA)


def _planned_chunk(matching: MatchingFiles, index: DeleteIndex) -> PlannedChunk:
    """Attach the deletes; what only their lookup needs is freed."""
    delete_rows = index.lookup(matching.spec_id, matching.files)
    files = matching.files.select(PLAIN_COLUMNS)
    return PlannedChunk(replace(matching, files=files), delete_rows)
