"""Files that Spark's reader misreads, found by their footers in a Spark job.

Spark misreads decimals of at most 18 digits in some physical types (`footer_columns`). The driver
reads the footers of a limited number of files; for more files, the tasks of a job read them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import SparkSession

from iceberg_spark.errors import CorruptFileError
from iceberg_spark.formats.parquet_head import FooterHead
from iceberg_spark.io.allowed_places import stored_at
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.read.bounded_cache import process_cache
from iceberg_spark.scan.plan import ScanPlan
from iceberg_spark.scan.split import Longs
from iceberg_spark.spark.adapt.jobs import job_results
from iceberg_spark.spark.reading.footer_columns import columns_in, may_be_misread
from iceberg_spark.spark.reading.footers import ListedFile, listed_files, read_footers
from iceberg_spark.spark.reading.limits import FOOTERS
from iceberg_spark.spec import types as t

_BYTES_OF_A_REASON = 200


def find_misread(
    spark: SparkSession, plan: ScanPlan, rows: Longs, columns: Sequence[t.NestedField]
) -> Mapping[int, str]:
    """Return why Spark's reader misreads files, by their indices in the plan.

    No job runs for columns that Spark reads right in every file, and one job in a process for the
    same files and columns. Raises CorruptFileError as `footers` does.
    """
    decimals = tuple(column for column in columns if may_be_misread(column))
    if not decimals:
        return {}
    files = listed_files(plan, rows)
    task = _FooterTask(plan.context.io, decimals)

    def load() -> tuple[dict[int, str], int]:
        reasons = _run(spark, task, files)
        return reasons, (len(reasons) + 1) * _BYTES_OF_A_REASON

    reasons: dict[int, str] = process_cache().get_or_load(task.cache_key(files), load)
    return {int(rows[index]): reason for index, reason in reasons.items()}


@dataclass(frozen=True, slots=True)
class _FooterTask:
    """The function of every task: it reads the footers of some files."""

    io: FileIO
    columns: tuple[t.NestedField, ...]

    def reasons(self, files: Sequence[ListedFile]) -> dict[int, str]:
        """Return why Spark's reader misreads files, by their index."""
        heads = read_footers(self.io, files, has_mapping=False)
        reasons = {index: self._reason(head) for index, head in enumerate(heads)}
        return {index: reason for index, reason in reasons.items() if reason is not None}

    def _reason(self, head: FooterHead | None) -> str | None:
        if head is None:  # the action says what is wrong
            return None
        columns = columns_in(head.columns.arrow, self.columns, {}, {}, head.columns.leaves)
        return columns if isinstance(columns, str) else None

    def cache_key(self, files: Sequence[ListedFile]) -> tuple[object, ...]:
        """Return what the reasons depend on. Files never change, so their paths are enough."""
        digest = hashlib.blake2b(repr(files).encode()).digest()
        kinds = tuple((column.field_id, str(column.field_type)) for column in self.columns)
        return ("misread files", stored_at(self.io, files[0][0]), digest, kinds)


def _run(spark: SparkSession, task: _FooterTask, files: Sequence[ListedFile]) -> dict[int, str]:
    starts = range(0, len(files), FOOTERS.task_files)
    jobs = [files[start : start + FOOTERS.task_files] for start in starts]
    parts = job_results(spark, jobs, task.reasons, final=(CorruptFileError,))
    return {
        start + index: reason
        for start, part in zip(starts, parts, strict=True)
        for index, reason in part.items()
    }
