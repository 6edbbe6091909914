"""Queries are parsed as the session's settings say."""

import pytest

from iceberg_spark.errors import InvalidInputError
from iceberg_spark.expr.dialect import SPARK, Dialect
from iceberg_spark.spark.sql.parsed_query import ParsedQuery


def test_quoted_names_depend_on_the_dialect() -> None:
    quoted = 'SELECT "a" FROM c.d.t'
    names = Dialect(quoted_names=True)
    assert "a" in ParsedQuery.of(quoted, names).tree.identifiers
    assert "a" not in ParsedQuery.of(quoted, SPARK).tree.identifiers


def test_a_table_as_a_query_is_a_select_of_it() -> None:
    found = ParsedQuery.of("TABLE c.d.t", SPARK)
    assert found.text == "SELECT * FROM c.d.t"
    assert [one.name for one in found.references] == ["c.d.t"]


def test_other_statements_are_refused() -> None:
    with pytest.raises(InvalidInputError):
        ParsedQuery.of("DROP TABLE c.d.t", SPARK)
