"""PySpark's own methods in an enabled session, for the library's internal steps.

`enable` replaces methods such as `SparkSession.sql`. The library calls the originals in steps whose
text names no Iceberg table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from types import CodeType, FunctionType
from typing import Any

from pyspark.sql import DataFrame, SparkSession

_uses_originals: ContextVar[bool] = ContextVar("iceberg_spark_uses_originals", default=False)


@contextmanager
def original_methods() -> Iterator[None]:
    """Have replaced methods call the originals in this thread while the block runs."""
    token = _uses_originals.set(True)
    try:
        yield
    finally:
        _uses_originals.reset(token)


def uses_original_methods() -> bool:
    """Return whether a replaced method must call the original."""
    return _uses_originals.get()


def run_sql(
    session: SparkSession,
    text: str,
    args: Mapping[str, Any] | Sequence[Any] | None = None,
    /,
    **frames: DataFrame,
) -> DataFrame:
    """Run a statement by PySpark's own `SparkSession.sql`. Raises what that raises."""
    values = dict(args) if isinstance(args, Mapping) else list(args or ())
    with original_methods():
        return session.sql(text, args=values or None, **frames)


# Replacements for methods that a program bound earlier, as in `sql = spark.sql`.
#
# A bound method keeps its function even if the class gets another method of that name. So the
# function itself gets code that calls the replacement, until it is restored. The class has the
# replacement under a second, private name: under the method's own name it may have another
# library's wrapper by then, which calls the function in turn.

_redirected: dict[FunctionType, tuple[CodeType, type, str]] = {}
"""The code of redirected functions, the class, and the private name of the replacement."""


def copy_function(function: FunctionType) -> FunctionType:
    """Return a copy of a function, which stays unchanged when the function is redirected."""
    copy = FunctionType(
        function.__code__,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    copy.__kwdefaults__ = function.__kwdefaults__
    copy.__doc__, copy.__annotations__ = function.__doc__, function.__annotations__
    copy.__qualname__, copy.__module__ = function.__qualname__, function.__module__
    return copy


def redirect(function: FunctionType, owner: type, replacement: Callable[..., Any]) -> None:
    """Have a method of a class call its replacement.

    A function with a closure stays unchanged: Python accepts only code with the same closure.
    """
    if function.__closure__ is None and function not in _redirected:
        name = f"_iceberg_spark_{function.__name__}"
        _redirected[function] = function.__code__, owner, name
        setattr(owner, name, replacement)
        function.__code__ = _call.__code__.replace(co_names=("type", name))


def restore_redirected() -> None:
    """Restore the code of all redirected functions."""
    for function, (code, owner, name) in _redirected.items():
        function.__code__ = code
        delattr(owner, name)
    _redirected.clear()


def _call(self: Any, *args: Any, **kwargs: Any) -> Any:
    return type(self).method(self, *args, **kwargs)
