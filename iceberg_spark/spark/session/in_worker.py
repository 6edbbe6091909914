"""What the Python processes of Spark run of ours starts here."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar
from zipimport import zipimporter

P = ParamSpec("P")
R = TypeVar("R")


def in_worker(function: Callable[P, R]) -> Callable[P, R]:
    """Mark what a Python process of Spark calls first; its next task starts quicker.

    PySpark 4.1 has `importlib` read its caches anew before every task, and Python 3.11
    then reads the listing of `pyspark.zip` once for every package in it that was imported: 0.1 s
    of CPU a task. What is not in that cache is not read; the next import from there puts it back.
    """

    @wraps(function)
    def started(*args: P.args, **options: P.kwargs) -> R:
        forget_archives()
        return function(*args, **options)

    return started


def forget_archives() -> None:
    """Drop the archives among the places that modules were imported from."""
    cache = sys.path_importer_cache
    for path in [path for path, importer in cache.items() if isinstance(importer, zipimporter)]:
        cache.pop(path, None)
