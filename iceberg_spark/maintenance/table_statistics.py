"""Statistics of a snapshot as files: distinct values by column, and rows by partition.

Source: Java's ComputeTableStatsSparkAction and NDVSketchUtil; puffin-spec, blob
`apache-datasketches-theta-v1`.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import pyarrow as pa

from iceberg_spark.arrow.evolve import evolution, needed_leaves
from iceberg_spark.arrow.file_fields import file_fields
from iceberg_spark.arrow.schema import to_arrow
from iceberg_spark.arrow.theta import ThetaSketch
from iceberg_spark.catalog.catalog import Catalog, LoadedTable
from iceberg_spark.catalog.metadata_file import metadata_location
from iceberg_spark.catalog.table_io import check_write_places
from iceberg_spark.commits.commit import CleanupOnFailure, commit
from iceberg_spark.commits.metadata_changes import SetSnapshotStatistics
from iceberg_spark.errors import IcebergError, InvalidInputError
from iceberg_spark.formats.data_file import ReadRequest
from iceberg_spark.formats.open_file import open_data_file
from iceberg_spark.formats.puffin.blobs import ZSTD, NewBlob, PuffinFile
from iceberg_spark.formats.puffin.write_puffin import write_puffin
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.maintenance.column_sketches import (
    Sketches,
    SketchPlan,
    SketchRunner,
    merge_sketches,
    plan_sketches,
)
from iceberg_spark.spec.ancestry import ancestors
from iceberg_spark.spec.data_file import DataFileContent, FileFormat
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.snapshot import Snapshot
from iceberg_spark.write.new_write import write_context
from iceberg_spark.write.open_file import file_shape

NDV_SKETCH = "apache-datasketches-theta-v1"
NDV = "ndv"


@dataclass(frozen=True, slots=True)
class TableStatistics:
    """The location of the statistics, None for a table without a snapshot.

    `ndv` has each column's number of distinct values without nulls, exact up to 4,096.
    """

    statistics_file: str | None = None
    ndv: Mapping[str, int] = field(default_factory=dict)


def compute_table_stats(
    catalog: Catalog,
    table: LoadedTable,
    snapshot_id: int | None,
    columns: tuple[str, ...],
    run: SketchRunner,
) -> tuple[LoadedTable, TableStatistics]:
    """Count distinct values of a snapshot's columns and set the file as its statistics.

    Raises:
        NoSuchSnapshotError: the snapshot does not exist.
        InvalidSchemaError: a column does not exist.
        InvalidInputError: a column is nested.
        ValidationException: the snapshot expired before the commit; the file is removed.
    """
    metadata, io = table.metadata, table.io
    snapshot = metadata.branch_head() if snapshot_id is None else metadata.snapshot(snapshot_id)
    if snapshot is None:
        return table, TableStatistics()
    check_write_places(metadata, io)
    plan = plan_sketches(metadata, io, snapshot.snapshot_id, columns)
    sketches = merge_sketches(run(plan.work, plan.tasks, io), len(plan.fields))
    path = metadata_location(metadata, f"{snapshot.snapshot_id}-{uuid.uuid4()}.stats")
    with CleanupOnFailure(io, [path]) as commit_state:
        written = write_puffin(io, path, _blobs(plan, sketches, snapshot))
        action = SetSnapshotStatistics(_described(written, snapshot))
        committed = commit(catalog, table.identifier, action, table, commit_state=commit_state)
    counts = {name: _count(sketch) for name, sketch in zip(plan.names, sketches, strict=True)}
    return committed, TableStatistics(path, counts)


def _count(sketch: ThetaSketch) -> int:
    return int(sketch.estimate)


def _blobs(plan: SketchPlan, sketches: Sketches, snapshot: Snapshot) -> Iterator[NewBlob]:
    for column, sketch in zip(plan.fields, sketches, strict=True):
        yield NewBlob(
            NDV_SKETCH,
            sketch.to_bytes(),
            (column.field_id,),
            snapshot.snapshot_id,
            snapshot.sequence_number,
            ZSTD,
            {NDV: str(_count(sketch))},
        )


def _described(file: PuffinFile, snapshot: Snapshot) -> dict[str, Any]:
    """Return the file's entry in table metadata (specification: "Table Statistics")."""
    return {
        "snapshot-id": snapshot.snapshot_id,
        "statistics-path": file.path,
        "file-size-in-bytes": file.size,
        "file-footer-size-in-bytes": file.footer_size,
        "blob-metadata": [
            {
                "type": blob.type,
                "snapshot-id": blob.snapshot_id,
                "sequence-number": blob.sequence_number,
                "fields": list(blob.fields),
                "properties": dict(blob.properties),
            }
            for blob in file.blobs
        ],
    }


# Partition statistics as the file of a snapshot: read, write and set it.
#
# Source: Java's PartitionStatsHandler.

Table: TypeAlias = Any  # pyarrow ships no types
Compute: TypeAlias = Callable[[Snapshot, tuple[int, Table] | None], Table]
"""Maps a snapshot and the rows of an earlier one's file to the snapshot's rows."""


@dataclass(frozen=True, slots=True)
class PartitionStatistics:
    """The location of the statistics; None for a table without a snapshot or without partitions."""

    partition_statistics_file: str | None = None


def compute_partition_stats(
    catalog: Catalog,
    table: LoadedTable,
    snapshot_id: int | None,
    schema: Schema,
    compute: Compute,
) -> tuple[LoadedTable, PartitionStatistics]:
    """Write the statistics of a snapshot's partitions, starting from the nearest earlier file.

    A snapshot that has a file keeps it.

    Raises:
        InvalidInputError: the table is unpartitioned.
        NoSuchSnapshotError: the snapshot does not exist.
        ValidationException: the snapshot expired before the commit.
    """
    metadata, io = table.metadata, table.io
    snapshot = metadata.branch_head() if snapshot_id is None else metadata.snapshot(snapshot_id)
    if not any(spec.fields for spec in metadata.partition_specs.values()):
        raise InvalidInputError(f"{table.identifier} is not partitioned: there is nothing to count")
    if snapshot is None:
        return table, PartitionStatistics()
    nearest = _nearest(metadata, snapshot)
    if nearest is not None and nearest[0] == snapshot.snapshot_id:
        return table, PartitionStatistics(nearest[1])
    rows = compute(snapshot, _earlier(io, nearest, schema))
    if not rows.num_rows:
        return table, PartitionStatistics()
    kind = _format(metadata)
    name = f"partition-stats-{snapshot.snapshot_id}-{uuid.uuid4()}.{kind.lower()}"
    path = metadata_location(metadata, name)
    with CleanupOnFailure(io, [path]) as commit_state:
        size = _written(io, path, metadata, kind, schema, rows)
        entry = {
            "snapshot-id": snapshot.snapshot_id,
            "statistics-path": path,
            "file-size-in-bytes": size,
        }
        action = SetSnapshotStatistics(entry, by_partition=True)
        committed = commit(catalog, table.identifier, action, table, commit_state=commit_state)
    return committed, PartitionStatistics(path)


def _nearest(metadata: TableMetadata, snapshot: Snapshot) -> tuple[int, str] | None:
    """Return the file of the snapshot, or of its nearest ancestor with one."""
    files = {
        entry["snapshot-id"]: entry["statistics-path"] for entry in metadata.partition_statistics
    }
    for snapshot_before in ancestors(metadata, snapshot.snapshot_id):
        if snapshot_before.snapshot_id in files:
            return snapshot_before.snapshot_id, str(files[snapshot_before.snapshot_id])
    return None


def _earlier(
    io: FileIO, nearest: tuple[int, str] | None, schema: Schema
) -> tuple[int, Table] | None:
    """Return the rows of an earlier file; ignores one that cannot be read, as Java does."""
    if nearest is None:
        return None
    number, path = nearest
    try:
        kind = FileFormat(path.rpartition(".")[2].upper())
        return number, _rows(io, path, kind, schema)
    except (IcebergError, ValueError):
        return None


def _rows(io: FileIO, path: str, kind: FileFormat, schema: Schema) -> Table:
    with open_data_file(io, path, kind) as reader:
        fields = file_fields(reader.schema, {})
        present = {field.own_id for field in fields}
        columns = [candidate for candidate in schema.fields if candidate.field_id in present]
        request = ReadRequest(fields, needed_leaves(fields, columns, {}))
        evolve = evolution(reader.output_fields(request), columns, {}, path)
        batches = [evolve.apply(batch.rows) for batch in reader.batches(request)]
    return pa.Table.from_batches(batches, to_arrow(Schema(*columns)))


def _format(metadata: TableMetadata) -> FileFormat:
    """Return the table's default format; Parquet instead of ORC, which Java does not write."""
    kind = write_context(metadata).file_format
    return FileFormat.PARQUET if kind is FileFormat.ORC else kind


def _written(
    io: FileIO, path: str, metadata: TableMetadata, kind: FileFormat, schema: Schema, rows: Table
) -> int:
    shape = file_shape(write_context(metadata, io=io), DataFileContent.DATA, kind, schema)
    with io.create(path) as sink:
        writer = shape.begin(sink, lambda: io.open(path))
        writer.write(rows)
        return writer.close().size
