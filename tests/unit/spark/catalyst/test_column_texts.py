"""Columns of Connect as SQL texts, and what both kinds of columns have in common."""

import datetime as dt
from types import SimpleNamespace
from typing import Any

import pyspark.sql.connect.functions.builtin as cf
import pytest
from pyspark.sql.types import ArrayType, StringType

from iceberg_spark.errors import InvalidTypeError
from iceberg_spark.expr.literals import TimestampLiteral
from iceberg_spark.expr.nodes import Comparison, Op, Reference
from iceberg_spark.expr.parse import parse_predicate
from iceberg_spark.spark.catalyst.column_texts import column_text, instant_text

SESSION: Any = SimpleNamespace(client=None)


def text_of(column: Any) -> str:
    return column_text(SESSION, column)


def test_a_struct_keeps_the_names_of_its_fields() -> None:
    made = cf.struct(cf.col("s.b").alias("a"), cf.col("s.a").alias("b`c"), "d")
    assert text_of(made) == "struct(`s`.`b` AS `a`, `s`.`a` AS `b``c`, `d`)"
    inner = cf.struct((cf.col("x").alias("lost") + 1).alias("y")).alias("z")
    assert text_of(inner) == "struct((`x` + 1) AS `y`)"


def test_a_cast_has_the_whole_type() -> None:
    made = cf.col("x").cast(ArrayType(StringType()))
    assert text_of(made) == "CAST(`x` AS array<string>)"
    assert text_of(cf.col("x").try_cast("array<int>")) == "TRY_CAST(`x` AS array<int>)"


@pytest.mark.parametrize(
    ("micros", "text"),
    [
        (0, "1970-01-01 00:00:00.000000Z"),
        (-1, "1969-12-31 23:59:59.999999Z"),
        (253402300800_000000, "+10000-01-01 00:00:00.000000Z"),
        (-62135596800_000001, "0000-12-31 23:59:59.999999Z"),
    ],
)
def test_an_instant_is_one_to_our_own_parser_too(micros: int, text: str) -> None:
    """Conditions choose files by it, whatever the session's zone is."""
    assert instant_text(micros) == f"TIMESTAMP_LTZ '{text}'"
    expected = Comparison(Op.LT, Reference("ts"), TimestampLiteral(micros * 1000, "Z"))
    assert parse_predicate(f"(`ts` < {instant_text(micros)})") == expected


def test_a_moment_with_a_zone_is_its_instant() -> None:
    moment = dt.datetime(2024, 10, 27, 2, 30, tzinfo=dt.timezone(dt.timedelta(hours=2)))
    assert text_of(cf.lit(moment)) == "TIMESTAMP_LTZ '2024-10-27 00:30:00.000000Z'"


def test_what_is_no_column_is_refused() -> None:
    with pytest.raises(InvalidTypeError, match=r"not 5: a value is one by lit\(5\)"):
        text_of(5)
