"""The door to `parse`, which loads the SQL parser when the first predicate comes as text."""

from __future__ import annotations

from iceberg_spark.expr.dialect import SPARK, Dialect
from iceberg_spark.expr.nodes import Unbound
from iceberg_spark.lazy import LazyModule

_parse = LazyModule("iceberg_spark.expr.parse")


def parse_predicate(sql: str, dialect: Dialect = SPARK) -> Unbound:
    """Return the predicate of a SQL text; see `parse.parse_predicate`."""
    parsed: Unbound = _parse.parse_predicate(sql, dialect)
    return parsed
