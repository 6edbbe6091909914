"""DataFrames of changes with their sequence and operation; small ones as Arrow tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import VariantType

from iceberg_spark.errors import InvalidInputError, InvalidTypeError
from iceberg_spark.row_level.cdc_events import (
    DELETE,
    OPERATION,
    SEQUENCE,
    TRUNCATE,
    UPSERT,
    has_left_out,
    sequences,
)
from iceberg_spark.row_level.cdc_ledger import CDC
from iceberg_spark.row_level.cdc_plan import CdcPlan
from iceberg_spark.spark.row_level.conditions import check_condition, spark_errors
from iceberg_spark.spark.row_level.target_rows import column
from iceberg_spark.spark.session.expressions import expression
from iceberg_spark.write.cdc_messages import UNAVAILABLE


def cdc_rows(
    frame: DataFrame, sequence_by: Any, deletes: Any | None, truncates: Any | None
) -> pa.Table | DataFrame:
    """Return rows with `SEQUENCE` and `OPERATION`, as an Arrow table if they are few.

    Raises InvalidInputError for a stream, InvalidExpressionError for an expression that Spark
    cannot resolve.
    """
    if frame.isStreaming:
        raise InvalidInputError("The rows are a stream: apply its batches by foreachBatch")
    does = sf.lit(UPSERT)
    for what, condition, number in (
        ("apply_as_deletes", deletes, DELETE),
        ("apply_as_truncates", truncates, TRUNCATE),
    ):
        if condition is not None:
            does = sf.when(_condition(frame, condition, what), sf.lit(number)).otherwise(does)
    with spark_errors("sequence_by"):
        order = _order(frame, sequence_by).alias(SEQUENCE)
        rows = frame.select("*", order, does.cast("tinyint").alias(OPERATION))
        if any(isinstance(field.dataType, VariantType) for field in frame.schema.fields):
            return rows
        few: pa.Table = rows.limit(CDC.here_rows + 1).toArrow()
    return rows if few.num_rows > CDC.here_rows else few


def _order(frame: DataFrame, sequence: Any) -> Column:
    if isinstance(sequence, Column):
        return sequence
    if not isinstance(sequence, str):
        raise InvalidTypeError(f"sequence_by must be a column or SQL text, not {sequence!r}")
    return column(sequence) if sequence in frame.columns else expression(sequence)


def _condition(frame: DataFrame, condition: Any, what: str) -> Column:
    if isinstance(condition, Column):
        return condition
    if not isinstance(condition, str):
        raise InvalidTypeError(f"{what} must be SQL text or a column, not {condition!r}")
    check_condition(frame, condition, what)
    return expression(condition)


@dataclass(frozen=True, slots=True)
class CdcRows:
    """A DataFrame of changes with `SEQUENCE` and `OPERATION`, and the columns to write."""

    frame: DataFrame
    columns: tuple[str, ...]
    case_sensitive: bool

    def changes(self) -> DataFrame:
        """Return the rows to apply, with `SEQUENCE` and `OPERATION` but without truncations."""
        changes = self.frame.where(sf.col(OPERATION) != TRUNCATE)
        left_out = (UNAVAILABLE,) if self.has_left_out else ()
        return changes.select(*map(column, (*self.columns, *left_out, SEQUENCE, OPERATION)))

    @property
    def has_left_out(self) -> bool:
        """Whether the rows list values that the source left out."""
        return has_left_out(self.frame.columns, self.columns)

    def given_name(self, name: str) -> str:
        """Return the DataFrame's name of a column of the table."""
        if self.case_sensitive:
            return name
        return next(
            column_name for column_name in self.columns if column_name.lower() == name.lower()
        )


def truncated_at(frame: DataFrame, plan: CdcPlan) -> pa.Scalar | None:
    """Return the sequence of the latest truncation, None without one."""
    with spark_errors("The changes"):
        latest = frame.where(sf.col(OPERATION) == TRUNCATE).agg(
            sf.max(sf.col(SEQUENCE)).alias(SEQUENCE), sf.count(sf.lit(1)).alias("times")
        )
        row: pa.Table = latest.toArrow()
    if not row.column("times")[0].as_py():
        return None
    return pc.max(sequences(plan, row.select([SEQUENCE])))
