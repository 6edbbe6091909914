"""Register the data source with a session that did not find it by itself."""

from __future__ import annotations

from pyspark.sql import SparkSession

from iceberg_spark.spark.datasource.source import PyIcebergLiteSource
from iceberg_spark.spark.session.active_session import checked_session
from iceberg_spark.spark.session.worker_python import check_worker_python


def register(spark: SparkSession) -> None:
    """Register `pyiceberg-lite` with a session, classic or Connect.

    Not needed where the package is installed: Spark finds it by the module
    `pyspark_pyiceberg_lite`. It helps where the package is shipped to a running session.

    Args:
        spark: The session, classic or Connect.

    Examples:
        >>> ice.register(spark)
    """
    checked_session(spark)
    check_worker_python(spark)
    spark.dataSource.register(PyIcebergLiteSource)
