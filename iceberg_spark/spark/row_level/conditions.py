"""Conditions over DataFrames, and Spark's errors about expressions and values as IcebergError."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.errors import AnalysisException, ParseException, PySparkException
from pyspark.sql import DataFrame

from iceberg_spark.errors import InvalidExpressionError, InvalidInputError
from iceberg_spark.spark.row_level.outer_condition import without_subqueries
from iceberg_spark.spark.session.expressions import expression

_PROBE = "__iceberg_spark_probe"
_NOT_DETERMINISTIC = "INVALID_NON_DETERMINISTIC_EXPRESSIONS"
_CORRELATED = "UNSUPPORTED_CORRELATED_SCALAR_SUBQUERY"
_VALUE_ERRORS = ("ArithmeticException", "NumberFormatException", "DateTimeException")


def check_condition(frame: DataFrame, condition: str, what: str) -> None:
    """Refuse a condition that Spark cannot resolve, that is not boolean, or that is random.

    Spark's analyzer checks it: only deterministic expressions may join. Raises
    InvalidExpressionError.
    """
    session = frame.sparkSession
    one_row = session.range(1).toDF(_PROBE)
    with spark_errors(f"{what} '{condition}'"):
        try:
            streams = frame.join(one_row, expression(f"({condition}) = true")).isStreaming
        except AnalysisException as error:
            if not _says(error, _CORRELATED):
                raise
            # A filter may have these subqueries, a join may not: what stands around them may.
            rest = expression(f"({without_subqueries(condition)}) = true")
            streams = frame.where(f"({condition}) = true").join(one_row, rest).isStreaming
        if streams:
            raise InvalidInputError(f"{what}: the rows are a stream; use foreachBatch")


@contextmanager
def spark_errors(what: str) -> Iterator[None]:
    """Raise Spark's errors about expressions and values as errors about `what`."""
    try:
        yield
    except (AnalysisException, ParseException) as error:
        raise _analysis_error(error, what) from error
    except PySparkException as error:
        if any(name in type(error).__name__ for name in _VALUE_ERRORS):
            raise InvalidInputError(f"{what}: {_first_line(error)}") from error
        raise


def _analysis_error(error: AnalysisException, what: str) -> InvalidExpressionError:
    if _says(error, _NOT_DETERMINISTIC):
        return InvalidExpressionError(
            f"{what} is not deterministic: rows are looked at more than once, and it must say the "
            "same each time; put such values into a column first"
        )
    return InvalidExpressionError(f"{what} can't be used: {_first_line(error)}")


def _says(error: AnalysisException, condition: str) -> bool:
    """Return whether an error has a condition, or one that ends with a name.

    Over Connect an error with a long plan in its message comes without its condition.
    """
    named = error.getCondition() or str(error).partition("]")[0]
    return named.endswith(condition)


def _first_line(error: BaseException) -> str:
    return str(error).split(" SQLSTATE")[0].strip().splitlines()[0].rstrip(";. ")
