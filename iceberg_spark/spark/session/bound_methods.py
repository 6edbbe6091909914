"""Methods of a class that somebody bound before the class got other ones: `sql = spark.sql`.

A bound method keeps its function, whatever the class has by that name later. So the function itself
gets code that calls the method which the class has now, until it is restored.
"""

from __future__ import annotations

from types import CodeType, FunctionType
from typing import Any

_codes: dict[FunctionType, CodeType] = {}
"""The own code of functions that are redirected: a few."""


def copied(function: FunctionType) -> FunctionType:
    """Return another function that does the same, whatever becomes of this one."""
    made = FunctionType(
        function.__code__,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    made.__kwdefaults__ = function.__kwdefaults__
    made.__doc__, made.__annotations__ = function.__doc__, function.__annotations__
    made.__qualname__, made.__module__ = function.__qualname__, function.__module__
    return made


def redirect(function: FunctionType, name: str) -> None:
    """Have a function call the method of this name of its first argument's class.

    The class must have another function by that name. One with a closure stays as it is: Python
    lets only code with the same closure take its place.
    """
    if function.__closure__ is None and function not in _codes:
        _codes[function] = function.__code__
        function.__code__ = _call.__code__.replace(co_names=("type", name))


def restore_redirected() -> None:
    """Give all functions their own code back."""
    for function, code in _codes.items():
        function.__code__ = code
    _codes.clear()


def _call(self: Any, *args: Any, **kwargs: Any) -> Any:
    return type(self).method(self, *args, **kwargs)
