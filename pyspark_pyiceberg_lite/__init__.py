"""What Spark discovers: it imports every module named pyspark_* and takes its DefaultSource."""

from pyspark_pyiceberg_lite.unavailable import check_dependencies, source_without

try:
    check_dependencies()
    from iceberg_spark.spark.datasource.source import PyIcebergLiteSource as DefaultSource
except ModuleNotFoundError as missing:
    # Spark looks up all sources at once, so an error here would take the others down with it.
    DefaultSource = source_without(missing)  # type: ignore[misc,assignment]

__all__ = ["DefaultSource"]
