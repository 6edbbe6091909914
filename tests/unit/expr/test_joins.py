"""Joins as Spark's grammar has them: criteria follow the table of their join, if there are any."""

import pytest
import sqlglot
from sqlglot.dialects.spark import Spark

from iceberg_spark.expr.grammar import Spark4

QUERIES = [
    "SELECT * FROM a JOIN b ON a.x = b.x JOIN c USING (y)",
    "SELECT * FROM a JOIN b JOIN c ON b.x = c.x",
    "SELECT * FROM a JOIN (SELECT * FROM b JOIN c ON b.x = c.x JOIN d) AS e ON e.x = a.x",
    "SELECT * FROM a JOIN b ON EXISTS (SELECT 1 FROM c JOIN d ON c.x = d.x JOIN e) JOIN f",
    "SELECT * FROM a JOIN (b JOIN c ON b.x = c.x) ON a.x = c.x",
    "SELECT * FROM a NATURAL JOIN b CROSS JOIN c, d JOIN e",
    "SELECT (SELECT max(i) FROM p JOIN q ON p.a = q.a) FROM a JOIN b LEFT ANTI JOIN c ON a.x = c.x",
    "WITH w AS (SELECT * FROM a JOIN b JOIN c ON b.x = c.x) SELECT * FROM w JOIN d",
    "FROM a JOIN b ON a.x = b.x |> JOIN c USING (x)",
]


@pytest.mark.parametrize("query", QUERIES)
def test_joins_are_parsed_as_sqlglot_does(query: str) -> None:
    assert sqlglot.parse_one(query, dialect=Spark4) == sqlglot.parse_one(query, dialect=Spark)


def test_each_join_without_criteria_is_parsed_once() -> None:
    """sqlglot alone parses the rest twice for each of them, so 2 ** 200 times: it never ends."""
    joins = " ".join(f"JOIN t{number}" for number in range(200))
    tree = sqlglot.parse_one(f"SELECT * FROM t {joins}", dialect=Spark4)
    assert len(tree.args["joins"]) == 200
