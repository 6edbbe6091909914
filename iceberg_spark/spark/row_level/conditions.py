"""Conditions over DataFrames, and Spark's errors about expressions and values as IcebergError."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import TypeAlias

from pyspark.errors import AnalysisException, ParseException, PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import BooleanType
from sqlglot.tokenizer_core import Token

from iceberg_spark.errors import InvalidExpressionError, InvalidInputError
from iceberg_spark.expr.dialect import SPARK
from iceberg_spark.expr.grammar import grammar
from iceberg_spark.row_level.conditions import names_in
from iceberg_spark.spark.row_level.target_rows import empty_frame
from iceberg_spark.spark.session.error_conditions import (
    CAST_INVALID_INPUT,
    MERGE_AGGREGATE,
    MERGE_NON_DETERMINISTIC,
    MISSING_GROUP_BY,
    NOT_BOOLEAN,
    OVERWRITE_BY_SUBQUERY,
    UNSUPPORTED_EXPRESSION,
    ErrorCondition,
    with_condition,
)
from iceberg_spark.spark.session.expressions import expression
from iceberg_spark.spec.schema import Schema

_NOT_DETERMINISTIC = "INVALID_NON_DETERMINISTIC_EXPRESSIONS"
_CORRELATED = "UNSUPPORTED_CORRELATED_SCALAR_SUBQUERY"
_OTHER_TYPES = "BINARY_OP_DIFF_TYPES"
_VALUE_ERRORS = ("ArithmeticException", "NumberFormatException", "DateTimeException")
_AGGREGATE = "UNSUPPORTED_EXPR_FOR_OPERATOR"
_IN_WHERE = "INVALID_WHERE_CONDITION"
_WINDOW_IN_WHERE = "_LEGACY_ERROR_TEMP_1034"

Reported: TypeAlias = Mapping[str, ErrorCondition]
"""The condition that Spark reports for a statement, by the one of the check that fails here."""

OF_UPDATE: Reported = {_IN_WHERE: MISSING_GROUP_BY, _WINDOW_IN_WHERE: UNSUPPORTED_EXPRESSION}
OF_MERGE: Reported = {
    _NOT_DETERMINISTIC: MERGE_NON_DETERMINISTIC,
    _AGGREGATE: MERGE_AGGREGATE,
    _IN_WHERE: MERGE_AGGREGATE,
    _WINDOW_IN_WHERE: UNSUPPORTED_EXPRESSION,
}
_OF_OVERWRITE: Reported = {
    _IN_WHERE: UNSUPPORTED_EXPRESSION,
    _WINDOW_IN_WHERE: UNSUPPORTED_EXPRESSION,
}
OF_MERGED_VALUES: Reported = {
    "MISSING_GROUP_BY": UNSUPPORTED_EXPRESSION,
    _WINDOW_IN_WHERE: UNSUPPORTED_EXPRESSION,
}


@contextmanager
def reporting(reported: Reported) -> Iterator[None]:
    """Attach to errors of checks the condition that Spark reports for the statement."""
    try:
        yield
    except InvalidExpressionError as error:
        for name, condition in reported.items():
            if _says(error.__cause__, name):
                with_condition(error, condition)
                break
        raise


@contextmanager
def explaining_overwrite(schema: Schema, condition: str, spark: SparkSession) -> Iterator[None]:
    """Raise Spark's reason against the condition of an overwrite, if Spark refuses it, too.

    This library converts these conditions to predicates of files, and its errors are about that.
    Raises InvalidExpressionError.
    """
    try:
        yield
    except InvalidExpressionError as error:
        if names_in(["select"], [condition]):
            raise with_condition(error, OVERWRITE_BY_SUBQUERY) from None
        with reporting(_OF_OVERWRITE):
            check_condition(empty_frame(schema, spark), condition, "The condition")
        if isinstance(error.__cause__, ValueError):  # the text of a comparison is not a number
            with_condition(error, CAST_INVALID_INPUT)
        raise


def check_condition(
    frame: DataFrame, condition: str, what: str, no_boolean: ErrorCondition = NOT_BOOLEAN
) -> None:
    """Refuse a condition that Spark cannot resolve, that is not boolean, or that is random.

    Spark's analyzer checks it: only deterministic expressions may join. Raises
    InvalidExpressionError, with Spark's condition `no_boolean` for one of another type.
    """
    session = frame.sparkSession
    one_row = session.range(1).drop("id")  # a column would be among Spark's suggestions
    with spark_errors(f"{what} '{condition}'"):
        try:
            streams = frame.join(one_row, expression(f"({condition}) = true")).isStreaming
        except AnalysisException as error:
            if _says(error, _OTHER_TYPES):
                _check_boolean(frame, condition, what, no_boolean)
            if _says(error, _AGGREGATE):
                analyze(frame.where(f"({condition}) = true"))  # Spark names the aggregate
            if not _says(error, _CORRELATED):
                raise
            # A filter may have these subqueries, a join may not: what stands around them may.
            rest = expression(f"({without_subqueries(condition)}) = true")
            streams = frame.where(f"({condition}) = true").join(one_row, rest).isStreaming
        if streams:
            raise InvalidInputError(f"{what}: the rows are a stream; use foreachBatch")


def _check_boolean(frame: DataFrame, condition: str, what: str, no_boolean: ErrorCondition) -> None:
    kind = frame.select(expression(condition)).schema[0].dataType
    if not isinstance(kind, BooleanType):
        error = InvalidExpressionError(
            f"{what} '{condition}' is of type {kind.simpleString()}, not boolean: compare it with "
            "a value"
        )
        raise with_condition(error, no_boolean)


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


def without_subqueries(text: str) -> str:
    """Return an expression with NULL in place of each scalar subquery."""
    tokens = grammar(SPARK)().tokenize(text)
    pieces, copied_to = [], 0
    for index, (token, following) in enumerate(pairwise(tokens)):
        before = tokens[index - 1].text.upper() if index else ""
        is_query = following.text.upper() in ("SELECT", "WITH") and token.text == "("
        if not is_query or before in ("IN", "EXISTS") or token.start < copied_to:
            continue
        end = _closing(tokens, index)
        pieces += [text[copied_to : token.start], "(NULL)"]
        copied_to = end
    return "".join([*pieces, text[copied_to:]])


def _closing(tokens: Sequence[Token], index: int) -> int:
    """Return the end of the text in brackets that opens at a token."""
    depth = 0
    for token in tokens[index:]:
        depth += (token.text == "(") - (token.text == ")")
        if depth == 0:
            break
    return int(token.end) + 1
