"""Settings that hold for every test: where Spark finds Python and its configuration."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.cases import CASES
from tests.memory_store import memory_is_let_go  # noqa: F401 - a fixture
from tests.servers.hive_metastore import HiveMetastore, hive_metastore
from tests.servers.moto import Moto, moto_server
from tests.servers.nessie import Nessie, nessie_server
from tests.servers.postgres import Postgres, postgres_server
from tests.servers.rest_server import RestServer, rest_server

ROOT = Path(__file__).resolve().parent.parent

# Spark reads these when its JVM starts; a worker with another Python dies on its first import.
os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
os.environ["SPARK_CONF_DIR"] = str(ROOT / "conf")
os.environ.pop("SPARK_HOME", None)

# No test is timed: a busy machine must not fail one.
settings.register_profile(
    "project", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("project")


UNTRACED = tuple(ROOT / "tests" / name for name in ("architecture", "faults", "fuzz", "properties"))
"""Folders whose tests run the same lines a thousand times: tracing takes two fifths of their CPU.

They prove behaviour; which lines run at all is counted where a test of its own runs them.
"""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--cases", choices=CASES, help="which cases of tests run: see tests/cases.py")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if asked := config.getoption("--cases"):
        kept = CASES[asked](items)
        config.hook.pytest_deselected(items=[item for item in items if item not in kept])
        items[:] = [item for item in items if item in kept]
    for item in items:
        if any(item.path.is_relative_to(folder) for folder in UNTRACED):
            item.add_marker(pytest.mark.no_cover)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Fail where xdist lost the groups of tests that share a server, as it does with pytest 9.2.

    Nothing else would tell: each worker would start a server of its own.
    """
    if getattr(session.config.option, "loadgroup", False):
        grouped = [item for item in session.items if item.get_closest_marker("xdist_group")]
        lost = [item.nodeid for item in grouped if "@" not in item.nodeid.rpartition("]")[2]]
        assert not lost, f"xdist runs tests of one group in any process: {lost[0]}"


@pytest.fixture(scope="session")
def rest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RestServer]:
    """One REST catalog for all tests of a process; they differ by their namespaces."""
    with rest_server(tmp_path_factory.mktemp("rest")) as server:
        yield server


@pytest.fixture(scope="session")
def nessie() -> Iterator[Nessie]:
    """One Nessie for all tests of a process; each test makes namespaces of its own."""
    with nessie_server() as server:
        yield server


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """One Postgres for all tests of a process; catalogs in it are told apart by their names."""
    with postgres_server() as server:
        yield server


@pytest.fixture(scope="session")
def hive() -> Iterator[HiveMetastore]:
    """One Hive metastore for all tests of a process; each test makes databases of its own."""
    with hive_metastore() as server:
        yield server


@pytest.fixture(scope="session")
def amazon() -> Iterator[Moto]:
    """One moto for all tests of a process; each test makes databases of its own."""
    with moto_server() as server:
        yield server
