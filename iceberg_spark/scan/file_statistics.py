"""Statistics of a plan's files from manifests: counts and bounds of columns."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.expr.stats import Statistic
from iceberg_spark.manifest.manifest_list import read_manifest_list
from iceberg_spark.scan.column_stats import statistic_columns, stats_table
from iceberg_spark.scan.entry_tables import entry_tables
from iceberg_spark.scan.plan import ScanPlan
from iceberg_spark.spec.data_file import ManifestEntryStatus
from iceberg_spark.spec.manifest_file import ManifestContent
from iceberg_spark.spec.partition_type import partition_type

_COLUMNS = ("status", "file_path", "record_count")


def file_statistics(
    plan: ScanPlan, paths: pa.Array, statistics: Sequence[Statistic]
) -> pa.Table | None:
    """Return the statistics of files of a plan, in the order of the paths.

    Args:
        plan: the plan of a snapshot.
        paths: the paths of files of the snapshot, as the manifests spell them.
        statistics: the columns of the result, named by `expr.stats.column`.

    Returns None unless the manifests list each of the files, and if a catalog planned them.
    Raises CorruptFileError and NoSuchFileError if a manifest cannot be read.
    """
    if plan.is_by_catalog:
        return None
    tables = [
        stats_table(entries, statistics).append_column("file_path", entries.column("file_path"))
        for entries in _entries(plan, paths, statistic_columns(statistics))
    ]
    if not tables:
        return None
    files = pa.concat_tables(tables)
    rows = pc.index_in(paths, files.column("file_path").combine_chunks())
    return None if rows.null_count else files.take(rows)


def _entries(plan: ScanPlan, paths: pa.Array, columns: tuple[str, ...]) -> list[pa.Table]:
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
    for entries in entry_tables(context.io, manifests, types, (*_COLUMNS, *columns)):
        live = pc.not_equal(entries.column("status"), ManifestEntryStatus.DELETED.value)
        selected = pc.is_in(entries.column("file_path"), paths)
        tables.append(entries.filter(pc.and_(live, selected)))
    return tables
