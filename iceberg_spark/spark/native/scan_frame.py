"""A planned scan as a Spark frame."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession

from iceberg_spark.errors import InvalidInputError
from iceberg_spark.spark.adapt.options import FORMAT_NAME
from iceberg_spark.spark.adapt.worker_python import check_worker_python

TIME_ZONE_SETTING = "spark.sql.session.timeZone"


def scan_frame(
    path: str, options: Mapping[str, str], spark: SparkSession | None = None
) -> DataFrame:
    """Return the frame that the data source reads with these options.

    Raises InvalidInputError when there is no session.
    """
    session = spark if spark is not None else active_session()
    if session is None:
        raise InvalidInputError("There is no active SparkSession: pass one, to_df(spark)")
    check_worker_python(session)
    reader = session.read.format(FORMAT_NAME).options(**options)
    return reader.load(path)


def active_session() -> SparkSession | None:
    """Return this thread's session, classic or Connect, None where there is none."""
    return SparkSession.getActiveSession()


def session_time_zone(spark: SparkSession | None = None) -> str | None:
    """Return the session's time zone, None where there is no session."""
    session = spark if spark is not None else active_session()
    return None if session is None else session.conf.get(TIME_ZONE_SETTING)
