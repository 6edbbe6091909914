"""Errors of an enabled session: this library's and PySpark's at the same time.

A program that was written for Spark catches `AnalysisException` and looks at its condition. So what
the hooks of `enable` raise is an instance of both classes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache, wraps
from typing import Any, ParamSpec, TypeVar

from pyspark.errors import AnalysisException, PySparkException, SparkRuntimeException

from iceberg_spark.errors import (
    AlreadyExistsError,
    ColumnAlreadyExistsError,
    IcebergError,
    InvalidInputError,
    NamespaceAlreadyExistsError,
    NamespaceNotEmptyError,
    NoSuchColumnError,
    NoSuchNamespaceError,
    NoSuchProcedureError,
    NoSuchTableError,
    NoSuchViewError,
    NotEnoughColumnsError,
    NotFoundError,
    TableAlreadyExistsError,
    TooManyColumnsError,
    UnsupportedError,
    ViewAlreadyExistsError,
)

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

CONDITIONS: Mapping[type[IcebergError], tuple[str, str]] = {
    NoSuchTableError: ("TABLE_OR_VIEW_NOT_FOUND", "42P01"),
    NoSuchViewError: ("VIEW_NOT_FOUND", "42P01"),
    NoSuchNamespaceError: ("SCHEMA_NOT_FOUND", "42704"),
    TableAlreadyExistsError: ("TABLE_OR_VIEW_ALREADY_EXISTS", "42P07"),
    ViewAlreadyExistsError: ("VIEW_ALREADY_EXISTS", "42P07"),
    NamespaceAlreadyExistsError: ("SCHEMA_ALREADY_EXISTS", "42P06"),
    NamespaceNotEmptyError: ("SCHEMA_NOT_EMPTY", "2BP01"),
    NoSuchColumnError: ("UNRESOLVED_COLUMN.WITH_SUGGESTION", "42703"),
    ColumnAlreadyExistsError: ("FIELD_ALREADY_EXISTS", "42710"),
    TooManyColumnsError: ("INSERT_COLUMN_ARITY_MISMATCH.TOO_MANY_DATA_COLUMNS", "21S01"),
    NotEnoughColumnsError: ("INSERT_COLUMN_ARITY_MISMATCH.NOT_ENOUGH_DATA_COLUMNS", "21S01"),
    NoSuchProcedureError: ("FAILED_TO_LOAD_ROUTINE", "38000"),
}
"""Spark's error condition and SQLSTATE of each class that Java's catalogs raise a condition for."""

_PRIVATE_VIEW = re.compile(r"\biceberg_spark_[0-9a-f]{32} AS ")
"""A view that stands for a table while a statement runs, before the table's own name."""
_ANALYSIS = (
    NotFoundError, AlreadyExistsError, NamespaceNotEmptyError,
    InvalidInputError, UnsupportedError,
)  # fmt: skip
"""Classes of errors that Spark finds when it analyses a statement; others come while it runs."""


def raising_spark_errors(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Return a function whose errors are PySpark's, too; their tracebacks start here."""

    @wraps(function)
    def run(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        try:
            return function(*args, **kwargs)
        except IcebergError as error:
            if isinstance(error, PySparkException):
                raise
            raise spark_error(error) from error.__cause__

    return run


def translated_methods(owner: type) -> dict[str, Any]:
    """Return the public methods of a class, by name, as ones that raise PySpark's errors."""
    return {
        name: raising_spark_errors(method)
        for name, method in vars(owner).items()
        if callable(method) and not name.startswith("_")
    }


def spark_error(error: IcebergError) -> IcebergError:
    """Return an error as an instance of its own class and of PySpark's.

    The condition is that of the class, or of the error of Spark's that it was raised from.

    Example:
        >>> error = spark_error(NoSuchTableError("No table cat.db.t"))
        >>> isinstance(error, AnalysisException), error.getCondition()
        (True, 'TABLE_OR_VIEW_NOT_FOUND')
    """
    condition, state = _condition(error)
    return _instance(error, condition, state)


def _instance(error: IcebergError, condition: str | None, state: str | None) -> IcebergError:
    both = _both_classes(type(error))  # type: ignore[arg-type]
    message = _PRIVATE_VIEW.sub("", str(error))
    instance: Any = both.__new__(both, *error.args)
    instance.__dict__.update(error.__dict__)
    PySparkException.__init__(instance, message, condition, {} if condition else None)
    is_named = condition is None or f"[{condition}]" in message
    instance.args = (message if is_named else f"[{condition}] {message}",)
    instance._sql_state = state
    translated: IcebergError = instance
    return translated


def _unpickled(
    kind: type[IcebergError], message: str, condition: str | None, state: str | None
) -> IcebergError:
    return _instance(kind(message), condition, state)


def _condition(error: IcebergError) -> tuple[str | None, str | None]:
    for base in type(error).__mro__:
        if base in CONDITIONS:
            return CONDITIONS[base]
    cause = error.__cause__
    if isinstance(cause, PySparkException):
        return cause.getCondition(), cause.getSqlState()
    return None, None


@lru_cache(maxsize=64)
def _both_classes(kind: type[IcebergError]) -> type[IcebergError]:
    base = AnalysisException if issubclass(kind, _ANALYSIS) else SparkRuntimeException

    def get_sql_state(self: Any) -> str | None:
        state: str | None = self._sql_state
        return state

    def get_message(self: PySparkException) -> str:
        return str(self.args[0])

    def reduce(self: Any) -> tuple[Any, ...]:
        return _unpickled, (kind, self._message, self.getCondition(), self._sql_state)

    members = {
        "getSqlState": get_sql_state, "getMessage": get_message, "__module__": __name__,
        "__reduce__": reduce,
    }  # fmt: skip
    return type(kind.__name__, (kind, base), members)
