"""The door to `parse_condition` and `parse_variant`: the SQL parser is loaded at first use."""

from __future__ import annotations

from iceberg_spark.expr.dialect import SPARK, Dialect
from iceberg_spark.expr.equality import Equality
from iceberg_spark.expr.nodes import Unbound
from iceberg_spark.expr.variant_filter import VariantPredicate
from iceberg_spark.lazy import LazyModule

_parse = LazyModule("iceberg_spark.expr.parse_condition")
_parse_variant = LazyModule("iceberg_spark.expr.parse_variant")


def conjuncts(
    sql: str, alias: str | None = None, dialect: Dialect = SPARK
) -> tuple[tuple[Unbound, ...], bool]:
    """Return the conjuncts that are predicates; see `parse_condition.conjuncts`."""
    predicates: tuple[tuple[Unbound, ...], bool] = _parse.conjuncts(sql, alias, dialect)
    return predicates


def equalities(sql: str, alias: str, other: str, dialect: Dialect = SPARK) -> tuple[Equality, ...]:
    """Return the equalities of two tables; see `parse_condition.equalities`."""
    pairs: tuple[Equality, ...] = _parse.equalities(sql, alias, other, dialect)
    return pairs


def variant_conjuncts(
    sql: str, alias: str | None = None, dialect: Dialect = SPARK
) -> tuple[VariantPredicate, ...]:
    """Return the predicates on fields of variants; see `parse_variant.variant_conjuncts`."""
    predicates: tuple[VariantPredicate, ...] = _parse_variant.variant_conjuncts(sql, alias, dialect)
    return predicates
