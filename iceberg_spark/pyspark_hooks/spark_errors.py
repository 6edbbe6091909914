"""Errors of an enabled session: this library's and PySpark's at the same time.

A program that was written for Spark catches `AnalysisException` and checks its condition. So the
errors of the hooks of `enable` are instances of both classes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any, ParamSpec, TypeVar

from pyspark.errors import (
    AnalysisException,
    ArithmeticException,
    DateTimeException,
    NumberFormatException,
    PySparkException,
    SparkRuntimeException,
)

from iceberg_spark.errors import (
    AlreadyExistsError,
    IcebergError,
    IncompatibleTypeError,
    InvalidInputError,
    MergeCardinalityError,
    NamespaceNotEmptyError,
    NotFoundError,
    NullValueError,
    UnsupportedError,
)
from iceberg_spark.spark.session.active_session import active_session
from iceberg_spark.spark.session.error_conditions import (
    COLUMN_TYPE,
    CONDITIONS,
    condition_of,
    spark_condition,
)

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

_PRIVATE_VIEW = re.compile(r"\biceberg_spark_[0-9a-f]{32} AS ")
"""A view in place of a table while a statement runs, before the table's own name."""
_ANALYSIS = (
    NotFoundError, AlreadyExistsError, NamespaceNotEmptyError,
    InvalidInputError, UnsupportedError,
)  # fmt: skip
"""Classes of errors that Spark finds when it analyses a statement; others come while it runs."""
_OF_VALUES = (ArithmeticException, NumberFormatException, DateTimeException)
"""Classes of Spark's errors about values, which a statement meets while it runs."""
_AT_RUNTIME = (NullValueError, MergeCardinalityError)
"""Classes of the latter kind that are derived from one of the former."""

_COLUMN_TYPE_TEXT = re.compile(
    rf"\[{COLUMN_TYPE}\] Column or field (?P<column>.+?) is of type (?P<type>.+?) "
    r"while it's required to be (?P<required>.+?)(?:\.?( SQLSTATE.*)?)$",
    re.MULTILINE,
)
_CLAUSE = re.compile(r" of clause \d+(?=`)")
"""What the name of a column in an UPDATE or MERGE ends with, in Spark's errors."""


def raising_spark_errors(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Return a function whose errors are PySpark's, too; their tracebacks start here.

    Spark's errors have no frames of PySpark's and of this library either: they are longer than the
    message, and the message has the position. Over Connect the frames of the server are left out.
    """

    @wraps(function)
    def run(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        try:
            return function(*args, **kwargs)
        except IcebergError as error:
            if isinstance(error, PySparkException):
                raise
            cause = None if isinstance(error.__cause__, AnalysisException) else error.__cause__
            raise spark_error(error) from cause
        except PySparkException as error:
            if error.getCondition() != COLUMN_TYPE:
                raise without_server_trace(error).with_traceback(None)  # noqa: B904 - the same
            line = str(error).partition("\n")[0]  # over Connect frames of the server follow
            raise spark_error(IncompatibleTypeError(_store_text(line))) from None

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

    Examples:
        >>> error = spark_error(NoSuchTableError("No table cat.db.t"))
        >>> isinstance(error, AnalysisException), error.getCondition()
        (True, 'TABLE_OR_VIEW_NOT_FOUND')
    """
    condition, state = spark_condition(error)
    return _instance(error, _spark_class(error), condition, state)


def _instance(
    error: IcebergError, base: type[PySparkException], condition: str | None, state: str | None
) -> IcebergError:
    both = _both_classes(type(error), base)  # type: ignore[arg-type]
    message = _store_text(_PRIVATE_VIEW.sub("", str(error)))
    instance: Any = both.__new__(both, *error.args)
    instance.__dict__.update(error.__dict__)
    PySparkException.__init__(instance, message, condition, {} if condition else None)
    is_named = condition is None or f"[{condition}]" in message
    instance.args = (message if is_named else f"[{condition}] {message}",)
    instance._sql_state = state
    translated: IcebergError = instance
    return translated


def _store_text(message: str) -> str:
    """Return a message with the condition that Spark gives values of a wrong type in an INSERT.

    Examples:
        "... [INVALID_COLUMN_OR_FIELD_DATA_TYPE] Column or field `a of clause 1` is of type "STRING"
        while it's required to be "INT"" becomes
        "... [INCOMPATIBLE_DATA_FOR_TABLE.CANNOT_SAFELY_CAST] Cannot safely cast `a` "STRING" to
        "INT""
    """
    condition, _ = CONDITIONS[IncompatibleTypeError]
    text = rf"[{condition}] Cannot safely cast \g<column> \g<type> to \g<required>"
    return _COLUMN_TYPE_TEXT.sub(text, _CLAUSE.sub("", message))


def _unpickled(
    kind: type[IcebergError],
    base: type[PySparkException],
    message: str,
    condition: str | None,
    state: str | None,
) -> IcebergError:
    return _instance(kind(message), base, condition, state)


def has_condition(error: IcebergError) -> bool:
    """Return whether an error has a condition of Spark."""
    return spark_condition(error)[0] is not None


def _spark_class(error: IcebergError) -> type[PySparkException]:
    """Return the PySpark class of an error: that of its cause, or by when Spark would raise it."""
    cause = next((kind for kind in _OF_VALUES if isinstance(error.__cause__, kind)), None)
    if cause is not None:
        return cause
    own = condition_of(error)
    is_late = isinstance(error, _AT_RUNTIME) or (own is not None and own.at_runtime)
    is_analysis = isinstance(error, _ANALYSIS) and not is_late
    return AnalysisException if is_analysis else SparkRuntimeException


@lru_cache(maxsize=64)
def _both_classes(kind: type[IcebergError], base: type[PySparkException]) -> type[IcebergError]:

    def get_sql_state(self: Any) -> str | None:
        state: str | None = self._sql_state
        return state

    def get_message(self: PySparkException) -> str:
        return str(self.args[0])

    def reduce(self: Any) -> tuple[Any, ...]:
        return _unpickled, (kind, base, self._message, self.getCondition(), self._sql_state)

    members = {
        "getSqlState": get_sql_state, "getMessage": get_message, "__module__": __name__,
        "__reduce__": reduce,
    }  # fmt: skip
    return type(kind.__name__, (kind, base), members)


E = TypeVar("E", bound=PySparkException)

_SHOWN = "_display_stacktrace"
_SETTING = "spark.sql.pyspark.jvmStacktrace.enabled"


def without_server_trace(error: E) -> E:
    """Return an error whose text does not have the frames of the server; `getStackTrace` has them.

    PySpark adds some 80 lines to each message by default. They stay if the session's setting
    `spark.sql.pyspark.jvmStacktrace.enabled` is true, as on classic sessions.
    """
    inside: Any = error
    if not getattr(inside, _SHOWN, False):
        return error
    session = active_session()
    try:
        setting = "false" if session is None else session.conf.get(_SETTING, "false")
    except PySparkException:  # the server has closed the session since
        return error
    setattr(inside, _SHOWN, str(setting).lower() == "true")
    return error
