"""Modules that are imported when one of their attributes is used first.

Spark starts several short-lived Python processes for every read and write. polars takes 80 ms to
import, sqlglot 90, strictyaml 35, and most of those processes need none of them. An import inside a
function would do the same, but is where cycles hide; this names the module at the top.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


class LazyModule:
    """Stands for a module; its attributes are the module's. Safe among threads."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return f"LazyModule({self._name})"

    def __getattr__(self, attribute: str) -> Any:  # whatever the module holds
        return getattr(import_module(self._name), attribute)
