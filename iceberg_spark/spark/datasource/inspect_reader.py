"""Metadata tables: `load("T#files")`, read by tasks from the pinned metadata."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from iceberg_spark.inspect.pinned_inspection import PinnedInspection
from iceberg_spark.inspect.request import Part
from iceberg_spark.spark.adapt.batches import spark_batches
from iceberg_spark.spark.adapt.types import to_spark
from iceberg_spark.spark.session.compat import expected_arrow_schema
from iceberg_spark.spark.session.in_worker import in_worker


class PartGroup(InputPartition):
    """The parts of a metadata table that one Spark task reads, balanced by bytes."""

    def __init__(self, some: Sequence[Part]) -> None:
        super().__init__(tuple(some))

    @property
    def parts(self) -> tuple[Part, ...]:
        """Manifests, manifest lists or delete files to read."""
        parts: tuple[Part, ...] = self.value
        return parts


class InspectReader(DataSourceReader):
    """Cuts a metadata table into groups of manifests or delete files, and reads them.

    It is pickled into every task, so it holds no schema but one that a user gave.
    """

    def __init__(self, pinned: PinnedInspection, frame_type: StructType | None) -> None:
        self.pinned = pinned
        self.frame_type = frame_type

    @in_worker
    def partitions(self) -> list[InputPartition]:
        """Return one partition for each balanced group; small tables are one."""
        return [PartGroup(group) for group in self.pinned.groups()]

    @in_worker
    def read(self, partition: InputPartition | None) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a group as batches of exactly the frame's Arrow types."""
        if not isinstance(partition, PartGroup):  # what Spark sends when there is no partition
            return
        schema, batches = self.pinned.batches(partition.parts)
        expected = expected_arrow_schema(self.frame_type or to_spark(schema))
        yield from spark_batches(batches, schema, expected)
