"""Queries are parsed once: the same text, as the same settings read it."""

import pytest

from iceberg_spark.errors import InvalidInputError
from iceberg_spark.expr.dialect import SPARK, Dialect
from iceberg_spark.spark.sql.limits import PARSING
from iceberg_spark.spark.sql.parsed_query import parsed_query

TEXT = "SELECT a FROM c.d.t WHERE a > 1"


def test_the_same_text_is_parsed_once() -> None:
    assert parsed_query(TEXT, SPARK) is parsed_query(TEXT, SPARK)


def test_another_dialect_reads_a_text_anew() -> None:
    quoted = 'SELECT "a" FROM c.d.t'
    names = Dialect(quoted_names=True)
    assert "a" in parsed_query(quoted, names).tree.identifiers
    assert "a" not in parsed_query(quoted, SPARK).tree.identifiers


def test_a_table_as_a_query_is_a_select_of_it() -> None:
    found = parsed_query("TABLE c.d.t", SPARK)
    assert found.text == "SELECT * FROM c.d.t"
    assert [one.name for one in found.references] == ["c.d.t"]


def test_long_texts_are_not_kept() -> None:
    text = f"{TEXT} AND k <> '{'x' * PARSING.longest_kept}'"
    assert parsed_query(text, SPARK) is not parsed_query(text, SPARK)


def test_what_is_no_query_is_refused_each_time() -> None:
    for _ in range(2):
        with pytest.raises(InvalidInputError):
            parsed_query("DROP TABLE c.d.t", SPARK)
