"""The branch that a session works on where a table asks for it (write, audit, publish)."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import SparkSession

from iceberg_spark.spec.properties import WRITE_WAP_ENABLED, bool_property

WAP_BRANCH = "spark.wap.branch"


def wap_branch(spark: SparkSession, properties: Mapping[str, str]) -> str | None:
    """Return the session's branch for a table of these properties, None for main.

    Java: SparkReadConf.branch, SparkWriteConf.branch.
    """
    if not bool_property(properties, WRITE_WAP_ENABLED):
        return None
    return spark.conf.get(WAP_BRANCH, None)
