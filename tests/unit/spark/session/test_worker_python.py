"""Workers need the driver's Python: found out early, said in one line."""

import subprocess
import sys
import sysconfig
from pathlib import Path
from types import SimpleNamespace

import pytest

from iceberg_spark.errors import InvalidInputError
from iceberg_spark.spark.session import worker_python
from iceberg_spark.spark.session.worker_python import check_worker_python
from tests.spark.processes import ROOT

WITHOUT_FSSPEC = """
import sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name == "fsspec":
            raise ModuleNotFoundError("No module named 'fsspec'", name=name)

sys.meta_path.insert(0, Blocker())
import pyspark_pyiceberg_lite

print(pyspark_pyiceberg_lite.DefaultSource.name())
try:
    pyspark_pyiceberg_lite.DefaultSource({})
except ImportError as error:
    print(error)
"""


def session(master: str, python: str) -> object:
    return SimpleNamespace(
        _sc=SimpleNamespace(master=master, pythonExec=python, _python_includes=[])
    )


def test_the_drivers_own_python_is_fine() -> None:
    check_worker_python(session("local[2]", sys.executable))


def test_another_python_that_has_the_package_is_fine() -> None:
    check_worker_python(session("local[2]", f"{sys.prefix}/bin/python3"))


@pytest.mark.parametrize("python", ["/no/such/python", "/bin/false"])
def test_a_python_without_the_package_is_named_with_the_fix(python: str) -> None:
    with pytest.raises(InvalidInputError, match=rf"'{python}'.*PYSPARK_PYTHON={sys.executable}"):
        check_worker_python(session("local[2]", python))


def test_a_clusters_python_is_its_own_to_know() -> None:
    check_worker_python(session("yarn", "/no/such/python"))


def test_a_connect_session_is_not_checked() -> None:
    check_worker_python(SimpleNamespace())


def test_a_worker_that_lacks_a_module_leaves_other_sources_alone_and_says_so() -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_FSSPEC], capture_output=True, text=True, check=True
    )
    name, message = done.stdout.splitlines()
    assert name == "pyiceberg-lite"
    assert "'fsspec'" in message
    assert "PYSPARK_PYTHON" in message


def test_a_cluster_on_this_machine_has_a_python_of_its_own() -> None:
    check_worker_python(session("local-cluster[2,1,1024]", "/no/such/python"))


def test_a_package_that_is_sent_to_the_workers_is_theirs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')  # -S: nothing that is installed
    bare.chmod(0o755)
    own = session("local[2]", str(bare))
    monkeypatch.setattr(worker_python, "shipped_packages", lambda _: ())
    with pytest.raises(InvalidInputError, match="No module named"):
        check_worker_python(own)
    installed = (str(ROOT), sysconfig.get_paths()["purelib"])
    monkeypatch.setattr(worker_python, "shipped_packages", lambda _: installed)
    check_worker_python(own)
