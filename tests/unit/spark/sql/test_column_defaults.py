"""DEFAULT in VALUES stands for the write default of the column in its place."""

import pytest

from iceberg_spark.errors import InvalidInputError
from iceberg_spark.expr.dialect import SPARK
from iceberg_spark.spark.row_level.conditions import without_subqueries
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.types import IntegerType, NestedField, StringType
from iceberg_spark.statements.matched_columns import (
    rows_with_defaults,
    selected_with_defaults,
    value_or_default,
)

SCHEMA = Schema(
    NestedField(1, "a", IntegerType(), write_default=5), NestedField(2, "b", StringType())
)
FIVE = "CAST('5' AS INT)"


@pytest.mark.parametrize(
    ("query", "meant"),
    [
        ("VALUES (DEFAULT, 'DEFAULT'), (1, default)", f"VALUES ({FIVE}, 'DEFAULT'), (1, NULL)"),
        ("VALUES DEFAULT, 2", f"VALUES {FIVE}, 2"),
        ("VALUES (f(DEFAULT), `DEFAULT`)", "VALUES (f(DEFAULT), `DEFAULT`)"),
        ("SELECT DEFAULT", "SELECT DEFAULT"),
    ],
)
def test_only_a_value_alone_is_replaced(query: str, meant: str) -> None:
    assert rows_with_defaults(query, ["a", "b"], SCHEMA, SPARK, case_sensitive=False) == meant


@pytest.mark.parametrize(
    ("query", "meant"),
    [
        ("SELECT DEFAULT, default", f"SELECT {FIVE}, NULL"),
        ("(SELECT f(DEFAULT), DEFAULT FROM t)", "(SELECT f(DEFAULT), NULL FROM t)"),
        (
            "FROM t SELECT DEFAULT, x WHERE DEFAULT > 1",
            f"FROM t SELECT {FIVE}, x WHERE DEFAULT > 1",
        ),
        ("SELECT t.*, DEFAULT FROM t", "SELECT t.*, NULL FROM t"),
        ("SELECT DEFAULT AS a, 'DEFAULT', `DEFAULT`", "SELECT DEFAULT AS a, 'DEFAULT', `DEFAULT`"),
        ("SELECT DEFAULT, 1 UNION ALL SELECT 1, 2", "SELECT DEFAULT, 1 UNION ALL SELECT 1, 2"),
        ("SELECT DISTINCT DEFAULT, 1", "SELECT DISTINCT DEFAULT, 1"),
        ("VALUES (DEFAULT, 1)", "VALUES (DEFAULT, 1)"),
    ],
)
def test_only_a_selected_keyword_alone_is_replaced(query: str, meant: str) -> None:
    assert selected_with_defaults(query, ["a", "b"], SCHEMA, SPARK, case_sensitive=False) == meant


def test_a_default_needs_a_column_in_its_place() -> None:
    with pytest.raises(InvalidInputError, match="2 columns are there: a, b"):
        rows_with_defaults("VALUES (1, 2, DEFAULT)", ["a", "b"], SCHEMA, SPARK, case_sensitive=True)


def test_an_assigned_default_is_the_columns_own() -> None:
    assert value_or_default(SCHEMA, "A", " default ", case_sensitive=False) == FIVE
    assert value_or_default(SCHEMA, "b", "DEFAULT", case_sensitive=True) == "NULL"
    assert value_or_default(SCHEMA, "b", "a + 1", case_sensitive=True) == "a + 1"


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("id = (SELECT max(id) FROM v) AND b IN (SELECT 1)", "id = (NULL) AND b IN (SELECT 1)"),
        (
            "EXISTS (SELECT 1) OR (a) = (WITH q AS (SELECT 1) FROM q)",
            "EXISTS (SELECT 1) OR (a) = (NULL)",
        ),
        ("'(SELECT 1)' = s", "'(SELECT 1)' = s"),
    ],
)
def test_subqueries_that_stand_for_a_value_are_left_out(text: str, rest: str) -> None:
    assert without_subqueries(text) == rest
