"""One Spark session that has both this library and the Java runtime."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

JAVA_RUNTIME = "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0"
SQLITE_DRIVER = "org.xerial:sqlite-jdbc:3.54.1.0"
EXTENSIONS = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
_MEMORY = "4g"


def session(warehouse: Path, memory: str = _MEMORY) -> SparkSession:
    """Start Spark on two cores with a Java catalog named `java` in a folder."""
    builder = (
        _builder(memory)
        .config("spark.jars.packages", f"{JAVA_RUNTIME},{SQLITE_DRIVER}")
        .config("spark.sql.extensions", EXTENSIONS)
        .config("spark.sql.catalog.java", "org.apache.iceberg.spark.SparkCatalog")
        .config("spark.sql.catalog.java.type", "hadoop")
        .config("spark.sql.catalog.java.warehouse", str(warehouse))
    )
    return builder.getOrCreate()


def session_without_java(memory: str = _MEMORY) -> SparkSession:
    """Start the same Spark with nothing of Java Iceberg's."""
    return _builder(memory).getOrCreate()


def _builder(memory: str) -> SparkSession.Builder:
    builder: SparkSession.Builder = SparkSession.builder
    return (
        builder.master("local[2]")
        .appName("benchmarks")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.driver.memory", memory)
        .config("spark.ui.enabled", "false")
    )
