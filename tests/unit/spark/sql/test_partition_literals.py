"""Values in PARTITION (...) are literals, as in Spark's grammar: `2024-01-01` would be 2022."""

import pytest

from iceberg_spark.errors import InvalidInputError
from iceberg_spark.expr.dialect import Dialect
from iceberg_spark.spark.sql.statements.read import read_statement
from iceberg_spark.spark.sql.statements.rows import Insert


@pytest.mark.parametrize(
    "value",
    ["2024-01-01", "f('a')", "'a' || 'b'", "q", "1 + 1", ":x + 1", "? || 'a'", "INTERVAL 1 DAY"],
)
def test_an_expression_is_refused(value: str) -> None:
    with pytest.raises(InvalidInputError, match="PARTITION takes a literal"):
        read_statement(f"INSERT INTO c.d.t PARTITION (p = {value}) SELECT 1")


@pytest.mark.parametrize(
    "value",
    [
        "'a'", "'a' 'b'", "r'a'", '"a"', "DATE '2024-01-01'", "X'1F'", "-1", "1L", ".5e-3", "5BD",
        "NULL", "true", ":x", "?",
    ],
)  # fmt: skip
def test_a_partitions_value_is_a_literal(value: str) -> None:
    found = read_statement(f"INSERT INTO c.d.t PARTITION (p = {value}) SELECT 1")
    assert isinstance(found, Insert)
    assert found.partition == (("p", value),)


def test_a_name_in_double_quotes_is_no_literal() -> None:
    text = 'INSERT INTO c.d.t PARTITION (p = "x") SELECT 1 AS x'
    with pytest.raises(InvalidInputError, match="a literal"):
        read_statement(text, Dialect(quoted_names=True))
