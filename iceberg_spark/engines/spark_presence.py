"""Whether Spark is present: the active session, and whether a value is one of PySpark's.

Imports no PySpark: unless the process has imported it, there is no session and no DataFrame.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TypeGuard

from iceberg_spark.engines import on_spark
from iceberg_spark.expr.build import Predicate, as_unbound
from iceberg_spark.expr.dialect import SPARK, Dialect
from iceberg_spark.expr.nodes import Unbound

_PYSPARK = "pyspark.sql"


def is_imported() -> bool:
    """Return whether the process has imported PySpark."""
    return _PYSPARK in sys.modules


def is_installed() -> bool:
    """Return whether PySpark can be imported."""
    try:
        return is_imported() or find_spec("pyspark") is not None
    except ModuleNotFoundError:
        return False


def is_frame(rows: object) -> TypeGuard[on_spark.DataFrame]:
    """Return whether rows are a Spark DataFrame, classic or Connect."""
    return is_imported() and isinstance(rows, on_spark.DataFrame)


def is_struct(value: object) -> TypeGuard[on_spark.StructType]:
    """Return whether a value is a schema of PySpark."""
    return is_imported() and isinstance(value, on_spark.StructType)


def is_type(value: object) -> TypeGuard[on_spark.DataType]:
    """Return whether a value is a type of PySpark."""
    return is_imported() and isinstance(value, on_spark.DataType)


def active_session() -> on_spark.SparkSession | None:
    """Return this thread's session, else the process's; None without one."""
    return on_spark.active_session() if is_imported() else None


@contextmanager
def session_of(rows: object) -> Iterator[None]:
    """Make a DataFrame's session the active one while the block runs; nothing for other rows."""
    if not is_frame(rows):
        yield
        return
    with on_spark.in_session(rows.sparkSession):
        yield


def session_time_zone(spark: on_spark.SparkSession | None = None) -> str | None:
    """Return the time zone of a session, or of the active one; None without one."""
    return on_spark.session_time_zone(spark) if is_imported() else None


def is_case_sensitive(spark: on_spark.SparkSession | None) -> bool:
    """Return whether names are case sensitive in a session's SQL; True without a session."""
    return spark is None or on_spark.is_case_sensitive(spark)


def session_settings(catalog: str) -> dict[str, str]:
    """Return a catalog's properties in the active session's settings; empty without a session."""
    session = active_session()
    return {} if session is None else on_spark.session_catalog(session, catalog)


def session_dialect(spark: on_spark.SparkSession | None = None) -> Dialect:
    """Return the SQL dialect of a session or the active one; Spark's default without one."""
    session = active_session() if spark is None else spark
    return SPARK if session is None else on_spark.session_dialect(session)


def read_by_session(
    predicate: str | Predicate | Unbound, spark: on_spark.SparkSession | None = None
) -> Unbound:
    """Return the tree of a predicate; a text is parsed in the session's SQL dialect.

    Raises what `as_unbound` raises.
    """
    if isinstance(predicate, str):
        return as_unbound(predicate, session_dialect(spark))
    return as_unbound(predicate)
