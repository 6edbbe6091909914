"""What a command loads: PySpark for `sql` alone, and nothing slow for help and completion."""

import os
import subprocess
import sys

import pytest

from tests.architecture.source import ROOT

COMMANDS = {
    "count": ("count", "{table}"),
    "scan": ("scan", "{table}", "--filter", "id > 1"),
    "files": ("files", "{table}"),
    "describe": ("describe", "{table}"),
    "maintenance plan": ("maintenance", "plan", "{table}"),
    "check": ("check", "{table}"),
    "properties get": ("properties", "get", "{table}"),
}


def loaded_by(*arguments: str, **environment: str) -> set[str]:
    """The modules that a process has loaded when a command ends."""
    code = (
        "import sys; from iceberg_spark.__main__ import main; status = main(); "
        "print('MODULES', *sys.modules, file=sys.stderr); sys.exit(status)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )
    assert done.returncode == 0, done.stderr
    return set(done.stderr.rpartition("MODULES ")[2].split())


@pytest.mark.parametrize("command", COMMANDS)
def test_command_on_a_table_loads_no_pyspark(command, events):
    arguments = [part.format(table=events.location()) for part in COMMANDS[command]]
    loaded = loaded_by(*arguments)
    assert "iceberg_spark.api.table" in loaded
    assert not loaded & {"pyspark", "py4j", "matplotlib"}


@pytest.mark.parametrize("command", ["--help", "version"])
def test_help_and_version_load_no_arrow(command):
    code = ("--help",) if command == "--help" else (command,)
    loaded = loaded_by(*code)
    assert "iceberg_spark.cli.run" in loaded
    assert not loaded & {"pyarrow", "numpy", "pyspark", "sqlglot", "polars"}


def test_shell_completion_lists_commands():
    done = subprocess.run(
        [sys.executable, "-m", "iceberg_spark"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "_ICEBERG_SPARK_COMPLETE": "complete_bash", "COMP_WORDS": "x sna",
             "COMP_CWORD": "1"},
    )  # fmt: skip
    assert done.stdout.split() == ["snapshots"]


def run_without(package: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a process where a package is not installed."""
    code = (
        "import sys; from importlib.machinery import PathFinder\n"
        "class Without(PathFinder):\n"
        "    @classmethod\n"
        "    def find_spec(cls, name, path=None, target=None):\n"
        f"        missing = name.partition('.')[0] == {package!r}\n"
        "        return None if missing else super().find_spec(name, path, target)\n"
        "sys.meta_path[sys.meta_path.index(PathFinder)] = Without\n"
        "from iceberg_spark.__main__ import main; sys.exit(main())"
    )
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_without_typer_doctor_runs_and_other_commands_name_the_extra():
    assert "iceberg_spark" in run_without("typer", "doctor").stdout
    refused = run_without("typer", "version")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "pip install 'iceberg-spark[cli]'" in refused.stderr


def test_sql_without_pyspark_names_the_extra():
    refused = run_without("pyspark", "sql", "SELECT 1")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "iceberg-spark[spark]" in refused.stderr and refused.stderr.count("\n") == 1
