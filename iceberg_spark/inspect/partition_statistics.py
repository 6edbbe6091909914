"""Partition statistics, summed on columns, starting from the statistics of an earlier snapshot.

Source: specification, "Partition Statistics File"; Java's PartitionStatsHandler.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.arrow.arrays import concat, struct_of
from iceberg_spark.arrow.schema import to_arrow
from iceberg_spark.inspect.schemas import align_partitions, partition_struct
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.manifest.manifest_list import read_manifest_list
from iceberg_spark.scan.entry_tables import entry_tables
from iceberg_spark.scan.partition_codes import distinct
from iceberg_spark.spec.ancestry import ancestors_between
from iceberg_spark.spec.data_file import DataFileContent, FileFormat, ManifestEntryStatus
from iceberg_spark.spec.manifest_file import ManifestFile
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.partition_type import partition_type
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.snapshot import Snapshot
from iceberg_spark.spec.types import IcebergType, IntegerType, LongType, NestedField, StructType

Longs: TypeAlias = npt.NDArray[np.int64]
Mask: TypeAlias = npt.NDArray[np.bool_]
Table: TypeAlias = Any  # pyarrow ships no types

_ENTRY = (
    "status", "snapshot_id", "content", "file_format", "partition", "record_count",
    "file_size_in_bytes",
)  # fmt: skip
_SUMS = (
    "data_record_count", "data_file_count", "total_data_file_size_in_bytes",
    "position_delete_record_count", "position_delete_file_count",
    "equality_delete_record_count", "equality_delete_file_count", "dv_count",
)  # fmt: skip
_UPDATED = ("last_updated_at", "last_updated_snapshot_id")
_INT, _LONG = IntegerType(), LongType()
_COUNTS: Mapping[str, tuple[int, IcebergType]] = {
    "position_delete_record_count": (6, _LONG),
    "position_delete_file_count": (7, _INT),
    "equality_delete_record_count": (8, _LONG),
    "equality_delete_file_count": (9, _INT),
}


def statistics_schema(metadata: TableMetadata) -> Schema:
    """Return the schema of a partition statistics file (specification, section of that name)."""
    vectors = metadata.rules.has_deletion_vectors
    fields = [
        NestedField(1, "partition", partition_struct(metadata), required=True),
        NestedField(2, "spec_id", _INT, required=True),
        NestedField(3, "data_record_count", _LONG, required=True),
        NestedField(4, "data_file_count", _INT, required=True),
        NestedField(5, "total_data_file_size_in_bytes", _LONG, required=True),
        *(NestedField(field_id, name, kind, vectors) for name, (field_id, kind) in _COUNTS.items()),
        NestedField(10, "total_record_count", _LONG),
        NestedField(11, "last_updated_at", _LONG),
        NestedField(12, "last_updated_snapshot_id", _LONG),
    ]
    if vectors:
        fields.append(NestedField(13, "dv_count", _INT, required=True))
    return Schema(*fields)


@dataclass(frozen=True, slots=True)
class EarlierStatistics:
    """The statistics file of an earlier snapshot, its rows by `statistics_schema`."""

    snapshot_id: int
    rows: Table


def partition_statistics(
    metadata: TableMetadata, io: FileIO, snapshot: Snapshot, earlier: EarlierStatistics | None
) -> Table:
    """Return a row for each partition of each spec, sorted by partition.

    With `earlier`, reads only the manifests that later snapshots added. `last_updated_at` is in ms
    since the epoch, as Java writes it. Memory holds a row for each file of one manifest and for
    each pair of partition and manifest.
    """
    partition_kind = partition_struct(metadata)
    parts = [] if earlier is None else [_sums_of_file(earlier.rows)]
    manifests = _manifests(metadata, io, snapshot, earlier)
    kinds = {
        spec_id: partition_type(spec, metadata.schema, metadata.schemas.values())
        for spec_id, spec in metadata.partition_specs.items()
    }
    for manifest, entries in zip(
        manifests, entry_tables(io, manifests, kinds, _ENTRY), strict=True
    ):
        if entries.num_rows:
            parts.append(
                _manifest_changes(metadata, manifest, entries, partition_kind, earlier is not None)
            )
    schema = to_arrow(statistics_schema(metadata))
    if not parts:
        return schema.empty_table()
    sums = _sum_by_partition(pa.concat_tables(parts))
    sums = sums.append_column("total_record_count", pa.nulls(sums.num_rows, pa.int64()))
    sums = sums.take(_order(sums))
    arrays = [concat(sums.column(field.name)).cast(field.type) for field in schema]
    return pa.Table.from_arrays(arrays, schema=schema)


def _manifests(
    metadata: TableMetadata, io: FileIO, snapshot: Snapshot, earlier: EarlierStatistics | None
) -> Sequence[ManifestFile]:
    """Return the snapshot's manifests; with `earlier`, those that each later snapshot added."""
    if earlier is None:
        return list(read_manifest_list(io, snapshot, metadata))
    snapshots_since = ancestors_between(metadata, snapshot.snapshot_id, earlier.snapshot_id)
    return [
        manifest
        for added in reversed(snapshots_since)
        for manifest in read_manifest_list(io, added, metadata)
        if manifest.added_snapshot_id == added.snapshot_id
    ]


def _manifest_changes(
    metadata: TableMetadata,
    manifest: ManifestFile,
    entries: Table,
    partition_kind: StructType,
    is_difference: bool,
) -> Table:
    """Return what a manifest's entries add to each partition and remove from it.

    In a difference, an existing entry counts nothing: the earlier statistics have counted it.
    """
    status = _longs(entries, "status")
    added = status == int(ManifestEntryStatus.ADDED)
    deleted = status == int(ManifestEntryStatus.DELETED)
    sign = added.astype(np.int64) - deleted if is_difference else (~deleted).astype(np.int64)
    has_changed = added | deleted if is_difference else np.ones(len(status), np.bool_)
    rows, size = (
        _longs(entries, "record_count") * sign,
        _longs(entries, "file_size_in_bytes") * sign,
    )
    content = _longs(entries, "content")
    data = content == DataFileContent.DATA
    positions = content == DataFileContent.POSITION_DELETES
    equality = content == DataFileContent.EQUALITY_DELETES
    vectors = positions & pc.equal(
        concat(entries.column("file_format")), FileFormat.PUFFIN.value
    ).to_numpy(zero_copy_only=False)
    sums = (
        rows * data, sign * data, size * data, rows * positions, sign * (positions & ~vectors),
        rows * equality, sign * equality, sign * vectors,
    )  # fmt: skip
    update_times, snapshot_ids = _updates(metadata, entries, has_changed)
    spec_id = pa.repeat(pa.scalar(manifest.partition_spec_id, pa.int32()), entries.num_rows)
    columns = {
        "partition": align_partitions(concat(entries.column("partition")), partition_kind),
        "spec_id": spec_id,
        **dict(zip(_SUMS, map(pa.array, sums), strict=True)),
        "last_updated_at": update_times,
        "last_updated_snapshot_id": snapshot_ids,
    }
    return _sum_by_partition(pa.table(columns))


def _updates(metadata: TableMetadata, entries: Table, has_changed: Mask) -> tuple[Any, Any]:
    """Return the time and the id of each entry's snapshot, null if that snapshot has expired."""
    encoded = concat(entries.column("snapshot_id")).dictionary_encode(null_encoding="encode")
    snapshots = [metadata.snapshots.get(id_) for id_ in encoded.dictionary.to_pylist()]
    times = pa.array(
        [None if snapshot is None else snapshot.timestamp_ms for snapshot in snapshots], pa.int64()
    )
    numbers = pa.array(
        [None if snapshot is None else snapshot.snapshot_id for snapshot in snapshots], pa.int64()
    )
    null = pa.scalar(None, pa.int64())
    mask = pa.array(has_changed)
    return tuple(
        pc.if_else(mask, column.take(encoded.indices), null) for column in (times, numbers)
    )


def _sum_by_partition(table: Table) -> Table:
    """Return one row for each partition of each spec."""
    partition, spec_id = concat(table.column("partition")), concat(table.column("spec_id"))
    leaves = [spec_id, *partition.flatten()]
    kind = pa.struct([(str(number), leaf.type) for number, leaf in enumerate(leaves)])
    first, group = distinct(struct_of(table.num_rows, leaves, kind))
    order = np.argsort(group, kind="stable")
    starts = np.flatnonzero(np.diff(group[order], prepend=-1))
    sums = {name: pa.array(np.add.reduceat(_longs(table, name)[order], starts)) for name in _SUMS}
    times = pc.fill_null(concat(table.column("last_updated_at")), -1).to_numpy()
    newest = np.lexsort((-times, group))[starts]
    rows = pa.array(first)
    updated = {name: concat(table.column(name)).take(pa.array(newest)) for name in _UPDATED}
    return pa.table(
        {"partition": partition.take(rows), "spec_id": spec_id.take(rows), **sums, **updated}
    )


def _sums_of_file(rows: Table) -> Table:
    """Return the rows of a statistics file with all columns that are summed; missing ones are 0."""
    columns = {name: concat(rows.column(name)) for name in ("partition", "spec_id")}
    for name in _SUMS:
        if name in rows.column_names:
            columns[name] = pc.fill_null(concat(rows.column(name)).cast(pa.int64()), 0)
        else:
            columns[name] = pa.repeat(pa.scalar(0, pa.int64()), rows.num_rows)
    for name in _UPDATED:
        columns[name] = concat(rows.column(name))
    return pa.table(columns)


def _order(table: Table) -> Any:
    """Return the order of rows by partition, nulls first, then by spec."""
    columns: list[Any] = []
    for child in concat(table.column("partition")).flatten():
        plain = child.cast(pa.binary()) if pa.types.is_fixed_size_binary(child.type) else child
        columns += [pc.is_valid(child), plain]
    columns.append(concat(table.column("spec_id")))
    names = [str(number) for number in range(len(columns))]
    return pc.sort_indices(
        pa.table(columns, names), sort_keys=[(name, "ascending") for name in names]
    )


def _longs(table: Table, name: str) -> Longs:
    values: Longs = table.column(name).to_numpy().astype(np.int64, copy=False)
    return values
