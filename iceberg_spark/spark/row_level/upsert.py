"""Upserts of DataFrames: rows are shuffled by key, and each task writes its own."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

import pyarrow as pa
from pyspark.sql import Column, DataFrame

from iceberg_spark.arrow.schema import to_arrow
from iceberg_spark.errors import InvalidInputError
from iceberg_spark.spark.adapt.many_columns import by_position
from iceberg_spark.spark.adapt.task_results import results
from iceberg_spark.spark.adapt.types import from_spark
from iceberg_spark.spark.catalyst.classic_frame import lineage, physical_plan
from iceberg_spark.spark.row_level.target_rows import SEQUENCE, check_names
from iceberg_spark.spark.session.task import task_id
from iceberg_spark.spark.session.worker_python import check_worker_python
from iceberg_spark.spark.writing.align_columns import source_column
from iceberg_spark.write.cdc_rows import CdcReader
from iceberg_spark.write.cdc_writer import UpsertedFiles, write_upserts
from iceberg_spark.write.upsert_context import UpsertContext


@dataclass(frozen=True, slots=True)
class UpsertTask:
    """The function of every task."""

    context: UpsertContext

    def written(self, batches: Iterable[pa.RecordBatch]) -> UpsertedFiles:
        """Write a task's changes and return the descriptions of its files."""
        return write_upserts(self.context, self.context.write.io, batches, task_id())


@dataclass(frozen=True, slots=True)
class PlannedUpsert:
    """A DataFrame shuffled by key, and the function of its tasks.

    Columns of `rows` are named by position; `names` are their names for the tasks.
    """

    rows: DataFrame
    names: tuple[str, ...]
    context: UpsertContext


def plan_upsert(frame: DataFrame, context: UpsertContext) -> PlannedUpsert:
    """Plan the upsert of a DataFrame, classic or Connect; nothing runs yet.

    Without order columns, rows are numbered before the shuffle. Raises InvalidInputError if the
    order of the rows is unknown, InvalidSchemaError for columns that do not fit.
    """
    check_worker_python(frame.sparkSession)
    check_names("The frame", frame.columns)
    CdcReader(context, to_arrow(from_spark(frame.schema)))
    keys = _key_columns(frame, context)
    names, rows = tuple(frame.schema.names), by_position(frame)
    if context.order_by:
        return PlannedUpsert(rows.repartition(*keys), names, context)
    ordered = replace(context, order_by=(SEQUENCE,))
    return PlannedUpsert(number_rows(rows).repartition(*keys), (*names, SEQUENCE), ordered)


def run_upsert(planned: PlannedUpsert) -> UpsertedFiles | InvalidInputError:
    """Write a DataFrame's changes and return the files of successful tasks.

    The driver holds one description for each file. An error that a task found in the rows is
    returned instead: then no other task is still writing.
    """
    work, final = UpsertTask(planned.context).written, (InvalidInputError,)
    try:
        parts = results(planned.rows, work, names=planned.names, final=final)
    except InvalidInputError as error:
        return error
    return UpsertedFiles(
        tuple(file for part in parts for file in part.data),
        tuple(file for part in parts for file in part.deletes),
    )


def _key_columns(frame: DataFrame, context: UpsertContext) -> list[Column]:
    """Return the key columns of a DataFrame whose columns are named by position."""
    schema, options = context.write.schema, context.options
    columns = [
        source_column(schema, key, frame.schema, case_sensitive=options.case_sensitive)
        for key in context.equality_ids
    ]
    return [column for column in columns if column is not None]


# Numbers of rows in their input order, if their order is known.
#
# Rows are numbered by partition and position. After a shuffle they arrive in the order in which
# blocks were fetched, so that a number does not tell which of two rows is later.

_SHUFFLE = re.compile(r"(?<![A-Za-z])(?!Broadcast|Reused)\w*(?:Exchange|ShuffleRead)\b")
_SHUFFLED_RDD = re.compile(
    r"Shuffled\w*RDD|CoGroupedRDD|CheckpointRDD"
)  # a checkpoint hides what was before it
_RDD_SCAN = "Scan ExistingRDD"


def number_rows(frame: DataFrame) -> DataFrame:
    """Return a DataFrame with its rows numbered in their input order, before any shuffle.

    Raises InvalidInputError if its rows were shuffled, and over Connect if the plan does not show
    whether they were.
    """
    with_sequence = frame.selectExpr("*", f"monotonically_increasing_id() AS {SEQUENCE}")
    plan = physical_plan(with_sequence)
    if _SHUFFLE.search(plan):
        raise InvalidInputError(
            "The rows of the frame were shuffled (its plan has an Exchange), so their order is no "
            "longer that of the input: pass order_by=[...], columns that say which row of a key "
            "is the last"
        )
    if _RDD_SCAN in plan and _rdd_may_be_shuffled(with_sequence):
        raise InvalidInputError(
            "Whether the rows of the frame were shuffled can't be told from its plan, which reads "
            "an RDD: pass order_by=[...], columns that say which row of a key is the last"
        )
    return with_sequence


def _rdd_may_be_shuffled(frame: DataFrame) -> bool:
    """Return whether the RDDs below a DataFrame may be shuffled; over Connect they may."""
    below = lineage(frame)
    return below is None or _SHUFFLED_RDD.search(below) is not None
