"""Decimals whose common type would have more than 38 digits are compared as Spark compares them."""

from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

import iceberg_spark as ice
from iceberg_spark.errors import InvalidExpressionError
from iceberg_spark.expr.bind import bind
from iceberg_spark.expr.build import as_unbound, col
from iceberg_spark.expr.parse import parse_predicate
from iceberg_spark.expr.to_text import to_text
from tests.builders import schema

TABLE = schema(
    ("w", "decimal(38, 2)"), ("n", "decimal(10, 2)"), ("p", "decimal(38, 38)"), ("i", "int"),
    ("l", "long"), ("d", "double"),
)  # fmt: skip


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("w = 0.125", "w = 0.13"),
        ("w <= -0.125", "w <= -0.13"),
        ("w BETWEEN 0.124 AND 0.126", "w >= 0.12 AND w <= 0.13"),
        ("w IN (0.125, 7)", "w IN (0.13, 7.00)"),
        ("w NOT IN (0.125)", "w != 0.13"),
        ("n = 0.125", "false"),
        ("n <= 0.125", "n <= 0.12"),
        ("n = CAST(5 AS DECIMAL(38, 2))", "n = 5.00"),
        ("l = 5.00000000000000000000001", "l = 5"),
        ("l > 5.00000000000000000000001", "l >= 6"),
        ("l < 5.00000000000000000000001", "l <= 5"),
        ("l IN (5.00000000000000000000001)", "l = 5"),
        ("i IN (1.5, CAST(5 AS DECIMAL(38, 0)))", "i IN (2, 5)"),
        ("d = CAST(5 AS DECIMAL(38, 0))", "d = 5.0"),
        ("CAST(1 AS INT) = 1", "true"),
        (f"p < 0.{'9' * 38}", "p < 0." + "9" * 38),
    ],
)  # fmt: skip
def test_the_literal_is_rounded_to_the_digits_that_are_left(text: str, meant: str) -> None:
    assert to_text(bind(TABLE, parse_predicate(text))) == meant


@pytest.mark.parametrize(
    "text",
    [
        "n = CAST(5 AS DECIMAL(38, 0))", "n >= CAST('5' AS DECIMAL(38, 0))", "p = 1", "p <> -(0)",
        "n IN (1.5, CAST(5 AS DECIMAL(38, 0)))", "p = CAST(0 AS INT)", "p IN (0)",
    ],
)  # fmt: skip
def test_a_column_that_spark_would_round_is_refused(text: str) -> None:
    with pytest.raises(InvalidExpressionError, match="Spark would round"):
        bind(TABLE, parse_predicate(text))


def test_constants_that_spark_would_round_are_refused() -> None:
    with pytest.raises(InvalidExpressionError, match="can't be used in a predicate"):
        parse_predicate("CAST(1 AS DECIMAL(38, 0)) = 0.5")


def test_numbers_of_python_beyond_sparks_digits_keep_their_order() -> None:
    assert to_text(bind(TABLE, as_unbound(col("n") < Decimal(10**40)))) == "n IS NOT NULL"


@pytest.mark.parametrize("digits", ["123456789012345678901234567890123456.34", f"{'9' * 36}.99"])
def test_a_sign_keeps_all_digits(digits: str) -> None:
    for text in (f"-{digits}", f"-({digits})", f"-(-({digits}))"):
        sign = "" if text.startswith("-(-") else "-"
        assert to_text(bind(TABLE, parse_predicate(f"w = {text}"))) == f"w = {sign}{digits}"


@pytest.mark.parametrize("sign", ["", "-"])
def test_the_largest_decimals_are_cast(sign: str) -> None:
    text = f"{sign}{'9' * 36}.99"
    bound = bind(TABLE, parse_predicate(f"w = CAST('{text}' AS DECIMAL(38, 2))"))
    assert to_text(bound) == f"w = {text}"


def test_rows_of_long_negative_decimals_are_read_and_deleted(tmp_path: Path) -> None:
    table = ice.create_table(str(tmp_path / "t"), "w decimal(38, 2)")
    values = [Decimal(f"-{10**35 + number}.25") for number in range(5)]
    table.append(pa.table({"w": pa.array(values, pa.decimal128(38, 2))}))
    table = table.refresh()
    for value in values:
        assert table.scan(f"w = {value}").to_arrow().column("w").to_pylist() == [value]
    table.delete(f"w = {values[2]}")
    left = table.refresh().scan().to_arrow().column("w").to_pylist()
    assert left == [*values[:2], *values[3:]]
