"""Scripts are read as their statements, variables, conditions and loops."""

import pytest

from iceberg_spark.errors import InvalidInputError
from iceberg_spark.expr.dialect import SPARK
from iceberg_spark.spark.sql.statements.script import (
    Block,
    Choice,
    Declaration,
    ForEach,
    Handler,
    Jump,
    Repetition,
    ScriptStatement,
    Step,
    read_script,
    with_session_names,
)

DELETE, SELECT = ScriptStatement("DELETE FROM t"), ScriptStatement("SELECT 1")


def block(text: str) -> Block:
    script = read_script(f"BEGIN {text} END", SPARK)
    assert script is not None
    return script


def body(text: str) -> tuple[Step, ...]:
    return block(text).body


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
        Declaration(("n", "m"), "INT DEFAULT 5"),
        ScriptStatement("SET VARIABLE n = n + 1"),
        ScriptStatement("SET VARIABLE m = 2"),
        Block((Declaration(("k",), "INT"),)),
    )


def test_conditions_and_loops_have_bodies() -> None:
    assert body(
        "IF CASE WHEN a THEN b END THEN DELETE FROM t; ELSEIF c THEN SELECT 1; SELECT 1; "
        "ELSE DELETE FROM t; END IF; l: WHILE a < 1 DO SELECT 1; ITERATE L; END WHILE l; "
        "REPEAT SELECT 1; UNTIL a END REPEAT; b: LOOP LEAVE b; END LOOP;"
    ) == (
        Choice((("CASE WHEN a THEN b END", (DELETE,)), ("c", (SELECT, SELECT))), (DELETE,)),
        Repetition((SELECT, Jump("l", leaves=False)), condition="a < 1", label="l"),
        Repetition((SELECT,), until="a"),
        Repetition((Jump("b", leaves=True),), label="b"),
    )


def test_cases_have_conditions_or_values() -> None:
    assert body(
        "CASE WHEN a THEN DELETE FROM t; WHEN CASE WHEN b THEN c END THEN SELECT 1; END CASE; "
        "CASE (SELECT 1) WHEN 1 THEN DELETE FROM t; ELSE SELECT 1; END CASE;"
    ) == (
        Choice((("a", (DELETE,)), ("CASE WHEN b THEN c END", (SELECT,))), ()),
        Choice((("1", (DELETE,)),), (SELECT,), "(SELECT 1)"),
    )


def test_for_may_name_its_row() -> None:
    assert body(
        "FOR Row AS SELECT a AS b FROM u DO DELETE FROM t; END FOR; "
        "x: FOR (SELECT 1) DO SELECT 1; END FOR x;"
    ) == (
        ForEach("SELECT a AS b FROM u", (DELETE,), variable="row"),
        ForEach("(SELECT 1)", (SELECT,), label="x"),
    )


def test_handlers_belong_to_their_block() -> None:
    script = block(
        "DECLARE c CONDITION FOR SQLSTATE '22012'; "
        "DECLARE EXIT HANDLER FOR DIVIDE_BY_ZERO, a.b, SQLSTATE VALUE '42p01' SET x = 1; "
        "b: BEGIN DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN SELECT 1; END; DELETE FROM t; END b;"
        "DECLARE EXIT HANDLER FOR SQLEXCEPTION SELECT 1; SELECT 1;"
    )
    none: frozenset[str] = frozenset()
    inner = Handler(none, none, False, True, True, Block((SELECT,)))
    assert script.body == (Block((DELETE,), (inner,), "b"), SELECT)
    assert script.handlers == (
        Handler(
            frozenset({"DIVIDE_BY_ZERO", "A.B"}), frozenset({"42P01"}), False, False, False,
            ScriptStatement("SET VARIABLE x = 1"),
        ),
        Handler(none, none, True, False, False, SELECT),
    )  # fmt: skip


def test_only_labels_that_no_other_name_hides_are_replaced() -> None:
    names = {("r", "id"): "id", ("session", "n"): "other"}
    for text, result in {
        "SELECT 'r', R.ID, r.x, a.r.id": "SELECT 'r', session.`id`, r.x, a.r.id",
        "SELECT r.id FROM t r": "SELECT r.id FROM t r",
        "SELECT session.n, system.session.n": "SELECT session.`other`, system.session.`other`",
    }.items():
        assert with_session_names(text, names, SPARK) == result


@pytest.mark.parametrize("text", ["SELECT 1", "SELECT 'BEGIN'", "CREATE TABLE t (begin int)", "'"])
def test_other_texts_are_no_scripts(text: str) -> None:
    assert read_script(text, SPARK) is None


def test_cursors_are_refused_with_their_place() -> None:
    with pytest.raises(InvalidInputError, match=r"Line 1, column 15: .*cursors: use FOR"):
        read_script("BEGIN DECLARE c CURSOR FOR SELECT 1; DELETE FROM t; END", SPARK)


@pytest.mark.parametrize(
    "text", ["BEGIN SELECT 1", "BEGIN IF a THEN SELECT 1; END", "BEGIN END 1", "x: BEGIN END x"]
)
def test_a_script_needs_its_ends(text: str) -> None:
    with pytest.raises(InvalidInputError):
        read_script(text, SPARK)
