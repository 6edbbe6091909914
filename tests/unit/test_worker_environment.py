"""Importing the package chooses the Python of Spark's workers if nothing else does."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = str(Path(sys.executable).parent)
CHOSEN = "import os, iceberg_spark; print(os.environ.get('PYSPARK_PYTHON'))"


def chosen_python(path: str, **variables: str) -> str:
    """Return PYSPARK_PYTHON after the import, in a process with these variables."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYSPARK_")}
    done = subprocess.run(
        [sys.executable, "-c", CHOSEN],
        env={**kept, "PATH": path, **variables},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def test_workers_get_the_python_of_an_environment_that_is_not_activated() -> None:
    assert chosen_python("/no/such/folder") == sys.executable


@pytest.mark.parametrize(
    ("path", "variables", "expected"),
    [
        (HERE, {}, "None"),
        ("/no/such/folder", {"PYSPARK_PYTHON": "/opt/python"}, "/opt/python"),
        ("/no/such/folder", {"PYSPARK_GATEWAY_PORT": "1"}, "None"),
    ],
    ids=["activated", "set", "spark-submit"],
)
def test_a_python_that_is_chosen_already_stays(
    path: str, variables: dict[str, str], expected: str
) -> None:
    assert chosen_python(path, **variables) == expected
