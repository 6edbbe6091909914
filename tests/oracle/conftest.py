"""One JVM with Java Iceberg for the whole folder; every table lies in its Hadoop catalog `j`."""

from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path

import pytest
from pyspark import SparkContext
from pyspark.sql import SparkSession

from tests.oracle.by_turns import ByTurns, new_connect_session
from tests.oracle.java_tables import Case, JavaTable, build_and_read
from tests.oracle.session import java_session
from tests.servers.processes import free_port


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
    connect = {
        "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
        "spark.connect.grpc.binding.port": str(free_port()),
    }
    with java_session(tmp_path_factory.mktemp("java"), more=connect) as spark:
        yield spark


@pytest.fixture(scope="session")
def by_turns(java: SparkSession) -> Iterator[ByTurns]:
    """The session, and one over Connect of the same JVM."""
    remote = new_connect_session(java)
    yield ByTurns(java, remote)
    remote.stop()


@pytest.fixture(scope="session")
def java_table(java: SparkSession) -> Callable[[Case], JavaTable]:
    """Return a function from a case to its table with Java's rows; each is built once."""
    return cache(partial(build_and_read, java))
