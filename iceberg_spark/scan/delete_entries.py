"""Entries of delete manifests that may matter to a scan."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.expr.may_match import may_match
from iceberg_spark.expr.nodes import ALWAYS_TRUE, Bound
from iceberg_spark.expr.stats import column, evaluate, needed
from iceberg_spark.scan.column_stats import stats_table
from iceberg_spark.scan.delete_pairs import Mask
from iceberg_spark.scan.pruning import SpecPruning
from iceberg_spark.spec.data_file import DataFileContent, ManifestEntryStatus


def matching_deletes(
    entries: pa.Table, pruning: SpecPruning, row_filter: Bound, least_sequence: int
) -> tuple[pa.Table, int]:
    """Return the live delete files that may delete a matching row, and the number of others.

    `least_sequence` is the least data sequence number of the data files: position deletes apply
    from that number on, equality deletes only after it.
    """
    status = entries.column("status")
    live = _filtered(entries, pc.not_equal(status, ManifestEntryStatus.DELETED.value))
    equality = _numbers(live, "content") == DataFileContent.EQUALITY_DELETES.value
    sequences = _numbers(live, "data_sequence_number")
    keep = np.where(equality, sequences > least_sequence, sequences >= least_sequence)
    keep &= pruning.partitions(live.column("partition").combine_chunks())
    matching = _filtered(live, pa.array(keep))
    matching = _filtered(matching, _metrics_mask(row_filter, matching))
    return matching, live.num_rows - matching.num_rows


def _filtered(entries: pa.Table, keep: Any) -> pa.Table:
    return entries if pc.all(keep, min_count=0).as_py() else entries.filter(keep)


def _metrics_mask(row_filter: Bound, deletes: pa.Table) -> Any:
    """Return which delete files may delete a matching row, by their bounds and counts.

    Only the statistics of equality columns count: other columns of the file do not determine which
    rows are deleted.
    """
    if row_filter == ALWAYS_TRUE or deletes.num_rows == 0:
        return pa.array(np.ones(deletes.num_rows, np.bool_))
    statistics = needed(row_filter)
    stats = stats_table(deletes, statistics)
    for statistic in statistics:
        name = column(statistic.kind, statistic.field_id)
        uses = pa.array(uses_column(deletes.column("equality_ids"), statistic.field_id))
        index = stats.column_names.index(name)
        stats = stats.set_column(index, name, pc.if_else(uses, stats.column(name), None))
    return evaluate(may_match(row_filter), stats)


def uses_column(equality_ids: Any, field_id: int) -> Mask:
    """Return which delete files have the column among their equality columns."""
    ids = equality_ids.combine_chunks()
    uses = np.zeros(len(ids), np.bool_)
    owners = pc.list_parent_indices(ids).to_numpy()
    uses[owners[_flat(ids) == field_id]] = True
    return uses


def _flat(lists: Any) -> Any:
    return pc.list_flatten(lists).to_numpy(zero_copy_only=False)


def _numbers(table: pa.Table, name: str) -> Any:
    return table.column(name).to_numpy()
