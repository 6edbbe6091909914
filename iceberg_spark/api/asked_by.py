"""Who calls a method of PySpark that `enable` replaced."""

from __future__ import annotations

import sys

_BETWEEN = ("pyspark", "py4j", "iceberg_spark.api.enable", "iceberg_spark.api.spark_errors")
_OURS = "iceberg_spark"


def asked_by_us() -> bool:
    """Return whether this library calls, for one of its own steps.

    What a verb does with frames it has planned already; to ask Spark's optimizer at each step
    would take longer than the step. What lies between is looked through: `where` calls `filter`.
    """
    caller = sys._getframe(2)
    while caller.f_back is not None and _is_in(caller.f_globals.get("__name__"), _BETWEEN):
        caller = caller.f_back
    return _is_in(caller.f_globals.get("__name__"), (_OURS,))


def _is_in(module: object, packages: tuple[str, ...]) -> bool:
    name = str(module)
    return any(name == package or name.startswith(f"{package}.") for package in packages)
