"""Predicates as SQL text that is parsed back to what they mean."""

import datetime as dt
import uuid
from decimal import Decimal

import pytest

from iceberg_spark.expr.bind import bind
from iceberg_spark.expr.build import Predicate, as_unbound, col
from iceberg_spark.expr.literals import plain
from iceberg_spark.expr.parse import parse_predicate
from iceberg_spark.expr.to_text import to_text
from tests.builders import field as make_field
from tests.builders import schema, struct, type_of

COLUMNS = schema(
    ("a", "long"),
    ("f", "double"),
    ("n", "decimal(9, 2)"),
    ("u", "uuid"),
    ("b", "binary"),
    ("s", "string"),
    ("d", "date"),
    ("t", "time"),
    ("ts", "timestamp"),
    ("tz", "timestamptz"),
    ("the column`s name", "long"),
    ("in", struct(make_field(20, "y z", type_of("long")))),
    ("order", "long"),
)


@pytest.mark.parametrize(
    "predicate",
    [
        (col("a") > 1) & ((col("a") < 5) | col("a").is_null()),
        ~(col("a") == 1),
        col("a").is_in(range(100)),
        col("f") == 0.1,
        col("f") == 1e300,
        col("f").is_nan(),
        col("n") == Decimal("1.50"),
        col("n") == Decimal("1E+2"),
        col("n") < Decimal("0.0000001"),
        col("u") == uuid.UUID(int=5),
        col("b") == b"\x00'",
        col("s") == "it's \\ %_",
        col("s").starts_with("50%_'\\"),
        col("d") == dt.date(2024, 1, 2),
        col("t") == dt.time(1, 2, 3),
        col("ts") == dt.datetime(2024, 1, 2, 3, 4, 5, 6),  # noqa: DTZ001 (a column without zone)
        col("tz") == dt.datetime(2024, 1, 2, 3, tzinfo=dt.UTC),
        col("the column`s name") == 1,
        col("in.y z") == 1,
        col("order") == 1,
    ],
    ids=lambda predicate: to_text(predicate.node),
)
def test_the_whole_text_of_a_predicate_is_parsed_to_its_meaning(predicate: Predicate):
    unbound = as_unbound(predicate)
    again = parse_predicate(to_text(unbound, None))
    assert bind(COLUMNS, again) == bind(COLUMNS, unbound)


def test_for_people_a_long_list_is_cut():
    text = to_text(as_unbound(col("a").is_in(range(12))))
    assert text == "a IN (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, ... 2 more)"


@pytest.mark.parametrize(
    "text", ["n = CAST(5 AS DECIMAL(38, 30))", "n = CAST(-1.5 AS DECIMAL(20, 1))", "a = 1L"]
)
def test_the_text_of_a_cast_number_keeps_its_type(text: str):
    unbound = parse_predicate(text)
    again = parse_predicate(to_text(unbound, None))
    assert again.value.digits == unbound.value.digits
    assert plain(again.value) == plain(unbound.value)
