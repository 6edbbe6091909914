"""Turn entries of data manifests into rows of a plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.expr.nodes import Bound
from iceberg_spark.expr.variant_filter import VariantFilter
from iceberg_spark.scan.delete_index import DeleteIndex
from iceberg_spark.scan.delete_pairs import Rows
from iceberg_spark.scan.incremental import Appended
from iceberg_spark.scan.partition_codes import distinct
from iceberg_spark.scan.plan import FILES_SCHEMA, PartitionTuples
from iceberg_spark.scan.pruning import SpecPruning, metrics_mask
from iceberg_spark.scan.variant_bounds import variant_mask
from iceberg_spark.spec.data_file import ManifestEntryStatus

_PLAIN = (
    "file_path",
    "file_format",
    "record_count",
    "file_size_in_bytes",
    "data_sequence_number",
    "split_offsets",
    "first_row_id",
)
DATA_COLUMNS = ("status", "partition", *_PLAIN)
"""The columns of ENTRY_COLUMNS that planning needs, besides statistics."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Entries of data manifests of one spec, and the filter for them."""

    entries: pa.Table
    pruning: SpecPruning
    row_filter: Bound
    appended: Appended | None = None
    pruned_by: VariantFilter | None = None


@dataclass(frozen=True, slots=True)
class PlannedChunk:
    """Matching data files; `partition_of` and `residual_of` number their tuples and residuals."""

    files: pa.Table
    spec_id: int
    partitions: PartitionTuples
    partition_of: Rows
    residuals: Sequence[Bound]
    residual_of: Rows
    delete_rows: Any
    skipped_by_partition: int
    skipped_by_metrics: int
    skipped_bytes: int

    def table(self, first_partition: int, residuals: Sequence[int]) -> pa.Table:
        """Return the files as FILES_SCHEMA, with indexes into the whole plan."""
        rows = self.files.num_rows
        numbers = np.asarray(residuals, np.int32)
        columns = {name: self.files.column(name) for name in _PLAIN} | {
            "spec_id": pa.array(np.full(rows, self.spec_id, np.int32)),
            "partition_index": pa.array((self.partition_of + first_partition).astype(np.int32)),
            "residual_index": pa.array(numbers[self.residual_of]),
            "delete_rows": self.delete_rows,
        }
        ordered = [columns[name] for name in FILES_SCHEMA.names]
        return pa.Table.from_arrays(ordered, schema=FILES_SCHEMA)


def plan_chunk(chunk: Chunk, index: DeleteIndex) -> PlannedChunk:
    """Return the files of a chunk that may have matching rows, with their deletes and residuals."""
    live = _live(chunk)
    pruning = chunk.pruning
    tuples = live.column("partition").combine_chunks()
    first, tuple_of = distinct(tuples)
    tuples = tuples.take(pa.array(first))
    in_partition = pruning.partitions(tuples)[tuple_of]
    in_partitions, their_tuples = _only(live, tuple_of, in_partition)
    by_metrics = metrics_mask(chunk.row_filter, in_partitions)
    if chunk.pruned_by is not None:
        by_metrics = by_metrics & variant_mask(chunk.pruned_by, in_partitions)
    matching, tuple_of = _only(in_partitions, their_tuples, by_metrics)
    residuals, way_of = pruning.residuals(tuples)
    return PlannedChunk(
        files=matching.select(_PLAIN),
        spec_id=pruning.spec.spec_id,
        partitions=PartitionTuples(pruning.partition_type, tuples),
        partition_of=tuple_of,
        residuals=residuals,
        residual_of=way_of[tuple_of],
        delete_rows=index.lookup(pruning.spec.spec_id, matching),
        skipped_by_partition=live.num_rows - in_partitions.num_rows,
        skipped_by_metrics=in_partitions.num_rows - matching.num_rows,
        skipped_bytes=_bytes(live) - _bytes(matching),
    )


def _live(chunk: Chunk) -> pa.Table:
    """Return the entries that the scan is about: not deleted, or those that were appended."""
    status = chunk.entries.column("status")
    if chunk.appended is not None:
        added = pc.equal(status, ManifestEntryStatus.ADDED.value)
        ids = pa.array(chunk.appended, pa.int64())
        return chunk.entries.filter(
            pc.and_(added, pc.is_in(chunk.entries.column("snapshot_id"), ids))
        )
    live = pc.not_equal(status, ManifestEntryStatus.DELETED.value)
    return chunk.entries if pc.all(live).as_py() else chunk.entries.filter(live)


def _only(files: pa.Table, numbers: Rows, keep: Any) -> tuple[pa.Table, Rows]:
    if keep.all():
        return files, numbers
    return files.filter(pa.array(keep)), numbers[keep]


def _bytes(files: pa.Table) -> int:
    return int(pc.sum(files.column("file_size_in_bytes")).as_py() or 0)
