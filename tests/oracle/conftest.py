"""One JVM with Java Iceberg for the whole folder; every table lies in its Hadoop catalog `j`."""

import os
import sys
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path

import pytest
from pyspark import SparkContext
from pyspark.sql import SparkSession

from tests.java_names import remember_java_names
from tests.oracle.java_tables import Case, JavaTable, build_and_read

ROOT = Path(__file__).resolve().parents[2]
RUNTIME = "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0"
DATABASES = "org.xerial:sqlite-jdbc:3.54.1.0,org.postgresql:postgresql:42.7.8"
QUIET_LOG = ROOT / "conf" / "log4j2.properties"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep this folder in one xdist worker (`--dist loadgroup`), so that one JVM serves it."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.oracle)
            item.add_marker(pytest.mark.xdist_group("oracle"))


@pytest.fixture(scope="session")
def java(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The session in which `format("iceberg")` is Java and `format("pyiceberg-lite")` is ours."""
    running = SparkContext._active_spark_context
    if running is not None:
        pytest.fail("tests/oracle needs a process of its own: a session without Java Iceberg runs")
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ["PYTHONPATH"] = os.pathsep.join(
        [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    )
    log = f"-Dlog4j2.configurationFile=file:{QUIET_LOG}" if QUIET_LOG.exists() else ""
    warehouse = tmp_path_factory.mktemp("warehouse")
    catalog = "spark.sql.catalog.j"
    extensions = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
    settings = {
        "spark.jars.packages": f"{RUNTIME},{DATABASES}",
        "spark.sql.extensions": extensions,
        catalog: "org.apache.iceberg.spark.SparkCatalog",
        f"{catalog}.type": "hadoop",
        f"{catalog}.warehouse": str(warehouse),
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
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("spark-warehouse")),
    }
    builder = SparkSession.builder.master("local[2]").appName("oracle")
    for key, value in settings.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    remember_java_names(spark)
    yield spark
    spark.stop()


@pytest.fixture(scope="session")
def java_table(java: SparkSession) -> Callable[[Case], JavaTable]:
    """Return a function from a case to its table with Java's rows; each is built once."""
    return cache(partial(build_and_read, java))
