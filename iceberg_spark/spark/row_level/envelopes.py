"""Frames of Kafka's records as frames of changes; streams too."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame

from iceberg_spark.errors import InvalidInputError
from iceberg_spark.spark.adapt.batches import spark_batches
from iceberg_spark.spark.adapt.map_arrow import map_plain_names
from iceberg_spark.spark.adapt.types import to_spark
from iceberg_spark.spark.reading.frame_type import nullable
from iceberg_spark.spark.session.compat import expected_arrow_schema
from iceberg_spark.spark.session.in_worker import in_worker
from iceberg_spark.write.cdc_envelopes import Unwrapping, needed, unwrap_all
from iceberg_spark.write.limits import MESSAGES


@dataclass(frozen=True, slots=True)
class UnwrapTask:
    """What each task runs; pickled with the plan."""

    how: Unwrapping

    @in_worker
    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the changes in batches of messages."""
        schema = self.how.columns
        expected = expected_arrow_schema(nullable(to_spark(schema)))
        return spark_batches(unwrap_all(self.how, batches), schema, expected)


def unwrapped_frame(frame: DataFrame, how: Unwrapping) -> DataFrame:
    """Return the changes in a frame of messages; nothing runs yet."""
    rows = frame.select(*needed(frame.columns))
    return map_plain_names(rows, UnwrapTask(how), nullable(to_spark(how.columns)))


def message_sample(frame: DataFrame) -> pa.Table:
    """Return some messages. Raises InvalidInputError for a stream, which shows none."""
    if frame.isStreaming:
        raise InvalidInputError("The rows are a stream: say which columns they hold by schema=")
    sample: pa.Table = frame.select(*needed(frame.columns)).limit(MESSAGES.sample).toArrow()
    return sample
