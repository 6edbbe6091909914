"""The data files of a branch that a compaction rewrites, and the tasks that do so."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.expr.nodes import ALWAYS_TRUE, Unbound
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.maintenance.compaction import CompactionWork, PlannedGroup
from iceberg_spark.maintenance.compaction_plan import (
    Candidates,
    FileGroup,
    GroupPlan,
    Longs,
    plan_groups,
)
from iceberg_spark.maintenance.layout import Layout
from iceberg_spark.maintenance.rewrite_options import RewriteOptions
from iceberg_spark.scan.context import ScanContext
from iceberg_spark.scan.plan import ScanPlan
from iceberg_spark.scan.planner import plan
from iceberg_spark.scan.pruning import canonical_tuples
from iceberg_spark.scan.request import ScanRequest, scan_context
from iceberg_spark.scan.split import split_options
from iceberg_spark.scan.task import FileScanTask
from iceberg_spark.spec.data_file import DataFileContent
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.partition import partition_key
from iceberg_spark.spec.reserved import POS
from iceberg_spark.spec.schema import Schema
from iceberg_spark.write.lineage import keeping_lineage
from iceberg_spark.write.new_write import check_spec, write_context


@dataclass(frozen=True, slots=True)
class CompactionRequest:
    """The arguments of a compaction; `row_filter` selects files, all of whose rows are rewritten.

    `overrides` are table properties that the session's settings replace.
    """

    layout: Layout
    options: RewriteOptions
    row_filter: Unbound | None = None
    branch: str | None = None
    time_zone: str | None = None
    case_sensitive: bool = True
    overrides: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class CompactionPlan:
    """The work, its groups in the order of the job, and their number without a limit."""

    work: CompactionWork
    groups: tuple[PlannedGroup, ...]
    total: int


def plan_compaction(
    metadata: TableMetadata,
    io: FileIO,
    request: CompactionRequest,
    only: Collection[str] | None = None,
) -> CompactionPlan | None:
    """Plan a compaction of a branch's head; None without a head. `only` restricts the files.

    Files that are listed twice stay unchanged.

    Raises:
        NoSuchSnapshotError: the branch does not exist.
        UnsupportedError: this library cannot write the table.
        InvalidExpressionError: the filter does not fit the columns.
    """
    scan = ScanRequest(
        branch=request.branch,
        row_filter=request.row_filter,
        time_zone=request.time_zone,
        case_sensitive=request.case_sensitive,
    )
    context = scan_context(metadata, scan, io)
    if context.snapshot_id is None:
        return None
    planned = _all_rows(_listed_once(plan(metadata, io, context, whole_files=True)))
    if only is not None:
        inside = pc.is_in(planned.files.column("file_path"), pa.array(sorted(only), pa.string()))
        planned = replace(planned, files=planned.files.filter(inside))
    group_plan = plan_groups(_candidates(planned, metadata), request.options.groups)
    work = _work(metadata, io, request, planned.context)
    return CompactionPlan(
        work, _groups(metadata, planned, group_plan, request.options), group_plan.total
    )


def _all_rows(planned: ScanPlan) -> ScanPlan:
    return replace(
        planned,
        context=replace(planned.context, row_filter=ALWAYS_TRUE, checks_texts=False),
        residuals=(ALWAYS_TRUE,) * len(planned.residuals),
    )


def _listed_once(planned: ScanPlan) -> ScanPlan:
    """Leave out files that are listed twice: a commit cannot replace one listing alone."""
    counted = pc.value_counts(planned.files.column("file_path"))
    if len(counted) == len(planned):
        return planned
    once = counted.filter(pc.equal(counted.field("counts"), 1)).field("values")
    listed_once = pc.is_in(planned.files.column("file_path"), value_set=once)
    return replace(planned, files=planned.files.filter(listed_once))


def _work(
    metadata: TableMetadata, io: FileIO, request: CompactionRequest, context: ScanContext
) -> CompactionWork:
    spec = metadata.partition_specs[request.options.output_spec_id]
    check_spec(spec, metadata.schema)
    write = keeping_lineage(write_context(metadata, io=io, properties_override=request.overrides))
    read = Schema(*write.schema.fields, POS, schema_id=write.schema.schema_id)
    return CompactionWork(
        replace(context, read_schema=read),
        replace(write, spec=spec),
        request.layout,
        request.options,
    )


def _groups(
    metadata: TableMetadata, planned: ScanPlan, group_plan: GroupPlan, options: RewriteOptions
) -> tuple[PlannedGroup, ...]:
    snapshot_id = planned.context.snapshot_id
    if snapshot_id is None:
        return ()
    number = metadata.snapshot(snapshot_id).sequence_number
    sequence_number = number if metadata.rules.has_sequence_numbers else None
    specs = planned.files.column("spec_id").to_numpy()
    planned_groups = []
    for group in group_plan.groups:
        some = planned.subset(group.rows)
        changes = bool((specs[group.rows] != options.output_spec_id).any())
        pieces = _pieces(metadata, some, group)
        planned_groups.append(
            PlannedGroup(group, some, pieces, snapshot_id, sequence_number, changes)
        )
    return tuple(planned_groups)


def _pieces(
    metadata: TableMetadata, some: ScanPlan, group: FileGroup
) -> tuple[tuple[FileScanTask, ...], ...]:
    """Return tasks balanced like Java's bin-pack on Spark: opening a file costs nothing."""
    cut = split_options(metadata.properties, split_size=group.split_bytes, open_file_cost=0)
    return tuple(some.groups(cut))


def _candidates(planned: ScanPlan, metadata: TableMetadata) -> Candidates:
    files = planned.files
    counts, deleted = _deletes(planned)
    return Candidates(
        _partitions(planned, metadata),
        files.column("file_size_in_bytes").to_numpy(),
        files.column("record_count").to_numpy(),
        counts,
        deleted,
    )


def _partitions(planned: ScanPlan, metadata: TableMetadata) -> Longs:
    """Number the partitions of the table's spec; other specs' files get the number of nulls."""
    specs = planned.files.column("spec_id").to_numpy()
    indexes = planned.files.column("partition_index").to_numpy()
    of_tuple: dict[tuple[object, ...], int] = {}
    nulls = of_tuple.setdefault(partition_key((None,) * len(metadata.spec.fields)), 0)
    tuples = [
        partition_key(values)
        for part in planned.partitions
        for values in canonical_tuples(part.kind, part.tuples)
    ]
    current = specs == metadata.default_spec_id
    numbers = np.full(len(planned), nulls, np.int64)
    for index in np.unique(indexes[current]).tolist():
        number = of_tuple.setdefault(tuples[index], len(of_tuple))
        numbers[current & (indexes == index)] = number
    return numbers


def _deletes(planned: ScanPlan) -> tuple[Longs, Longs]:
    """Return each data file's number of delete files, and of rows deleted by those for it only.

    Source: Java's ContentFileUtil.isFileScoped.
    """
    rows = len(planned)
    if not planned.metrics.files_with_deletes:
        return np.zeros(rows, np.int64), np.zeros(rows, np.int64)
    lists = planned.files.column("delete_rows").combine_chunks()
    owner = pc.list_parent_indices(lists).to_numpy()
    used = planned.deletes.files.take(pc.list_flatten(lists))
    scoped = pc.and_(
        pc.is_valid(used.column("referenced_data_file")),
        pc.equal(used.column("content"), DataFileContent.POSITION_DELETES.value),
    )
    deleted = pc.if_else(scoped, used.column("record_count"), 0).to_numpy()
    total = np.bincount(owner, weights=deleted, minlength=rows).astype(np.int64)
    return np.bincount(owner, minlength=rows).astype(np.int64), total
