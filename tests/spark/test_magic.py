"""`%load_ext iceberg_spark`: SQL in the cells of a notebook."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import iceberg_spark as ice
from iceberg_spark.api.magic import ShownRows
from iceberg_spark.errors import InvalidInputError
from iceberg_spark.spark.sql.statements.cursor import split_statements


class Shell:
    """What of IPython's shell a magic needs."""

    def __init__(self) -> None:
        self.user_ns: dict[str, Any] = {}
        self.magics: dict[str, dict[str, Any]] = {"line": {}, "cell": {}}
        self.magics_manager = self

    def register_magic_function(self, function: Any, magic_kind: str, magic_name: str) -> None:
        for kind in magic_kind.split("_"):
            self.magics[kind][magic_name] = function


def test_a_cell_is_a_statement(spark: Any, tmp_path: Path) -> None:
    shell = Shell()
    ice.load_ipython_extension(shell)
    cell, place = shell.magics["cell"]["iceberg"], f"`{tmp_path}/t`"
    assert cell("", f"CREATE TABLE {place} (id bigint, s string)") is None
    cell("", f"INSERT INTO {place} SELECT id, if(id = 1, '<b>', NULL) FROM range(1, 31)")
    shown = cell("", f"SELECT * FROM {place} ORDER BY id")
    assert isinstance(shown, ShownRows) and len(shown.rows) == 20 and shown.more
    assert shown.rows[:2] == (("1", "<b>"), ("2", "NULL"))
    assert "&lt;b&gt;" in shown._repr_html_() and "first 20 rows" in repr(shown)
    assert cell(" found ", f"SELECT max(id) AS m FROM {place}") is None
    assert shell.user_ns["found"].collect()[0].m == 30
    assert shell.magics["line"]["iceberg"]("SELECT 1 AS one").rows == (("1",),)
    with pytest.raises(InvalidInputError, match="variable"):
        cell("not a name", "SELECT 1")
    ice.unload_ipython_extension(shell)
    assert shell.magics == {"line": {}, "cell": {}}


def test_a_cell_may_have_several_statements(spark: Any, tmp_path: Path) -> None:
    shell = Shell()
    ice.load_ipython_extension(shell)
    table = f"`{tmp_path}/t`"
    shown = shell.magics["cell"]["iceberg"](
        "",
        f"""CREATE TABLE {table} (s string);
        INSERT INTO {table} VALUES ('a;b'); -- a comment; with a semicolon
        SELECT * FROM {table};""",
    )
    assert shown.rows == (("a;b",),)


def test_a_semicolon_within_a_script_ends_no_statement() -> None:
    script = "BEGIN SELECT 1; SELECT 2; END"
    assert split_statements(script) == [script]
    assert split_statements(f"label: {script}") == [f"label: {script}"]
    assert split_statements("SELECT begin FROM t; SELECT 2") == ["SELECT begin FROM t", " SELECT 2"]


def test_ipython_finds_the_extension_and_nothing_else_loads_ipython() -> None:
    text = """
import sys
import iceberg_spark
assert "IPython" not in sys.modules and "pyspark" not in sys.modules
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
assert shell.extension_manager.load_extension("iceberg_spark") is None
assert shell.find_cell_magic("iceberg") and shell.find_line_magic("iceberg")
assert shell.extension_manager.unload_extension("iceberg_spark") is None
assert shell.find_cell_magic("iceberg") is None
"""
    subprocess.run([sys.executable, "-c", text], check=True, timeout=120)
