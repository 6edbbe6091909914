"""Conditions and values as users write them, for Spark and for the core."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from pyspark.errors import AnalysisException, ParseException, PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from iceberg_spark.errors import InvalidExpressionError, InvalidInputError, InvalidTypeError
from iceberg_spark.expr.bind import bind
from iceberg_spark.expr.build import Predicate, as_unbound
from iceberg_spark.expr.condition import conjuncts
from iceberg_spark.expr.nodes import ALWAYS_TRUE, And, Unbound
from iceberg_spark.expr.spelled import spelled
from iceberg_spark.expr.to_text import to_text
from iceberg_spark.row_level.row_level_change import RowVerb
from iceberg_spark.spec.schema import Schema

_PROBE = "__iceberg_spark_probe"
_NOT_DETERMINISTIC = "INVALID_NON_DETERMINISTIC_EXPRESSIONS"
_VALUE_ERRORS = ("ArithmeticException", "NumberFormatException", "DateTimeException")


def text_of(condition: str | Predicate | Unbound, what: str, schema: Schema | None = None) -> str:
    """Return a condition as SQL text; `schema` spells the columns of a built one.

    Raises InvalidTypeError for anything but a predicate.
    """
    if isinstance(condition, str):
        if not condition.strip():
            raise InvalidExpressionError(f"{what} is empty; 'true' means all rows")
        return condition
    if condition is None:
        raise InvalidInputError(f"{what} must be a predicate; 'true' means all rows")
    built = as_unbound(condition)
    return to_text(built if schema is None else spelled(built, schema), None)


def check_condition(frame: DataFrame, condition: str, what: str) -> None:
    """Refuse what Spark can't resolve over a frame, what is no boolean, and what is random.

    Spark's analysis tells: only deterministic expressions may join. Raises
    InvalidExpressionError.
    """
    session = frame.sparkSession
    one_row = session.range(1).toDF(_PROBE)
    with spark_errors(f"{what} '{condition}'"):
        if frame.join(one_row, sf.expr(f"({condition}) = true")).isStreaming:
            raise InvalidInputError(f"{what}: the rows are a stream; use foreachBatch")


@contextmanager
def spark_errors(what: str) -> Iterator[None]:
    """Raise Spark's errors about expressions and values as ours, said of `what`."""
    try:
        yield
    except (AnalysisException, ParseException) as error:
        raise _analysis_error(error, what) from error
    except PySparkException as error:
        if any(name in type(error).__name__ for name in _VALUE_ERRORS):
            raise InvalidInputError(f"{what}: {_first_line(error)}") from error
        raise


def _analysis_error(error: AnalysisException, what: str) -> InvalidExpressionError:
    if error.getCondition() == _NOT_DETERMINISTIC:
        return InvalidExpressionError(
            f"{what} is not deterministic: rows are looked at more than once, and it must say the "
            "same each time; put such values into a column first"
        )
    return InvalidExpressionError(f"{what} can't be used: {_first_line(error)}")


def _first_line(error: BaseException) -> str:
    return str(error).split(" SQLSTATE")[0].strip().splitlines()[0].rstrip(";. ")


def usable_filter(
    verb: RowVerb, condition: str, alias: str | None = None
) -> tuple[Unbound | None, bool]:
    """Return the part of a condition that prunes files (None: nothing), and if it is all of it."""
    found, exact = conjuncts(condition, alias, verb.dialect)
    bound = [each for each in found if binds(verb, each)]
    exact = exact and len(bound) == len(found)
    return all_of(bound), exact


def binds(verb: RowVerb, predicate: Unbound) -> bool:
    """Return whether the core can use a predicate on the verb's table."""
    try:
        bind(
            verb.metadata.schema,
            predicate,
            case_sensitive=verb.case_sensitive,
            time_zone=verb.time_zone,
        )
    except InvalidInputError:
        return False
    return True


def all_of(predicates: Sequence[Unbound]) -> Unbound | None:
    """Return the conjunction, None for none."""
    kept = [each for each in predicates if each != ALWAYS_TRUE]
    if not kept:
        return None
    return kept[0] if len(kept) == 1 else And(tuple(kept))


def columns_in(schema: Schema, texts: Iterable[str]) -> tuple[str, ...]:
    """Return the top-level columns that SQL texts may use: whose names occur in them at all."""
    return names_in([field.name for field in schema.fields], texts)


def names_in(names: Iterable[str], texts: Iterable[str]) -> tuple[str, ...]:
    """Return the names that occur in SQL texts at all, quoted or not, whatever their case."""
    everything = " ".join(texts).lower().replace("``", "`")
    return tuple(name for name in names if name.lower() in everything)


def check_texts(texts: Iterable[object], what: str) -> None:
    """Raise InvalidTypeError for anything but SQL text."""
    for text in texts:
        if not isinstance(text, str):
            raise InvalidTypeError(
                f"{what} must be SQL text, like \"'x'\" or 'a + 1'; got {text!r}"
            )
