"""DataFrames and streams of Kafka records as changes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import cast

import pyarrow as pa
from pyspark.sql import DataFrame

from iceberg_spark.errors import InvalidInputError
from iceberg_spark.spark.adapt.batches import spark_batches
from iceberg_spark.spark.adapt.map_arrow import map_plain_names
from iceberg_spark.spark.adapt.types import nullable, to_spark
from iceberg_spark.spark.session.compat import expected_arrow_schema
from iceberg_spark.spark.session.in_worker import in_worker
from iceberg_spark.write.cdc_envelopes import Unwrapping, needed_columns, new_fields, unwrap_all
from iceberg_spark.write.limits import MESSAGES


@dataclass(frozen=True, slots=True)
class UnwrapTask:
    """The function of every task: it converts messages to changes."""

    how: Unwrapping

    @in_worker
    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the changes in batches of messages."""
        schema = self.how.columns
        expected = expected_arrow_schema(nullable(to_spark(schema)))
        return spark_batches(unwrap_all(self.how, batches), schema, expected)


@dataclass(frozen=True, slots=True)
class NewFieldsTask:
    """The function of every task: it finds columns in messages that the schema lacks."""

    how: Unwrapping

    @in_worker
    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the Connect fields of the new columns."""
        fields = pa.array(new_fields(self.how, batches), pa.string())
        yield pa.RecordBatch.from_arrays([fields], names=["field"])


def new_fields_of(frame: DataFrame, how: Unwrapping) -> list[str]:
    """Return the Connect fields of columns that messages have and the schema lacks, as JSON.

    It reads all messages, because only the last one may have a column. Raises InvalidInputError for
    a stream, whose columns are set before it runs.
    """
    if frame.isStreaming:
        raise InvalidInputError(
            "The rows are a stream, whose columns are set when it starts: call this function with "
            "merge_schema=True inside of foreachBatch"
        )
    rows = frame.select(*needed_columns(frame.columns))
    fields = map_plain_names(rows, NewFieldsTask(how), "field string").toArrow()
    return cast("list[str]", fields.column(0).to_pylist())


def unwrapped_frame(frame: DataFrame, how: Unwrapping) -> DataFrame:
    """Return the changes in a frame of messages; nothing runs yet."""
    rows = frame.select(*needed_columns(frame.columns))
    return map_plain_names(rows, UnwrapTask(how), nullable(to_spark(how.columns)))


def message_sample(frame: DataFrame) -> pa.Table:
    """Return some messages. Raises InvalidInputError for a stream."""
    if frame.isStreaming:
        raise InvalidInputError("The rows are a stream: say which columns they hold by schema=")
    sample: pa.Table = frame.select(*needed_columns(frame.columns)).limit(MESSAGES.sample).toArrow()
    return sample
