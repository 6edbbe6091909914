"""One JVM for all Spark tests: a classic session, and a Connect client of the server in it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.connect.session import SparkSession as ConnectSession

import iceberg_spark as ice
from tests.java_names import remember_java_names
from tests.servers.processes import free_port
from tests.spark.keyed_tables import enabled, keyed_warehouse  # noqa: F401 - fixtures
from tests.spark.session_lake import lake  # noqa: F401 - a fixture


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A classic session; the rest of its settings is conf/spark-defaults.conf."""
    session = (
        SparkSession.builder.appName("tests")
        .config("spark.plugins", "org.apache.spark.sql.connect.SparkConnectPlugin")
        .config("spark.connect.grpc.binding.port", str(free_port()))
        .config("spark.sql.codegen.cache.maxEntries", "2000")  # tests fill 100 in a minute
        .getOrCreate()
    )
    remember_java_names(session)
    yield session
    session.stop()


@pytest.fixture(autouse=True)
def its_session_is_active(request: pytest.FixtureRequest) -> Iterator[None]:
    """Tests come in any order: `createDataFrame` makes a session active, and rows may be kept."""
    if not {"spark", "any_spark"} & set(request.fixturenames):
        yield
        return
    session = request.getfixturevalue("spark")
    SparkSession._activeSession = session
    kind = SparkSession._get_j_spark_session_class(session._jvm)
    kind.setActiveSession(session._jsparkSession)
    yield
    if "spark" not in request.fixturenames:
        return
    kept = session._jsparkSession.sharedState().cacheManager()
    let_go = kept.isEmpty()
    kept.clearCache()
    assert let_go, "rows that a test or a verb of ours keeps are let go at its end"


@pytest.fixture(scope="session")
def connect_session(spark: SparkSession) -> Iterator[ConnectSession]:
    port = spark.sparkContext.getConf().get("spark.connect.grpc.binding.port")
    session = ConnectSession.builder.remote(f"sc://localhost:{port}").getOrCreate()
    yield session
    session.stop()


@pytest.fixture
def connect_spark(
    connect_session: ConnectSession, monkeypatch: pytest.MonkeyPatch
) -> ConnectSession:
    """A Connect session; while it is used, PySpark's functions build Connect columns."""
    monkeypatch.setenv("SPARK_CONNECT_MODE_ENABLED", "1")
    return connect_session


@pytest.fixture(params=["classic", "connect"])
def any_spark(request: pytest.FixtureRequest) -> SparkSession | ConnectSession:
    """The test runs with a classic session and over Connect."""
    name = "spark" if request.param == "classic" else "connect_spark"
    return request.getfixturevalue(name)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything in this folder starts Spark."""
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.spark)


@pytest.fixture
def sql_home(tmp_path: Path) -> Iterator[Path]:
    """A catalog `st` in a database and `fs` in folders; `st` has a namespace `d`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYICEBERG_CATALOG__ST__URI", f"sqlite:///{tmp_path}/st.db")
        patch.setenv("PYICEBERG_CATALOG__ST__WAREHOUSE", str(tmp_path / "st"))
        patch.setenv("PYICEBERG_CATALOG__FS__TYPE", "filesystem")
        patch.setenv("PYICEBERG_CATALOG__FS__WAREHOUSE", str(tmp_path / "fs"))
        ice.load_catalog("st").create_namespace("d")
        yield tmp_path
