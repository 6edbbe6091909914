"""`partitions`: the files and rows of each partition, summed on columns.

Source: Java's PartitionsTable.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.arrow.arrays import concat, struct_of
from iceberg_spark.arrow.schema import to_arrow
from iceberg_spark.inspect.names import MetadataTable
from iceberg_spark.inspect.schemas import align_partitions, metadata_table_schema, partition_struct
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.manifest.manifest_list import read_manifest_list
from iceberg_spark.scan.entry_tables import entry_tables
from iceberg_spark.scan.partition_codes import distinct
from iceberg_spark.spec.data_file import DataFileContent, ManifestEntryStatus
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.partition_type import partition_type
from iceberg_spark.spec.snapshot import Snapshot
from iceberg_spark.spec.types import StructType

Longs: TypeAlias = npt.NDArray[np.int64]

_COLUMNS = (
    "status", "snapshot_id", "content", "partition", "record_count", "file_size_in_bytes",
)  # fmt: skip
_FILES = "files"
_SUMS: Mapping[str, tuple[DataFileContent, str]] = {
    "record_count": (DataFileContent.DATA, "record_count"),
    "file_count": (DataFileContent.DATA, _FILES),
    "total_data_file_size_in_bytes": (DataFileContent.DATA, "file_size_in_bytes"),
    "position_delete_record_count": (DataFileContent.POSITION_DELETES, "record_count"),
    "position_delete_file_count": (DataFileContent.POSITION_DELETES, _FILES),
    "equality_delete_record_count": (DataFileContent.EQUALITY_DELETES, "record_count"),
    "equality_delete_file_count": (DataFileContent.EQUALITY_DELETES, _FILES),
}
"""The source column of each sum, and the content of the files that it counts."""


def partitions(metadata: TableMetadata, io: FileIO, snapshot: Snapshot | None) -> pa.Table:
    """Return a row for each partition with live files; one row if there are no partition fields.

    Tuples of specs with different numbers of the table's partition fields are different partitions,
    even if all values are equal. `spec_id` and `last_updated_*` come from the newest snapshot that
    added a file and has not expired. Memory holds a row for each partition, snapshot and manifest
    that have a file in common.
    """
    schema = to_arrow(metadata_table_schema(MetadataTable.PARTITIONS, metadata))
    parts = [] if snapshot is None else list(partition_sums(metadata, io, snapshot))
    if not parts:
        return schema.empty_table()
    sums = pa.concat_tables(parts).combine_chunks()
    first, group = _groups(sums, ("partition", "fields"))
    sorted_rows = _sort_by_group(group)
    columns = {name: _total(_longs(sums, name), *sorted_rows) for name in _SUMS}
    newest, has_snapshot = _newest(sums, group, metadata)
    rows = pa.array(np.where(has_snapshot, newest, first))
    times = _times(sums.column("snapshot_id"), metadata)[newest] * 1000
    updated_by = _longs(sums, "snapshot_id")[newest]
    arrays = {
        **{name: pa.array(values) for name, values in columns.items()},
        "partition": concat(sums.column("partition")).take(pa.array(first)),
        "spec_id": concat(sums.column("spec_id")).take(rows),
        "last_updated_at": pa.array(times, mask=~has_snapshot),
        "last_updated_snapshot_id": pa.array(updated_by, mask=~has_snapshot),
    }
    return pa.Table.from_arrays(
        [arrays[field.name].cast(field.type) for field in schema], schema=schema
    )


def partition_sums(metadata: TableMetadata, io: FileIO, snapshot: Snapshot) -> Iterator[pa.Table]:
    """Yield the live files of each manifest, summed by partition and snapshot.

    Columns: `partition` (all of the table's partition fields; null if the spec lacks one),
    `snapshot_id`, `spec_id`, `fields` (the number of partition fields that the spec has), the sums.
    """
    partition_kind, former = partition_struct(metadata), metadata.schemas.values()
    kinds = {
        spec_id: partition_type(spec, metadata.schema, former)
        for spec_id, spec in metadata.partition_specs.items()
    }
    manifests = [
        manifest
        for manifest in read_manifest_list(io, snapshot, metadata)
        if manifest.may_have_live_files
    ]
    for manifest, entries in zip(
        manifests, entry_tables(io, manifests, kinds, _COLUMNS), strict=True
    ):
        spec_id = manifest.partition_spec_id
        live = entries.filter(
            pc.not_equal(entries.column("status"), ManifestEntryStatus.DELETED.value)
        )
        if live.num_rows:
            fields = {field.field_id for field in kinds[spec_id].fields}
            projected = sum(field.field_id in fields for field in partition_kind.fields)
            yield _sum_by_partition(live, partition_kind, spec_id, projected)


def _sum_by_partition(
    live: pa.Table, partition_kind: StructType, spec_id: int, projected: int
) -> pa.Table:
    tuples = align_partitions(concat(live.column("partition")), partition_kind)
    keyed = pa.table({"partition": tuples, "snapshot_id": live.column("snapshot_id")})
    first, group = _groups(keyed, ("partition", "snapshot_id"))
    content, sorted_rows = _longs(live, "content"), _sort_by_group(group)
    sums = {}
    for name, (kind, source) in _SUMS.items():
        of_kind = content == kind.value
        values = of_kind if source == _FILES else np.where(of_kind, _longs(live, source), 0)
        sums[name] = _total(values.astype(np.int64), *sorted_rows)
    rows = pa.array(first)
    return pa.table(
        {
            "partition": tuples.take(rows),
            "snapshot_id": concat(live.column("snapshot_id")).take(rows),
            "spec_id": pa.repeat(pa.scalar(spec_id, pa.int32()), len(first)),
            "fields": pa.repeat(pa.scalar(projected, pa.int32()), len(first)),
            **sums,
        }
    )


def _groups(table: pa.Table, names: tuple[str, str]) -> tuple[Longs, Longs]:
    """Return the first row of each distinct pair of columns, and the number of each row's pair."""
    columns = [concat(table.column(name)) for name in names]
    leaves = [
        child
        for column in columns
        for child in (column.flatten() if _is_struct(column) else [column])
    ]
    kind = pa.struct([(str(number), leaf.type) for number, leaf in enumerate(leaves)])
    return distinct(struct_of(table.num_rows, leaves, kind))


def _is_struct(array: Any) -> bool:
    return bool(pa.types.is_struct(array.type))


def _sort_by_group(group: Longs) -> tuple[Longs, Longs]:
    """Return the rows' order by group, and where each group starts in that order."""
    order = np.argsort(group, kind="stable")
    return order, np.flatnonzero(np.diff(group[order], prepend=-1))


def _total(values: Longs, order: Longs, starts: Longs) -> Longs:
    """Return the sum of each group; integers stay exact."""
    return np.add.reduceat(values[order], starts)


def _newest(
    sums: pa.Table, group: Longs, metadata: TableMetadata
) -> tuple[Longs, npt.NDArray[np.bool_]]:
    """Return the first row of each group's newest snapshot, and whether that snapshot exists."""
    times = _times(sums.column("snapshot_id"), metadata)
    order = np.lexsort((-times, group))  # stable: of equal times the first row comes first
    starts = np.flatnonzero(np.diff(group[order], prepend=-1))
    rows = order[starts]
    return rows, times[rows] >= 0


def _times(snapshot_ids: Any, metadata: TableMetadata) -> Longs:
    """Return the commit time of each snapshot in ms since the epoch, -1 for expired snapshots."""
    encoded = concat(snapshot_ids).dictionary_encode(null_encoding="encode")
    snapshots = [metadata.snapshots.get(id_) for id_ in encoded.dictionary.to_pylist()]
    times = np.array(
        [-1 if snapshot is None else snapshot.timestamp_ms for snapshot in snapshots], np.int64
    )
    row_times: Longs = times[encoded.indices.to_numpy()]
    return row_times


def _longs(table: pa.Table, name: str) -> Longs:
    values: Longs = table.column(name).to_numpy().astype(np.int64, copy=False)
    return values
