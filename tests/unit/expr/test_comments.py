"""Comments end where Spark's do: SqlBaseLexer, SIMPLE_COMMENT and BRACKETED_COMMENT."""

import pytest

from iceberg_spark.expr.grammar import Spark4
from iceberg_spark.expr.parse import parse_predicate


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("a -- x\n = 1", ["a", "=", "1"]),
        ("a -- C:\\\n = 1\n = 2", ["a", "=", "2"]),
        ("a -- C:\\\n x \\\n = 1\n = 2", ["a", "=", "2"]),
        ("a -- C:\\\r\n = 1", ["a", "=", "1"]),
        ("'-- \\\n' -- b\\\n c", ["'-- \\\n'"]),
        ("`--\\\n` /* -- \\\n */ b", ["`--\\\n`", "b"]),
    ],
)
def test_a_comment_that_ends_in_a_backslash_goes_on(text: str, tokens: list[str]) -> None:
    assert [text[one.start : one.end + 1] for one in Spark4().tokenize(text)] == tokens


def test_a_condition_is_read_so_too() -> None:
    assert parse_predicate("id = 1 -- see C:\\\n or id = 2") == parse_predicate("id = 1")
