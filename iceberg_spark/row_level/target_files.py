"""The data files that a row-level change reads, and those that it need not read."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.commits.manifest_filter import MatchingRows, row_matches
from iceberg_spark.commits.new_manifests import read_entries
from iceberg_spark.errors import ValidationException
from iceberg_spark.expr.nodes import (
    ALWAYS_FALSE,
    ALWAYS_TRUE,
    And,
    Bound,
    BoundReference,
    Comparison,
    In,
    Op,
    Or,
    Unbound,
)
from iceberg_spark.expr.variant_filter import VariantFilter
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.manifest.manifest_list import read_manifest_list
from iceberg_spark.read.task_reader import may_have_matches
from iceberg_spark.row_level.key_ranges import most_values
from iceberg_spark.scan.context import ScanContext
from iceberg_spark.scan.limits import LOOK_UPS
from iceberg_spark.scan.plan import ScanPlan
from iceberg_spark.scan.planner import plan
from iceberg_spark.scan.planning_tasks import PlanningTasks
from iceberg_spark.scan.request import ScanRequest, scan_context
from iceberg_spark.scan.task import FileScanTask
from iceberg_spark.spec.manifest_file import ManifestContent
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.schema import Schema


@dataclass(frozen=True, slots=True)
class Target:
    """The files of a snapshot under a filter; `proved` files have matching rows only.

    `plan` are the other files that may have some, with the filter for their rows.
    """

    metadata: TableMetadata
    plan: ScanPlan
    proved: tuple[FileScanTask, ...] = ()

    @property
    def context(self) -> ScanContext:
        """The scan that found the files."""
        return self.plan.context


@dataclass(frozen=True, slots=True)
class TargetOptions:
    """Which rows of which branch, and how to read names and literals in the filter."""

    branch: str | None = None
    case_sensitive: bool = True
    time_zone: str | None = None


def target_files(
    metadata: TableMetadata,
    io: FileIO,
    row_filter: Unbound | None,
    options: TargetOptions,
    *,
    prove: bool = False,
    pruned_by: VariantFilter | None = None,
    tasks: PlanningTasks | None = None,
) -> Target:
    """Plan a change of the rows under a filter (None: all rows).

    With `prove`, files are separated if their partition or metrics prove that all their rows match.
    This reads no data file (Java: SparkTable.canDeleteWhere). `pruned_by` leaves out files but
    proves nothing. If the filter compares columns for which the table's properties request Bloom
    filters, files without the values are left out, see `_with_values`. The plan has all deletes of
    the files, since a change may rewrite the rows that do not match. `tasks` may read the manifests
    (see `planner.plan`), but prove nothing.

    Raises:
        ValidationException: a file is listed twice and would not be removed as a whole; the message
            names it.
    """
    request = ScanRequest(
        branch=options.branch,
        row_filter=row_filter,
        case_sensitive=options.case_sensitive,
        time_zone=options.time_zone,
    )
    context = scan_context(metadata, request, io)
    planned = plan(metadata, io, context, whole_files=True, pruned_by=pruned_by, tasks=tasks)
    proved = _proved_paths(metadata, io, context) if prove and len(planned) else None
    if proved is None or not len(proved):
        planned = _with_values(planned, metadata, io)
        _refuse_repeated(planned)
        return Target(metadata, planned)
    mask = pc.is_in(planned.files.column("file_path"), value_set=proved)
    proved_files = replace(planned, files=planned.files.filter(mask))
    rest = replace(planned, files=planned.files.filter(pc.invert(mask)))
    rest = _with_values(rest, metadata, io)
    _refuse_repeated(rest)
    return Target(metadata, rest, tuple(proved_files))


def _refuse_repeated(planned: ScanPlan) -> None:
    """Refuse a file that is listed more than once: its rows and their copies are the same.

    A change would remove, or keep, all copies of a file together.
    """
    counted = pc.value_counts(planned.files.column("file_path"))
    several = counted.filter(pc.greater(counted.field("counts"), 1))
    if len(several):
        path, times = several[0]["values"].as_py(), several[0]["counts"].as_py()
        raise ValidationException(
            f"Data file {path} is listed {times} times in the snapshot, so its rows can't be "
            "changed: list it once by overwrite_files(add=[file], delete=[file]) of a transaction, "
            "or delete all of its rows by a filter"
        )


def _with_values(planned: ScanPlan, metadata: TableMetadata, io: FileIO) -> ScanPlan:
    """Leave out files that lack the values of the filter, by their footers and Bloom filters.

    Metadata has pruned the files by their bounds before. A sample of the files is opened first: the
    others are opened only if enough of it is left out.
    """
    count = len(planned)
    properties = metadata.properties
    if count < LOOK_UPS.least_files or count > LOOK_UPS.most_files:
        return planned
    if not _is_looked_up(planned.context.row_filter, metadata.schema, properties):
        return planned
    tasks = list(planned)
    may_match = np.ones(count, np.bool_)
    step = -(-count // LOOK_UPS.sampled_files)
    sample = np.arange(0, count, step)
    others = np.setdiff1d(np.arange(count), sample)

    def look(index: int) -> bool:
        return may_have_matches(planned.context, io, tasks[index])

    with ThreadPoolExecutor(LOOK_UPS.threads, "look-up") as pool:
        may_match[sample] = list(pool.map(look, sample.tolist()))
        if np.count_nonzero(~may_match[sample]) < LOOK_UPS.least_share * len(sample):
            others = others[:0]
        may_match[others] = list(pool.map(look, others.tolist()))
    return replace(planned, files=planned.files.filter(pa.array(may_match)))


def _is_looked_up(bound: Bound, schema: Schema, properties: Mapping[str, str]) -> bool:
    """Return whether Bloom filters can decide that no row of a file matches a filter."""
    match bound:
        case And(children=children):
            return any(_is_looked_up(child, schema, properties) for child in children)
        case Or(children=children):
            return all(_is_looked_up(child, schema, properties) for child in children)
        case Comparison(op=Op.EQ, term=BoundReference() as term):
            values = 1
        case In(term=BoundReference() as term, values=members, negated=False):
            values = len(members)
        case _:
            return False
    name = schema.find_column_name(term.field_id)
    return name is not None and values <= most_values(properties, name)


def only_files(planned: ScanPlan, paths: Collection[str]) -> ScanPlan:
    """Return the part of a plan for some data files."""
    path_set = pa.array(sorted(paths), pa.string())
    mask = pc.is_in(planned.files.column("file_path"), value_set=path_set)
    return replace(planned, files=planned.files.filter(mask))


def all_rows(planned: ScanPlan) -> ScanPlan:
    """Return a plan of all live rows of the same files, without the filter."""
    return replace(
        planned,
        context=replace(planned.context, row_filter=ALWAYS_TRUE),
        residuals=(ALWAYS_TRUE,) * len(planned.residuals),
    )


def _proved_paths(metadata: TableMetadata, io: FileIO, context: ScanContext) -> pa.Array | None:
    """Return the paths of live data files whose rows all match the filter."""
    bound: Bound = context.row_filter
    if context.snapshot_id is None or bound == ALWAYS_FALSE:
        return None
    selection = MatchingRows(metadata, bound, "")
    path_arrays = [pa.array([], pa.string())]
    for manifest in read_manifest_list(io, metadata.snapshot(context.snapshot_id), metadata):
        if manifest.content is not ManifestContent.DATA or not selection.may_hold(manifest):
            continue
        entries = read_entries(io, metadata, manifest)
        _, must = row_matches(metadata, manifest, entries, bound)
        if np.any(must):
            paths = entries.column("file_path").filter(pa.array(must))
            path_arrays.append(paths.combine_chunks().cast(pa.string()))
    return pa.concat_arrays(path_arrays)
