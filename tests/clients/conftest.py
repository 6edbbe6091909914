"""An enabled session with the catalog `lake`, which clients of Spark use.

`CLIENTS_ON=java` runs the same tests on Java Iceberg: what passes there has to pass here.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import iceberg_spark as ice
from tests.oracle.session import java_session

ON_JAVA = os.environ.get("CLIENTS_ON") == "java"


def catalog_settings(folder: Path) -> Mapping[str, str]:
    """The settings of the catalog `lake`: SQLite and a warehouse below a folder."""
    if ON_JAVA:
        settings = {
            "": "org.apache.iceberg.spark.SparkCatalog",
            ".type": "jdbc",
            ".uri": f"jdbc:sqlite:{folder}/lake.db",
            ".jdbc.schema-version": "V1",
        }
    else:
        settings = {".type": "sql", ".uri": f"sqlite:///{folder}/lake.db"}
    settings[".warehouse"] = f"{folder}/lake"
    return {f"spark.sql.catalog.lake{key}": value for key, value in settings.items()}


@contextmanager
def lake_session(folder: Path, more: Mapping[str, str]) -> Iterator[SparkSession]:
    """A session of its own with the catalog `lake` and further settings."""
    settings = {**catalog_settings(folder), **more}
    if ON_JAVA:
        with java_session(folder, more=settings) as spark:
            yield spark
        return
    builder = SparkSession.builder
    for key, value in settings.items():
        builder = builder.config(key, value)
    spark = builder.config("spark.sql.warehouse.dir", f"{folder}/spark").getOrCreate()
    ice.enable(spark)
    yield spark
    ice.disable(spark)
    spark.stop()


@pytest.fixture(scope="session")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The session for all tests of a process; each test makes namespaces of its own."""
    with lake_session(tmp_path_factory.mktemp("lake"), {}) as spark:
        yield spark
