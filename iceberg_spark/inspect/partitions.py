"""`partitions`: files and rows of each partition, added up on columns.

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
from iceberg_spark.inspect.partition_column import coerced
from iceberg_spark.inspect.schemas import metadata_table_schema, partition_struct
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
"""What is added up, and over which files."""


def partitions(metadata: TableMetadata, io: FileIO, snapshot: Snapshot | None) -> pa.Table:
    """Return one row per partition with its live files; one in all without partition fields.

    Tuples of specs that have different numbers of the table's partition fields are different
    partitions, even where all values are equal. `spec_id` and `last_updated_*` are those of
    the newest snapshot that added a file and has not expired. Memory holds a row for each
    partition, snapshot and manifest that have files together.
    """
    schema = to_arrow(metadata_table_schema(MetadataTable.PARTITIONS, metadata))
    parts = [] if snapshot is None else list(partition_sums(metadata, io, snapshot))
    if not parts:
        return schema.empty_table()
    found = pa.concat_tables(parts).combine_chunks()
    first, group = _groups(found, ("partition", "fields"))
    sorted_rows = _sorted(group)
    columns = {name: _total(_longs(found, name), *sorted_rows) for name in _SUMS}
    newest, known = _newest(found, group, metadata)
    rows = pa.array(np.where(known, newest, first))
    times = _times(found.column("snapshot_id"), metadata)[newest] * 1000
    updated_by = _longs(found, "snapshot_id")[newest]
    arrays = {
        **{name: pa.array(values) for name, values in columns.items()},
        "partition": concat(found.column("partition")).take(pa.array(first)),
        "spec_id": concat(found.column("spec_id")).take(rows),
        "last_updated_at": pa.array(times, mask=~known),
        "last_updated_snapshot_id": pa.array(updated_by, mask=~known),
    }
    return pa.Table.from_arrays([arrays[one.name].cast(one.type) for one in schema], schema=schema)


def partition_sums(metadata: TableMetadata, io: FileIO, snapshot: Snapshot) -> Iterator[pa.Table]:
    """Yield the live files of each manifest, which has one spec, by partition and snapshot.

    Columns: `partition` (all the table's partition fields, null for those that the spec lacks),
    `snapshot_id`, `spec_id`, `fields` (how many of them the spec has) and what is added up.
    """
    wanted, former = partition_struct(metadata), metadata.schemas.values()
    kinds = {
        spec_id: partition_type(spec, metadata.schema, former)
        for spec_id, spec in metadata.partition_specs.items()
    }
    manifests = [
        one for one in read_manifest_list(io, snapshot, metadata) if one.may_have_live_files
    ]
    for manifest, entries in zip(
        manifests, entry_tables(io, manifests, kinds, _COLUMNS), strict=True
    ):
        spec_id = manifest.partition_spec_id
        live = entries.filter(
            pc.not_equal(entries.column("status"), ManifestEntryStatus.DELETED.value)
        )
        if live.num_rows:
            fields = {one.field_id for one in kinds[spec_id].fields}
            projected = sum(one.field_id in fields for one in wanted.fields)
            yield _added_up(live, wanted, spec_id, projected)


def _added_up(live: pa.Table, wanted: StructType, spec_id: int, projected: int) -> pa.Table:
    tuples = coerced(concat(live.column("partition")), wanted)
    keyed = pa.table({"partition": tuples, "snapshot_id": live.column("snapshot_id")})
    first, group = _groups(keyed, ("partition", "snapshot_id"))
    content, sorted_rows = _longs(live, "content"), _sorted(group)
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
    """Return the first row of each distinct pair of columns, and each row's number of its pair."""
    columns = [concat(table.column(name)) for name in names]
    leaves = [child for one in columns for child in (one.flatten() if _is_struct(one) else [one])]
    kind = pa.struct([(str(at), one.type) for at, one in enumerate(leaves)])
    return distinct(struct_of(table.num_rows, leaves, kind))


def _is_struct(array: Any) -> bool:
    return bool(pa.types.is_struct(array.type))


def _sorted(group: Longs) -> tuple[Longs, Longs]:
    """Return the rows group by group, and where each group starts among them."""
    order = np.argsort(group, kind="stable")
    return order, np.flatnonzero(np.diff(group[order], prepend=-1))


def _total(values: Longs, order: Longs, starts: Longs) -> Longs:
    """Return the sum of each group; whole numbers stay exact."""
    return np.add.reduceat(values[order], starts)


def _newest(
    found: pa.Table, group: Longs, metadata: TableMetadata
) -> tuple[Longs, npt.NDArray[np.bool_]]:
    """Return for each group the first row of its newest snapshot, and whether that is known."""
    times = _times(found.column("snapshot_id"), metadata)
    order = np.lexsort((-times, group))  # stable: the first of equal ones stays the first
    starts = np.flatnonzero(np.diff(group[order], prepend=-1))
    rows = order[starts]
    return rows, times[rows] >= 0


def _times(snapshot_ids: Any, metadata: TableMetadata) -> Longs:
    """Return when each snapshot was made (ms since the epoch), -1 for those that have expired."""
    encoded = concat(snapshot_ids).dictionary_encode(null_encoding="encode")
    known = [metadata.snapshots.get(one) for one in encoded.dictionary.to_pylist()]
    times = np.array([-1 if one is None else one.timestamp_ms for one in known], np.int64)
    found: Longs = times[encoded.indices.to_numpy()]
    return found


def _longs(table: pa.Table, name: str) -> Longs:
    values: Longs = table.column(name).to_numpy().astype(np.int64, copy=False)
    return values
