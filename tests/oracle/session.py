"""The session in which `format("iceberg")` is Java and `format("pyiceberg-lite")` is ours."""

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

from pyspark.sql import SparkSession

from tests.java_names import remember_java_names

ROOT = Path(__file__).resolve().parents[2]
RUNTIME = "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0"
DATABASES = "org.xerial:sqlite-jdbc:3.54.1.0,org.postgresql:postgresql:42.7.8"
QUIET_LOG = ROOT / "conf" / "log4j2.properties"


@contextmanager
def java_session(
    folder: Path, packages: str = "", more: Mapping[str, str] = MappingProxyType({})
) -> Iterator[SparkSession]:
    """A session with Java Iceberg, its Hadoop catalog `j` below a folder, and further packages."""
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ["PYTHONPATH"] = os.pathsep.join(
        [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    )
    log = f"-Dlog4j2.configurationFile=file:{QUIET_LOG}" if QUIET_LOG.exists() else ""
    catalog = "spark.sql.catalog.j"
    extensions = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
    settings = {
        "spark.jars.packages": ",".join(filter(None, [RUNTIME, DATABASES, packages])),
        "spark.sql.extensions": extensions,
        catalog: "org.apache.iceberg.spark.SparkCatalog",
        f"{catalog}.type": "hadoop",
        f"{catalog}.warehouse": str(folder / "warehouse"),
        f"{catalog}.cache-enabled": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.driver.memory": "2g",
        "spark.driver.extraJavaOptions": f"-Duser.timezone=UTC {log}".strip(),
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.warehouse.dir": str(folder / "spark-warehouse"),
        "spark.sql.codegen.cache.maxEntries": "2000",  # tests fill 100 in a minute
        **more,
    }
    builder = SparkSession.builder.master("local[2]").appName("oracle")
    for key, value in settings.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    remember_java_names(spark)
    try:
        yield spark
    finally:
        spark.stop()
