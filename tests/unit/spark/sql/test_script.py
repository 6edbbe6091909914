"""Scripts are read as their statements, variables, conditions and loops."""

import pytest

from iceberg_spark.errors import InvalidInputError
from iceberg_spark.expr.dialect import SPARK
from iceberg_spark.spark.sql.statements.script import (
    Block,
    Choice,
    Declaration,
    Repetition,
    ScriptStatement,
    Step,
    declared_names,
    read_script,
)


def body(text: str) -> tuple[Step, ...]:
    script = read_script(f"BEGIN {text} END", SPARK)
    assert script is not None
    return script.body


def test_statements_end_at_semicolons_outside_of_texts_and_brackets() -> None:
    assert body("SELECT ';'; SELECT (1); -- ;\n SELECT CASE WHEN a THEN 1 END FROM t;") == (
        ScriptStatement("SELECT ';'"),
        ScriptStatement("SELECT (1)"),
        ScriptStatement("SELECT CASE WHEN a THEN 1 END FROM t"),
    )


def test_variables_become_those_of_the_session() -> None:
    steps = body(
        "DECLARE n, m INT DEFAULT 5; SET n = n + 1; SET VAR m = 2; BEGIN DECLARE k INT; END;"
    )
    assert steps == (
        Declaration(("n", "m"), "DECLARE VARIABLE n, m INT DEFAULT 5"),
        ScriptStatement("SET VARIABLE n = n + 1"),
        ScriptStatement("SET VARIABLE m = 2"),
        Block((Declaration(("k",), "DECLARE VARIABLE k INT"),)),
    )
    assert declared_names(steps) == ["n", "m", "k"]


def test_conditions_and_loops_have_bodies() -> None:
    delete, select = ScriptStatement("DELETE FROM t"), ScriptStatement("SELECT 1")
    assert body(
        "IF CASE WHEN a THEN b END THEN DELETE FROM t; ELSEIF c THEN SELECT 1; SELECT 1; "
        "ELSE DELETE FROM t; END IF; WHILE a < 1 DO SELECT 1; END WHILE;"
    ) == (
        Choice((("CASE WHEN a THEN b END", (delete,)), ("c", (select, select))), (delete,)),
        Repetition("a < 1", (select,)),
    )


@pytest.mark.parametrize("text", ["SELECT 1", "SELECT 'BEGIN'", "CREATE TABLE t (begin int)", "'"])
def test_other_texts_are_no_scripts(text: str) -> None:
    assert read_script(text, SPARK) is None


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("BEGIN DELETE FROM t; FOR r AS SELECT 1 DO DELETE FROM t; END FOR; END", "column 22: FOR"),
        ("BEGIN CASE WHEN a THEN DELETE FROM t; END CASE; END", "column 7: CASE"),
        ("BEGIN DECLARE EXIT HANDLER FOR SQLEXCEPTION SELECT 1; END", "column 7: DECLARE EXIT"),
        ("BEGIN DECLARE c CURSOR FOR SELECT 1; END", "column 7: DECLARE c CURSOR"),
        ("BEGIN x: WHILE a DO LEAVE x; END WHILE x; END", "column 7: x"),
        ("x: BEGIN DELETE FROM t; END x", "column 1: x"),
    ],
)
def test_what_is_not_supported_is_named_with_its_place(text: str, place: str) -> None:
    with pytest.raises(InvalidInputError, match=rf"Line 1, {place}.*one by one"):
        read_script(text, SPARK)


@pytest.mark.parametrize("text", ["BEGIN SELECT 1", "BEGIN IF a THEN SELECT 1; END", "BEGIN END 1"])
def test_a_script_needs_its_ends(text: str) -> None:
    with pytest.raises(InvalidInputError):
        read_script(text, SPARK)
