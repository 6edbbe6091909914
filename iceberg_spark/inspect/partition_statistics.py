"""Statistics of each partition, added up on columns, on top of an earlier snapshot's.

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
from iceberg_spark.inspect.partition_column import coerced
from iceberg_spark.inspect.schemas import partition_struct
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
    """Return the columns of a partition statistics file (specification, the same section)."""
    vectors = metadata.rules.has_deletion_vectors
    fields = [
        NestedField(1, "partition", partition_struct(metadata), required=True),
        NestedField(2, "spec_id", _INT, required=True),
        NestedField(3, "data_record_count", _LONG, required=True),
        NestedField(4, "data_file_count", _INT, required=True),
        NestedField(5, "total_data_file_size_in_bytes", _LONG, required=True),
        *(NestedField(at, name, kind, vectors) for name, (at, kind) in _COUNTS.items()),
        NestedField(10, "total_record_count", _LONG),
        NestedField(11, "last_updated_at", _LONG),
        NestedField(12, "last_updated_snapshot_id", _LONG),
    ]
    if vectors:
        fields.append(NestedField(13, "dv_count", _INT, required=True))
    return Schema(*fields)


@dataclass(frozen=True, slots=True)
class EarlierStatistics:
    """The rows of an earlier snapshot's file, by `statistics_schema`."""

    snapshot_id: int
    rows: Table


def partition_statistics(
    metadata: TableMetadata, io: FileIO, snapshot: Snapshot, earlier: EarlierStatistics | None
) -> Table:
    """Return a row for each partition of each spec, sorted by partition.

    With `earlier` only what the snapshots after it added and deleted is read. `last_updated_at` is
    ms since the epoch, as Java writes it. Memory: a row a file of one manifest, and of each
    partition and manifest.
    """
    wanted = partition_struct(metadata)
    parts = [] if earlier is None else [_as_sums(earlier.rows)]
    manifests = _manifests(metadata, io, snapshot, earlier)
    kinds = {
        spec_id: partition_type(spec, metadata.schema, metadata.schemas.values())
        for spec_id, spec in metadata.partition_specs.items()
    }
    for manifest, entries in zip(
        manifests, entry_tables(io, manifests, kinds, _ENTRY), strict=True
    ):
        if entries.num_rows:
            parts.append(_of_manifest(metadata, manifest, entries, wanted, earlier is not None))
    schema = to_arrow(statistics_schema(metadata))
    if not parts:
        return schema.empty_table()
    found = _added_up(pa.concat_tables(parts))
    found = found.append_column("total_record_count", pa.nulls(found.num_rows, pa.int64()))
    found = found.take(_order(found))
    arrays = [concat(found.column(one.name)).cast(one.type) for one in schema]
    return pa.Table.from_arrays(arrays, schema=schema)


def _manifests(
    metadata: TableMetadata, io: FileIO, snapshot: Snapshot, earlier: EarlierStatistics | None
) -> Sequence[ManifestFile]:
    """Return the snapshot's manifests, or those that each snapshot after the earlier one added."""
    if earlier is None:
        return list(read_manifest_list(io, snapshot, metadata))
    since = ancestors_between(metadata, snapshot.snapshot_id, earlier.snapshot_id)
    return [
        manifest
        for one in reversed(since)
        for manifest in read_manifest_list(io, one, metadata)
        if manifest.added_snapshot_id == one.snapshot_id
    ]


def _of_manifest(
    metadata: TableMetadata,
    manifest: ManifestFile,
    entries: Table,
    wanted: StructType,
    is_difference: bool,
) -> Table:
    """Return what a manifest's entries add to and take from each partition.

    Of a difference an existing file says nothing: it was counted before.
    """
    status = _longs(entries, "status")
    added = status == int(ManifestEntryStatus.ADDED)
    deleted = status == int(ManifestEntryStatus.DELETED)
    sign = added.astype(np.int64) - deleted if is_difference else (~deleted).astype(np.int64)
    tells = added | deleted if is_difference else np.ones(len(status), np.bool_)
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
    times, by = _updates(metadata, entries, tells)
    spec_id = pa.repeat(pa.scalar(manifest.partition_spec_id, pa.int32()), entries.num_rows)
    columns = {
        "partition": coerced(concat(entries.column("partition")), wanted),
        "spec_id": spec_id,
        **dict(zip(_SUMS, map(pa.array, sums), strict=True)),
        "last_updated_at": times,
        "last_updated_snapshot_id": by,
    }
    return _added_up(pa.table(columns))


def _updates(metadata: TableMetadata, entries: Table, tells: Mask) -> tuple[Any, Any]:
    """Return when and by which snapshot each entry came, null where that has expired."""
    encoded = concat(entries.column("snapshot_id")).dictionary_encode(null_encoding="encode")
    known = [metadata.snapshots.get(one) for one in encoded.dictionary.to_pylist()]
    times = pa.array([None if one is None else one.timestamp_ms for one in known], pa.int64())
    numbers = pa.array([None if one is None else one.snapshot_id for one in known], pa.int64())
    nothing = pa.scalar(None, pa.int64())
    shown = pa.array(tells)
    return tuple(
        pc.if_else(shown, each.take(encoded.indices), nothing) for each in (times, numbers)
    )


def _added_up(table: Table) -> Table:
    """Return one row for each partition of each spec."""
    partition, spec_id = concat(table.column("partition")), concat(table.column("spec_id"))
    leaves = [spec_id, *partition.flatten()]
    kind = pa.struct([(str(at), one.type) for at, one in enumerate(leaves)])
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


def _as_sums(rows: Table) -> Table:
    """Return the rows of a file as those that are added up: what it lacks is 0."""
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
    """Return the rows' order by partition, nulls first, then spec."""
    columns: list[Any] = []
    for child in concat(table.column("partition")).flatten():
        plain = child.cast(pa.binary()) if pa.types.is_fixed_size_binary(child.type) else child
        columns += [pc.is_valid(child), plain]
    columns.append(concat(table.column("spec_id")))
    names = [str(at) for at in range(len(columns))]
    return pc.sort_indices(
        pa.table(columns, names), sort_keys=[(name, "ascending") for name in names]
    )


def _longs(table: Table, name: str) -> Longs:
    values: Longs = table.column(name).to_numpy().astype(np.int64, copy=False)
    return values
