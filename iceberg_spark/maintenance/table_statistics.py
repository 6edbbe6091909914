"""Statistics of a snapshot as a Puffin file: the number of distinct values of each column.

Source: Java's ComputeTableStatsSparkAction and NDVSketchUtil; puffin-spec, blob
`apache-datasketches-theta-v1`.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from iceberg_spark.arrow.theta import ThetaSketch
from iceberg_spark.catalog.catalog import Catalog, LoadedTable
from iceberg_spark.catalog.metadata_file import metadata_location
from iceberg_spark.catalog.write_places import check_write_places
from iceberg_spark.commits.commit import CleanupOnFailure, commit
from iceberg_spark.commits.metadata_changes import SetSnapshotStatistics
from iceberg_spark.formats.puffin.blobs import ZSTD, NewBlob, PuffinFile
from iceberg_spark.formats.puffin.write_puffin import write_puffin
from iceberg_spark.maintenance.column_sketches import (
    Sketches,
    SketchPlan,
    SketchRunner,
    plan_sketches,
    united,
)
from iceberg_spark.spec.snapshot import Snapshot

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
    sketches = united(run(plan.work, plan.tasks, io), len(plan.fields))
    path = metadata_location(metadata, f"{snapshot.snapshot_id}-{uuid.uuid4()}.stats")
    with CleanupOnFailure(io, [path]) as handover:
        written = write_puffin(io, path, _blobs(plan, sketches, snapshot))
        action = SetSnapshotStatistics(_described(written, snapshot))
        committed = commit(catalog, table.identifier, action, table, handover=handover)
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
