"""Where Spark finds the data source `pyiceberg-lite`: it imports every installed `pyspark_*`."""

from iceberg_spark.spark.datasource.source import PyIcebergLiteSource as DefaultSource

__all__ = ["DefaultSource"]
