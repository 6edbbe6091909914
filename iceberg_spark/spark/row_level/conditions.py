"""Conditions over DataFrames, and Spark's errors about expressions and values as IcebergError."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.errors import AnalysisException, ParseException, PySparkException
from pyspark.sql import DataFrame

from iceberg_spark.errors import InvalidExpressionError, InvalidInputError
from iceberg_spark.spark.row_level.outer_condition import without_subqueries
from iceberg_spark.spark.session.error_conditions import (
    MERGE_AGGREGATE,
    MERGE_NON_DETERMINISTIC,
    with_condition,
)
from iceberg_spark.spark.session.expressions import expression

_PROBE = "__iceberg_spark_probe"
_NOT_DETERMINISTIC = "INVALID_NON_DETERMINISTIC_EXPRESSIONS"
_CORRELATED = "UNSUPPORTED_CORRELATED_SCALAR_SUBQUERY"
_VALUE_ERRORS = ("ArithmeticException", "NumberFormatException", "DateTimeException")


_AGGREGATE = "UNSUPPORTED_EXPR_FOR_OPERATOR"
_IN_WHERE = "INVALID_WHERE_CONDITION"
_OF_MERGES = {
    _NOT_DETERMINISTIC: MERGE_NON_DETERMINISTIC,
    _AGGREGATE: MERGE_AGGREGATE,
    _IN_WHERE: MERGE_AGGREGATE,
}
"""What Spark reports for expressions that a MERGE may not have in a condition."""


def check_merge_condition(pairs: DataFrame, condition: str, what: str) -> None:
    """Refuse a condition of a MERGE as `check_condition` does, with Spark's conditions for it.

    Raises InvalidExpressionError.
    """
    try:
        check_condition(pairs, condition, what)
    except InvalidExpressionError as error:
        cause = error.__cause__
        reported = [_OF_MERGES[name] for name in _OF_MERGES if _says(cause, name)]
        if reported:
            with_condition(error, reported[0])
        raise


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
            if _says(error, _AGGREGATE):
                analyze(frame.where(f"({condition}) = true"))  # Spark names the aggregate
            if not _says(error, _CORRELATED):
                raise
            # A filter may have these subqueries, a join may not: what stands around them may.
            rest = expression(f"({without_subqueries(condition)}) = true")
            streams = frame.where(f"({condition}) = true").join(one_row, rest).isStreaming
        if streams:
            raise InvalidInputError(f"{what}: the rows are a stream; use foreachBatch")


def analyze(rows: DataFrame) -> None:
    """Have Spark analyze rows, so that it refuses unknown names and unfit types.

    Over Connect `rows.schema` is not enough: after `DataFrame.to` the client knows the schema and
    does not ask the server.
    """
    rows.isStreaming  # noqa: B018 (a property that needs the analyzed plan)


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


def _says(error: BaseException | None, condition: str) -> bool:
    """Return whether an error has a condition, or one that ends with a name.

    Over Connect an error with a long plan in its message comes without its condition.
    """
    if not isinstance(error, AnalysisException):
        return False
    named = error.getCondition() or str(error).partition("]")[0]
    return named.endswith(condition)


def _first_line(error: BaseException) -> str:
    return str(error).split(" SQLSTATE")[0].strip().splitlines()[0].rstrip(";. ")
