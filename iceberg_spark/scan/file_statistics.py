"""Statistics of one column of a plan's files from manifests: counts and bounds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.expr.stats import Kind, Statistic, column
from iceberg_spark.manifest.manifest_list import read_manifest_list
from iceberg_spark.scan.column_stats import map_columns, stats_table
from iceberg_spark.scan.entry_tables import entry_tables
from iceberg_spark.scan.plan import ScanPlan
from iceberg_spark.spec.data_file import ManifestEntryStatus
from iceberg_spark.spec.manifest_file import ManifestContent
from iceberg_spark.spec.partition_type import partition_type
from iceberg_spark.spec.types import LongType, NestedField

_COLUMNS = ("status", "file_path", "record_count")


@dataclass(frozen=True, slots=True)
class ColumnStatistics:
    """The number of values of a column that are not null, the least and the greatest of them.

    `least` and `greatest` are Arrow scalars: null if all values are null, None without `bounds`.
    """

    value_count: int
    least: Any = None
    greatest: Any = None


def file_statistics(
    plan: ScanPlan, paths: pa.Array, field: NestedField, *, bounds: bool
) -> ColumnStatistics | None:
    """Return the statistics of a column over some files of a plan.

    Args:
        plan: the plan of a snapshot.
        paths: the paths of files of the snapshot, as the manifests spell them.
        field: a column of the table, of a primitive type.
        bounds: whether the least and the greatest value are needed.

    Returns None unless the manifests have the statistics of each of the files.
    Raises CorruptFileError and NoSuchFileError if a manifest cannot be read.
    """
    if plan.is_by_catalog:
        return None
    needed = [
        Statistic(Kind.NULL_COUNT, field.field_id, LongType()),
        Statistic(Kind.VALUE_COUNT, field.field_id, LongType()),
    ]
    if bounds:
        kind = field.field_type
        needed += [Statistic(side, field.field_id, kind) for side in (Kind.LOWER, Kind.UPPER)]
    tables = [
        stats_table(entries, needed).append_column("rows", entries.column("record_count"))
        for entries in _entries(plan, paths, map_columns(needed))
    ]
    if not len(paths):
        return ColumnStatistics(0)
    files = pa.concat_tables(tables) if tables else None
    if files is None or files.num_rows != len(paths):
        return None
    return _over_all(files, field, bounds=bounds)


def _over_all(files: pa.Table, field: NestedField, *, bounds: bool) -> ColumnStatistics | None:
    nulls = files.column(column(Kind.NULL_COUNT, field.field_id))
    if nulls.null_count:
        return None
    rows = files.column("rows")
    value_count = (pc.sum(rows).as_py() or 0) - (pc.sum(nulls).as_py() or 0)
    if not bounds:
        return ColumnStatistics(value_count)
    with_values = files.filter(pc.less(nulls, rows))
    lower = with_values.column(column(Kind.LOWER, field.field_id))
    upper = with_values.column(column(Kind.UPPER, field.field_id))
    if lower.null_count or upper.null_count:
        return None
    return ColumnStatistics(value_count, pc.min(lower), pc.max(upper))


def _entries(plan: ScanPlan, paths: pa.Array, maps: tuple[str, ...]) -> list[pa.Table]:
    """Return the live entries of some files of a plan's snapshot."""
    metadata, context = plan.metadata, plan.context
    if metadata is None or context.snapshot_id is None or context.start_snapshot_id is not None:
        return []
    snapshot = metadata.snapshot(context.snapshot_id)
    manifests = [
        manifest
        for manifest in read_manifest_list(context.io, snapshot, metadata)
        if manifest.content is ManifestContent.DATA and manifest.may_have_live_files
    ]
    former = [metadata.schemas[number] for number in sorted(metadata.schemas, reverse=True)]
    types = {
        spec_id: partition_type(spec, context.table_schema, former)
        for spec_id, spec in context.specs.items()
    }
    tables = []
    for entries in entry_tables(context.io, manifests, types, (*_COLUMNS, *maps)):
        live = pc.not_equal(entries.column("status"), ManifestEntryStatus.DELETED.value)
        selected = pc.is_in(entries.column("file_path"), paths)
        tables.append(entries.filter(pc.and_(live, selected)))
    return tables
