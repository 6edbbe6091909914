"""The stored size of columns, estimated by one manifest of a snapshot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.errors import CorruptFileError, NoSuchFileError
from iceberg_spark.manifest.manifest_list import read_manifest_list
from iceberg_spark.manifest.reader import read_manifest
from iceberg_spark.scan.limits import PLANNING
from iceberg_spark.scan.plan import ScanPlan
from iceberg_spark.spec.data_file import ManifestEntryStatus
from iceberg_spark.spec.manifest_file import ManifestContent, ManifestFile
from iceberg_spark.spec.partition_type import partition_type

_COLUMNS = ("status", "record_count", "column_sizes")


def column_bytes(plan: ScanPlan) -> Mapping[int, float]:
    """Return the approximate stored bytes per row of each column, by field id.

    Sizes are compressed. Columns whose size no file records are left out. The result is empty if
    no manifest is short enough, or if it is damaged: a query that reads it raises the error,
    others need not fail because of a size.
    """
    metadata, context = plan.metadata, plan.context
    if metadata is None or context.snapshot_id is None or plan.is_by_catalog:
        return {}
    snapshot = metadata.snapshot(context.snapshot_id)
    sample = _sample(read_manifest_list(context.io, snapshot, metadata))
    if sample is None or sample.partition_spec_id not in context.specs:
        return {}
    former = [metadata.schemas[number] for number in sorted(metadata.schemas, reverse=True)]
    spec = context.specs[sample.partition_spec_id]
    kind = partition_type(spec, context.table_schema, former)
    try:
        entries = read_manifest(context.io, sample, kind, columns=_COLUMNS)
    except (CorruptFileError, NoSuchFileError):
        return {}
    return _per_row(entries)


def _sample(manifests: Sequence[ManifestFile]) -> ManifestFile | None:
    """Return the manifest with most rows among those short enough to be decoded again."""
    short = [
        manifest
        for manifest in manifests
        if manifest.content is ManifestContent.DATA
        and manifest.may_have_live_files
        and manifest.manifest_length <= PLANNING.sampled_manifest_bytes
    ]
    return max(short, key=_rows, default=None)


def _rows(manifest: ManifestFile) -> int:
    return (manifest.added_rows_count or 0) + (manifest.existing_rows_count or 0)


def _per_row(entries: pa.Table) -> dict[int, float]:
    """Return the bytes per row, by field id, of files that record their column sizes."""
    live = pc.not_equal(entries.column("status"), ManifestEntryStatus.DELETED.value)
    entries = entries.filter(pc.and_(live, pc.is_valid(entries.column("column_sizes"))))
    sizes = entries.column("column_sizes").combine_chunks()
    pairs = pa.table(
        {
            "id": pc.struct_field(pc.list_flatten(sizes), "key"),
            "bytes": pc.struct_field(pc.list_flatten(sizes), "value"),
            "rows": entries.column("record_count").take(pc.list_parent_indices(sizes)),
        }
    )
    sums = pairs.group_by("id").aggregate([("bytes", "sum"), ("rows", "sum")])
    return {
        row["id"]: row["bytes_sum"] / row["rows_sum"] for row in sums.to_pylist() if row["rows_sum"]
    }
