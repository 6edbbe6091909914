"""Modules that are imported when one of their attributes is used first.

Spark starts several short-lived Python processes for every read and write, and most of them need a
small part of the library: importing all of it takes as long as reading a small table. polars takes
80 ms to import, sqlglot 90, strictyaml 35. An import inside a function would do the same, but is
where cycles hide; this names the module at the top.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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


class LazyFunction:
    """Stands for a function or class of a module, which is imported at the first call."""

    __slots__ = ("_module", "_name")

    def __init__(self, module: str, name: str) -> None:
        self._module = module
        self._name = name

    def __repr__(self) -> str:
        return f"LazyFunction({self._module}, {self._name})"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:  # whatever the function takes
        """Import the module and call its function."""
        return self.function(*args, **kwargs)

    @property
    def function(self) -> Any:  # whatever the module holds
        """The function, whose module is imported now."""
        return getattr(import_module(self._module), self._name)


class LazyNames:
    """The `__getattr__` of a module whose names are imported when they are used first.

    Type checkers read the imports in the `.pyi` file next to the module.

    Args:
        module: The name of the module, for the error about an unknown name.
        homes: The names by the module that defines them.
    """

    __slots__ = ("_module", "home")

    def __init__(self, module: str, homes: Mapping[LazyModule, Sequence[str]]) -> None:
        self._module = module
        self.home = {name: source for source, names in homes.items() for name in names}

    def __call__(self, name: str) -> object:
        """Import a name. Raises AttributeError for one that the module does not have."""
        if name not in self.home:
            raise AttributeError(f"module '{self._module}' has no attribute '{name}'")
        return getattr(self.home[name], name)
