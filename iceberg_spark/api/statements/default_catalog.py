"""Choose the catalog in `spark.sql.defaultCatalog` of an enabled session, if it is Iceberg's.

Spark would load the class of that catalog for each name without a catalog, and nobody has the class
without Java's JAR. So Spark's own catalog becomes its default, and USE chooses the Iceberg catalog.
"""

from __future__ import annotations

import threading

from pyspark.sql import SparkSession

from iceberg_spark.api.statements.target import default_namespace
from iceberg_spark.spark.session.classic_session import is_stopped, session_key
from iceberg_spark.spark.session.session_catalogs import is_ours
from iceberg_spark.spark.sql.current_namespace import use_namespace

_DEFAULT, _SPARKS = "spark.sql.defaultCatalog", "spark_catalog"
_lock = threading.Lock()
_taken: dict[str, str] = {}
"""The default that a session had, by the session's id: a few characters each."""


def take_default(spark: SparkSession) -> None:
    """Choose the session's default catalog for names without one, if it is an Iceberg catalog."""
    name = spark.conf.get(_DEFAULT, _SPARKS) or _SPARKS
    if name == _SPARKS or not is_ours(spark, name):
        return
    namespace = default_namespace(spark, name)
    spark.conf.set(_DEFAULT, _SPARKS)
    with _lock:
        _taken[session_key(spark) or ""] = name
    use_namespace(spark, (name, *namespace))


def give_default_back(spark: SparkSession) -> None:
    """Let the session have the default that it had, unless somebody gave it another since."""
    with _lock:
        name = _taken.pop(session_key(spark) or "", None)
    if name is not None and not is_stopped(spark) and spark.conf.get(_DEFAULT) == _SPARKS:
        spark.conf.set(_DEFAULT, name)
