"""Metadata tables as DataFrames: the driver splits them into parts, which Spark's tasks read.

The plain source does the same if its processes know the table's catalog. A catalog that only the
session describes is known to the driver alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from iceberg_spark.inspect.pinned_inspection import PinnedInspection
from iceberg_spark.inspect.request import Part
from iceberg_spark.spark.adapt.batches import spark_batches
from iceberg_spark.spark.adapt.jobs import job_rows
from iceberg_spark.spark.adapt.types import to_spark
from iceberg_spark.spark.session.compat import expected_arrow_schema
from iceberg_spark.spec.schema import Schema


@dataclass(frozen=True, slots=True)
class _ReadParts:
    """The function of every task: it reads the parts of the task."""

    inspected: PinnedInspection

    def rows(self, some: Sequence[Part]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of some parts, in Spark's Arrow types."""
        schema, batches = self.inspected.batches(some)
        yield from spark_batches(batches, schema, expected_arrow_schema(to_spark(schema)))


def metadata_frame(inspected: PinnedInspection, columns: Schema, spark: SparkSession) -> DataFrame:
    """Return the rows of a pinned metadata table; `columns` are those that it shows."""
    return job_rows(spark, inspected.groups(), _ReadParts(inspected).rows, to_spark(columns))
