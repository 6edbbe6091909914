"""OPTIONS of CREATE TABLE as they are read."""

import re

import pytest

from iceberg_spark.errors import InvalidInputError
from iceberg_spark.spark.sql.statements.create_table import CreateTable
from iceberg_spark.spark.sql.statements.properties import Option
from iceberg_spark.spark.sql.statements.read import read_statement


def test_options_of_a_table_are_texts_or_expressions() -> None:
    found = read_statement(
        """CREATE TABLE c.d.t (id int) OPTIONS ('a.b' = 'c', d.e 5, f = -6, g true, h = FALSE,
           `i j` '', k 1.50, l = 10L, m -- sum
           = 1 + /* one */ 1, n 'a' 'b', o = map('x', 1), k = 7, PATH '/x') PARTITIONED BY (id)"""
    )
    assert isinstance(found, CreateTable) and found.location is None
    assert found.options == {
        "a.b": Option("c"),
        "d.e": Option("5"),
        "f": Option("-6"),
        "g": Option("true"),
        "h": Option("false"),
        "i j": Option(""),
        "k": Option("7"),
        "l": Option("10L", is_expression=True),
        "m": Option("1 + 1", is_expression=True),
        "n": Option("'a' 'b'", is_expression=True),
        "o": Option("map('x', 1)", is_expression=True),
        "PATH": Option("/x"),
    }
    assert found.partition_by == ("id",)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("CREATE TABLE c.d.t (id int) OPTIONS ('location' = '/x')", "use LOCATION"),
        ("CREATE TABLE c.d.t (id int) OPTIONS (owner 'x')", "it is the user who makes"),
        ("CREATE TABLE c.d.t (id int) OPTIONS ()", "OPTIONS () names none"),
        ("CREATE TABLE c.d.t (id int) OPTIONS (a 1, b)", "column 43: Option 'b' needs a value"),
        ("CREATE TABLE c.d.t (id int) OPTIONS (a =)", "Option 'a' needs a value"),
        ("CREATE TABLE c.d.t (id int) OPTIONS (a 1) OPTIONS (b 1)", "OPTIONS may be there once"),
        ("CREATE TABLE c.d.t OPTIONS (path '/x') LOCATION '/y'", "use one of them"),
        ("CREATE TABLE c.d.t OPTIONS (path '/x', PATH '/x')", "use one of them"),
    ],
)  # fmt: skip
def test_a_fault_in_options_says_what_is_needed(text: str, said: str) -> None:
    with pytest.raises(InvalidInputError, match=re.escape(said)):
        read_statement(text)
