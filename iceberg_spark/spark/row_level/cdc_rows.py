"""A frame of changes with what orders them and what each does; small ones as Arrow."""

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
from iceberg_spark.row_level.cdc_plan import CdcPlan
from iceberg_spark.row_level.limits import CDC
from iceberg_spark.spark.row_level.conditions import check_condition, spark_errors
from iceberg_spark.spark.row_level.target_rows import column
from iceberg_spark.spark.session.expressions import expression
from iceberg_spark.write.cdc_placeholders import UNAVAILABLE


def cdc_rows(
    frame: DataFrame, sequence_by: Any, deletes: Any | None, truncates: Any | None
) -> pa.Table | DataFrame:
    """Return the rows of a frame with `SEQUENCE` and `OPERATION`, as Arrow where they are few.

    Raises InvalidInputError for a stream, InvalidExpressionError for what Spark can't resolve.
    """
    if frame.isStreaming:
        raise InvalidInputError("The rows are a stream: apply its batches by foreachBatch")
    does = sf.lit(UPSERT)
    for what, given, number in (
        ("apply_as_deletes", deletes, DELETE),
        ("apply_as_truncates", truncates, TRUNCATE),
    ):
        if given is not None:
            does = sf.when(_condition(frame, given, what), sf.lit(number)).otherwise(does)
    with spark_errors("sequence_by"):
        order = _order(frame, sequence_by).alias(SEQUENCE)
        rows = frame.select("*", order, does.cast("tinyint").alias(OPERATION))
        if any(isinstance(field.dataType, VariantType) for field in frame.schema.fields):
            return rows
        few: pa.Table = rows.limit(CDC.here_rows + 1).toArrow()
    return rows if few.num_rows > CDC.here_rows else few


def _order(frame: DataFrame, given: Any) -> Column:
    if isinstance(given, Column):
        return given
    if not isinstance(given, str):
        raise InvalidTypeError(f"sequence_by must be a column or SQL text, not {given!r}")
    return column(given) if given in frame.columns else expression(given)


def _condition(frame: DataFrame, given: Any, what: str) -> Column:
    if isinstance(given, Column):
        return given
    if not isinstance(given, str):
        raise InvalidTypeError(f"{what} must be SQL text or a column, not {given!r}")
    check_condition(frame, given, what)
    return expression(given)


@dataclass(frozen=True, slots=True)
class CdcRows:
    """A frame of changes with `SEQUENCE` and `OPERATION`, and the columns that go to the table."""

    frame: DataFrame
    columns: tuple[str, ...]
    case_sensitive: bool

    def changes(self) -> DataFrame:
        """Return what goes to the table, with both columns of ours; truncations are left out."""
        kept = self.frame.where(sf.col(OPERATION) != TRUNCATE)
        left_out = (UNAVAILABLE,) if self.has_left_out else ()
        return kept.select(*map(column, (*self.columns, *left_out, SEQUENCE, OPERATION)))

    @property
    def has_left_out(self) -> bool:
        """Whether the rows say which values the source left out."""
        return has_left_out(self.frame.columns, self.columns)

    def given_name(self, name: str) -> str:
        """Return what the frame calls a column of the table."""
        if self.case_sensitive:
            return name
        return next(each for each in self.columns if each.lower() == name.lower())


def truncated_at(frame: DataFrame, plan: CdcPlan) -> pa.Scalar | None:
    """Return the sequence of the latest truncation among changes, None without one."""
    with spark_errors("The changes"):
        found = frame.where(sf.col(OPERATION) == TRUNCATE).agg(
            sf.max(sf.col(SEQUENCE)).alias(SEQUENCE), sf.count(sf.lit(1)).alias("times")
        )
        row: pa.Table = found.toArrow()
    if not row.column("times")[0].as_py():
        return None
    return pc.max(sequences(plan, row.select([SEQUENCE])))
