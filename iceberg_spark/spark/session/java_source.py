"""Whether a session has the data source of Java Iceberg."""

from __future__ import annotations

from pyspark.sql import SparkSession

JAVA_FORMAT = "iceberg"
_MISSING = "DATA_SOURCE_NOT_FOUND"


def has_java_source(session: SparkSession) -> bool:
    """Return whether Spark finds a data source called `iceberg`, classic or over Connect.

    Spark resolves the format of a load first. Java's source refuses a schema before it opens a
    table.
    """
    try:
        _ = session.read.format(JAVA_FORMAT).schema("a int").load().schema
    except Exception as error:  # noqa: BLE001 - Java's errors have many classes
        return _MISSING not in str(error)
    return True
