"""The entry points of this library in Spark's Python workers, and the task that they run."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar
from zipimport import zipimporter

P = ParamSpec("P")
R = TypeVar("R")


def in_worker(function: Callable[P, R]) -> Callable[P, R]:
    """Decorate a function that a Python worker calls first, so that its next task starts faster.

    PySpark 4.1 has `importlib` invalidate its caches before every task. Python 3.11 then reads the
    listing of `pyspark.zip` once for every package that was imported from it: 0.1 s of CPU a task.
    This removes the archive from the cache; the next import from it adds it again.
    """

    @wraps(function)
    def started(*args: P.args, **options: P.kwargs) -> R:
        forget_archives()
        return function(*args, **options)

    return started


def forget_archives() -> None:
    """Remove archives from the cache of import locations."""
    cache = sys.path_importer_cache
    for path in [path for path, importer in cache.items() if isinstance(importer, zipimporter)]:
        cache.pop(path, None)
