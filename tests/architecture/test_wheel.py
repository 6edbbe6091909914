"""What a user installs: the wheel alone makes Spark know the format."""

import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

from tests.architecture.source import ROOT

pytestmark = [pytest.mark.spark, pytest.mark.own_process, pytest.mark.slow]

READ_A_TABLE = """
import sys
import iceberg_spark as ice
import pyarrow as pa
from pyspark.sql import SparkSession

location, environment = sys.argv[1:]
assert ice.__file__.startswith(environment), ice.__file__
rows = pa.table({"id": pa.array([1, 2, 3], pa.int64())})
ice.create_table(location, rows.schema).append(rows)
spark = SparkSession.builder.getOrCreate()
read = spark.read.format("pyiceberg-lite").load(location)
print("rows:", sorted(row.id for row in read.collect()))
"""


def run(*command: str | Path, cwd: Path, env: dict[str, str] | None = None) -> str:
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_spark_finds_the_format_of_an_installed_wheel(tmp_path):
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input")
    no_fetch = ("--no-deps", "--no-index", "--no-cache-dir")
    run(*pip, "wheel", *no_fetch, "--no-build-isolation", "-w", tmp_path, ROOT, cwd=tmp_path)
    (wheel,) = tmp_path.glob("iceberg_spark-*.whl")
    environment = tmp_path / "environment"
    venv.create(environment, symlinks=True)
    python = environment / "bin" / "python"
    run(*pip, "--python", python, "install", *no_fetch, wheel, cwd=tmp_path)

    # The libraries are lent by this environment. A path in a .pth file is added as it is, the
    # .pth files inside it are not run, so that this environment's editable install is not seen.
    packages = next((environment / "lib").glob("python3*")) / "site-packages"
    (packages / "lent.pth").write_text(sysconfig.get_path("purelib"))
    script = tmp_path / "read.py"
    script.write_text(READ_A_TABLE)
    env = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    env |= {"PYSPARK_PYTHON": str(python), "PYSPARK_DRIVER_PYTHON": str(python)}
    out = run(python, script, tmp_path / "table", environment, cwd=tmp_path, env=env)
    assert "rows: [1, 2, 3]" in out

    command = environment / "bin" / "iceberg-spark"
    assert run(command, "count", tmp_path / "table", cwd=tmp_path, env=env) == "3\n"
