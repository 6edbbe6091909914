"""Conditions of users: as text for Spark, and the part that the core can use."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from iceberg_spark.errors import InvalidExpressionError, InvalidInputError
from iceberg_spark.expr.bind import bind
from iceberg_spark.expr.build import Predicate, as_unbound
from iceberg_spark.expr.nodes import ALWAYS_TRUE, And, Unbound
from iceberg_spark.expr.to_text import quote_references, to_text
from iceberg_spark.expr.variant_filter import VariantFilter, VariantPredicate, variant_filter
from iceberg_spark.lazy import LazyFunction
from iceberg_spark.row_level.row_level_change import RowVerb
from iceberg_spark.spec.schema import Schema

_conjuncts = LazyFunction("iceberg_spark.expr.parse_condition", "conjuncts")
_variant_conjuncts = LazyFunction("iceberg_spark.expr.parse_variant", "variant_conjuncts")
"""Import the SQL parser when the first condition is parsed."""


def text_of(condition: str | Predicate | Unbound, what: str, schema: Schema | None = None) -> str:
    """Return a condition as SQL text; `schema` has the column names of a built one.

    Raises InvalidTypeError for anything but a predicate.
    """
    if isinstance(condition, str):
        if not condition.strip():
            raise InvalidExpressionError(f"{what} is empty; 'true' means all rows")
        return condition
    if condition is None:
        raise InvalidInputError(f"{what} must be a predicate; 'true' means all rows")
    built = as_unbound(condition)
    return to_text(built if schema is None else quote_references(built, schema), None)


def usable_filter(
    verb: RowVerb, condition: str, alias: str | None = None
) -> tuple[Unbound | None, bool]:
    """Return the part of a condition that prunes files (None: no part), and whether it is all."""
    predicates: tuple[Unbound, ...]
    predicates, exact = _conjuncts(condition, alias, verb.dialect)
    bound = [predicate for predicate in predicates if binds(verb, predicate)]
    exact = exact and len(bound) == len(predicates)
    return all_of(bound), exact


def variants_in(verb: RowVerb, condition: str, alias: str | None = None) -> VariantFilter | None:
    """Return the predicates of a condition on variant fields, None without any; only prunes."""
    predicates: tuple[VariantPredicate, ...] = _variant_conjuncts(condition, alias, verb.dialect)
    if not predicates:
        return None
    return variant_filter(
        verb.metadata.schema,
        predicates,
        case_sensitive=verb.case_sensitive,
        time_zone=verb.time_zone,
    )


def binds(verb: RowVerb, predicate: Unbound) -> bool:
    """Return whether the core can use a predicate on the verb's table."""
    try:
        bind(
            verb.metadata.schema,
            predicate,
            case_sensitive=verb.case_sensitive,
            time_zone=verb.time_zone,
        )
    except InvalidInputError:
        return False
    return True


def all_of(predicates: Sequence[Unbound]) -> Unbound | None:
    """Return the conjunction, None for no predicates."""
    restricting = [predicate for predicate in predicates if predicate != ALWAYS_TRUE]
    if not restricting:
        return None
    return restricting[0] if len(restricting) == 1 else And(tuple(restricting))


_SUBQUERIES = ("select", "from", "table", "values")


def is_of_one_row(texts: Iterable[str]) -> bool:
    """Return whether SQL expressions depend on one row only: none may have a subquery."""
    return not any(word in text.lower() for text in texts for word in _SUBQUERIES)


def columns_in(schema: Schema, texts: Iterable[str]) -> tuple[str, ...]:
    """Return the top-level columns that SQL texts may use: those whose names occur in them."""
    return names_in([field.name for field in schema.fields], texts)


def names_in(names: Iterable[str], texts: Iterable[str]) -> tuple[str, ...]:
    """Return all names that occur in SQL texts, quoted or not, in lower case."""
    everything = " ".join(texts).lower().replace("``", "`")
    return tuple(name for name in names if name.lower() in everything)
