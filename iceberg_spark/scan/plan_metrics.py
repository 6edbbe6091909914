"""Totals of planned files for the metrics of a plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.expr.nodes import ALWAYS_TRUE, Bound
from iceberg_spark.scan.delete_index import DeleteIndex
from iceberg_spark.scan.metrics import ScanMetrics
from iceberg_spark.spec.data_file import DataFileContent, FileFormat


def with_totals(
    metrics: ScanMetrics, files: pa.Table, residuals: Sequence[Bound], deletes: DeleteIndex
) -> ScanMetrics:
    """Return the metrics with the totals of the planned files (FILES_SCHEMA) and their deletes."""
    left = np.array([residual != ALWAYS_TRUE for residual in residuals], np.bool_)
    counted = replace(
        metrics,
        result_data_files=files.num_rows,
        total_file_size_in_bytes=_sum(files, "file_size_in_bytes"),
        total_record_count=_sum(files, "record_count"),
        files_with_residual=int(left[files.column("residual_index").to_numpy()].sum()),
    )
    return _with_deletes(counted, files, deletes)


def _with_deletes(metrics: ScanMetrics, files: pa.Table, index: DeleteIndex) -> ScanMetrics:
    if len(index) == 0:
        return metrics
    lists = files.column("delete_rows")
    counted = index.files.select(("content", "file_format", "content_bytes"))
    used = counted.take(pc.unique(pc.list_flatten(lists)))
    equality = pc.equal(used.column("content"), DataFileContent.EQUALITY_DELETES.value)
    by_values = int(pc.sum(equality).as_py() or 0)
    puffin = pc.equal(used.column("file_format"), FileFormat.PUFFIN.value)
    vectors = int(pc.sum(puffin).as_py() or 0)
    return replace(
        metrics,
        result_delete_files=used.num_rows,
        equality_delete_files=by_values,
        position_delete_files=used.num_rows - by_values - vectors,
        deletion_vectors=vectors,
        total_delete_file_size_in_bytes=_sum(used, "content_bytes"),
        files_with_deletes=int(pc.sum(pc.greater(pc.list_value_length(lists), 0)).as_py() or 0),
    )


def _sum(table: pa.Table, name: str) -> int:
    return int(pc.sum(table.column(name)).as_py() or 0)
