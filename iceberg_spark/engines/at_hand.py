"""What of Spark is at hand: the active session, and whether a value is one of Spark's.

Nothing here imports PySpark: while nobody did, there is no session and no frame.
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

TIME_ZONE_SETTING = "spark.sql.session.timeZone"
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
    """Return whether these are rows as a Spark frame, classic or Connect."""
    return is_imported() and isinstance(rows, on_spark.DataFrame)


def is_struct(value: object) -> TypeGuard[on_spark.StructType]:
    """Return whether this is a schema of PySpark's."""
    return is_imported() and isinstance(value, on_spark.StructType)


def is_type(value: object) -> TypeGuard[on_spark.DataType]:
    """Return whether this is a type of PySpark's."""
    return is_imported() and isinstance(value, on_spark.DataType)


def active_session() -> on_spark.SparkSession | None:
    """Return this thread's session, else the process's; None without one."""
    return on_spark.active_session() if is_imported() else None


@contextmanager
def session_of(rows: object) -> Iterator[None]:
    """Have the session of rows be the active one while the block runs, where they are a frame."""
    if not is_frame(rows):
        yield
        return
    with on_spark.in_session(rows.sparkSession):
        yield


def session_time_zone(spark: on_spark.SparkSession | None = None) -> str | None:
    """Return the time zone of a session, or of the active one; None without one."""
    session = active_session() if spark is None else spark
    return None if session is None else session.conf.get(TIME_ZONE_SETTING)


def is_case_sensitive(spark: on_spark.SparkSession | None) -> bool:
    """Return whether a session tells names apart by case; without one they are."""
    return spark is None or on_spark.is_case_sensitive(spark)


def session_settings(catalog: str) -> dict[str, str]:
    """Return the properties that the active session's settings give a catalog; none without one."""
    session = active_session()
    return {} if session is None else on_spark.session_catalog(session, catalog)


def session_dialect(spark: on_spark.SparkSession | None = None) -> Dialect:
    """Return how a session, or the active one, reads SQL; Spark's own way without one."""
    session = active_session() if spark is None else spark
    return SPARK if session is None else on_spark.session_dialect(session)


def read_by_session(
    predicate: str | Predicate | Unbound, spark: on_spark.SparkSession | None = None
) -> Unbound:
    """Return the tree of a predicate; a text is read as the session reads SQL.

    Raises what `as_unbound` raises.
    """
    if isinstance(predicate, str):
        return as_unbound(predicate, session_dialect(spark))
    return as_unbound(predicate)
