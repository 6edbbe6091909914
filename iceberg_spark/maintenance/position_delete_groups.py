"""Position delete files rewritten to a suitable size, by Java's options.

Source: Java's RewritePositionDeleteFilesSparkAction and BinPackRewritePositionDeletePlanner. The
new files follow `write.delete.granularity`. Positions of removed data files are left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from iceberg_spark.commits.new_manifests import tuple_type
from iceberg_spark.expr.nodes import Bound, Unbound
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.maintenance.compaction_plan import Candidates, plan_groups
from iceberg_spark.maintenance.rewrite_options import RewriteOptions, Strategy, rewrite_options
from iceberg_spark.maintenance.rewritten_deletes import (
    DeletePlan,
    is_position_file,
    planned_deletes,
    position_plan,
)
from iceberg_spark.manifest.entries import partition_array
from iceberg_spark.scan.pruning import spec_pruning
from iceberg_spark.scan.request import ScanRequest, bound_filter
from iceberg_spark.spec.arguments import known_options
from iceberg_spark.spec.data_file import ManifestEntry
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.partition import partition_key
from iceberg_spark.spec.properties import (
    DELETE_GRANULARITY,
    DELETE_TARGET_FILE_SIZE_BYTES,
    int_property,
    text_property,
)

VALID_OPTIONS = (
    "target-file-size-bytes", "min-file-size-bytes", "max-file-size-bytes", "min-input-files",
    "rewrite-all", "max-file-group-size-bytes", "max-file-group-input-files",
    "max-concurrent-file-group-rewrites", "partial-progress.enabled",
    "partial-progress.max-commits", "rewrite-job-order",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class PositionRewrite:
    """Java's options and a filter of rows, which selects partitions.

    `time_zone` is that of the filter's literals.
    """

    options: Mapping[str, object]
    where: Unbound | None = None
    branch: str | None = None
    time_zone: str | None = None
    case_sensitive: bool = True


def position_options(options: Mapping[str, object], metadata: TableMetadata) -> RewriteOptions:
    """Parse the options of Java's procedure. Raises InvalidOptionError."""
    texts = {key: str(value) for key, value in options.items()}
    known_options(texts, VALID_OPTIONS, ())
    target = int_property(metadata.properties, DELETE_TARGET_FILE_SIZE_BYTES)
    named = {key.lower(): value for key, value in options.items()}
    merged = {"target-file-size-bytes": target, **named}
    return rewrite_options(merged, Strategy.BIN_PACK, metadata)


def plan_position_groups(
    metadata: TableMetadata, io: FileIO, rewrite: PositionRewrite
) -> tuple[DeletePlan, ...]:
    """Return a plan for each commit: one, or several with partial progress.

    Raises InvalidOptionError, InvalidExpressionError.
    """
    options = position_options(rewrite.options, metadata)
    planned = planned_deletes(metadata, io, rewrite.branch)
    entries = [entry for entry in planned.entries if is_position_file(entry)]
    if rewrite.where is not None:
        scan = ScanRequest(
            row_filter=rewrite.where,
            time_zone=rewrite.time_zone,
            case_sensitive=rewrite.case_sensitive,
        )
        bound = bound_filter(metadata.schema, scan)
        entries = _in_partitions(metadata, entries, bound)
    if not entries:
        return ()
    groups = plan_groups(_candidates(entries), options.groups).groups
    share = max(
        1, -(-len(groups) // options.max_commits) if options.partial_progress else len(groups)
    )
    together = text_property(metadata.properties, DELETE_GRANULARITY) == "partition"
    batch = replace(planned, work=replace(planned.work, together=together))
    return tuple(
        position_plan(batch, [entries[row] for group in some for row in group.rows.tolist()])
        for some in (groups[first : first + share] for first in range(0, len(groups), share))
    )


def _candidates(entries: Sequence[ManifestEntry]) -> Candidates:
    """Return delete files as the planner's columns, in the order of the manifests."""
    files = [entry.data_file for entry in entries]
    numbers: dict[object, int] = {}
    keys = [(file.partition_spec_id, partition_key(file.partition)) for file in files]
    partition = [numbers.setdefault(key, len(numbers)) for key in keys]
    nothing = np.zeros(len(files), np.int64)
    return Candidates(
        np.array(partition, np.int64),
        np.array([file.file_size_in_bytes for file in files], np.int64),
        np.array([file.record_count for file in files], np.int64),
        nothing,
        nothing,
    )


def _in_partitions(
    metadata: TableMetadata, entries: Sequence[ManifestEntry], bound: Bound
) -> list[ManifestEntry]:
    """Return the delete files of partitions that may have rows of a filter, as Java selects."""
    chosen: list[ManifestEntry] = []
    for spec_id, spec in metadata.partition_specs.items():
        mine = [entry for entry in entries if entry.data_file.partition_spec_id == spec_id]
        if mine:
            kind = tuple_type(metadata, spec_id)
            tuples = partition_array([entry.data_file for entry in mine], kind)
            may_match = spec_pruning(bound, spec, kind, metadata.schema).partitions(tuples)
            chosen += [
                entry for entry, stays in zip(mine, may_match.tolist(), strict=True) if stays
            ]
    return chosen
