"""`%load_ext iceberg_spark`: SQL in the cells of a notebook."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from IPython.core.completer import provisionalcompleter
from IPython.core.interactiveshell import InteractiveShell

import iceberg_spark as ice
from iceberg_spark.errors import InvalidInputError
from iceberg_spark.spark.sql.statements.cursor import split_statements
from iceberg_spark.statements.magic import ShownRows
from iceberg_spark.statements.magic_completion import names_for


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
from IPython.core.completer import provisionalcompleter
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
assert shell.extension_manager.load_extension("iceberg_spark") is None
assert shell.find_cell_magic("iceberg") and shell.find_line_magic("iceberg")
assert len(shell.Completer.custom_matchers) == 1
assert shell.extension_manager.unload_extension("iceberg_spark") is None
assert shell.find_cell_magic("iceberg") is None
assert shell.Completer.custom_matchers == []
"""
    subprocess.run([sys.executable, "-c", text], check=True, timeout=120)


@pytest.fixture
def orders(spark: Any, tmp_path: Path) -> Iterator[str]:
    """A session's catalog with the table `sales.orders` (id, `unit price`)."""
    name = f"tab{uuid4().hex[:8]}"
    spark.conf.set(f"spark.sql.catalog.{name}.type", "filesystem")
    spark.conf.set(f"spark.sql.catalog.{name}.warehouse", str(tmp_path))
    ice.sql(spark, f"CREATE NAMESPACE {name}.sales")
    ice.sql(spark, f"CREATE TABLE {name}.sales.orders (id bigint, `unit price` double)")
    yield name
    for key in ("type", "warehouse"):
        spark.conf.unset(f"spark.sql.catalog.{name}.{key}")


def test_names_of_namespaces_tables_and_columns_are_completed(spark: Any, orders: str) -> None:
    table = f"{orders}.sales.orders"
    assert names_for(spark, "", f"{orders}.sa") == [f"{orders}.sales"]
    assert names_for(spark, "", f"{orders}.sales.") == [table]
    assert names_for(spark, f"SELECT i FROM {table}", "i") == ["id"]
    assert names_for(spark, f"SELECT u FROM {table}", "U") == ["`unit price`"]
    assert names_for(spark, f"SELECT o. FROM {table} AS o", "o.") == ["o.`unit price`", "o.id"]
    assert names_for(spark, "SELECT i FROM nowhere.at.all", "nowhere.") == []
    assert orders in names_for(spark, "", orders[:5])


def test_tab_completes_in_a_cell_of_statements_only(spark: Any, orders: str) -> None:
    shell = InteractiveShell()
    ice.load_ipython_extension(shell)

    def completed(text: str) -> list[str]:
        with provisionalcompleter():
            return [found.text for found in shell.Completer.completions(text, len(text))]

    table = f"{orders}.sales.orders"
    assert table in completed(f"%%iceberg\nSELECT * FROM {orders}.sales.o")
    assert completed(f"%iceberg SELECT * FROM {orders}.sales.o") == [table]
    assert table not in completed(f"x = 1\ny = {orders}.sales.o")
    ice.unload_ipython_extension(shell)
    assert table not in completed(f"%%iceberg\nSELECT * FROM {orders}.sales.o")
