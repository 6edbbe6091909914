"""Methods of a class that somebody bound before the class got other ones: `sql = spark.sql`.

A bound method keeps its function, whatever the class has by that name later. So the function itself
gets code that calls its replacement, which the class has under a second, private name, until it is
restored. Under the method's own name the class may have another library's wrapper by then, which
calls the function in turn.
"""

from __future__ import annotations

from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any

_redirected: dict[FunctionType, tuple[CodeType, type, str]] = {}
"""The own code of functions that are redirected, and where their replacements are: a few."""


def copied(function: FunctionType) -> FunctionType:
    """Return another function that does the same, whatever becomes of this one."""
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

    One with a closure stays unchanged: Python lets only code with the same closure take its place.
    """
    if function.__closure__ is None and function not in _redirected:
        name = f"_iceberg_spark_{function.__name__}"
        _redirected[function] = function.__code__, owner, name
        setattr(owner, name, replacement)
        function.__code__ = _call.__code__.replace(co_names=("type", name))


def restore_redirected() -> None:
    """Give all functions their own code back."""
    for function, (code, owner, name) in _redirected.items():
        function.__code__ = code
        delattr(owner, name)
    _redirected.clear()


def _call(self: Any, *args: Any, **kwargs: Any) -> Any:
    return type(self).method(self, *args, **kwargs)
