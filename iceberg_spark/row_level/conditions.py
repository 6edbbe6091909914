"""Conditions as users write them: as text for Spark, and what of them the core can use."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from iceberg_spark.errors import InvalidExpressionError, InvalidInputError
from iceberg_spark.expr.bind import bind
from iceberg_spark.expr.build import Predicate, as_unbound
from iceberg_spark.expr.condition import conjuncts, variant_conjuncts
from iceberg_spark.expr.nodes import ALWAYS_TRUE, And, Unbound
from iceberg_spark.expr.quote_references import quote_references
from iceberg_spark.expr.to_text import to_text
from iceberg_spark.expr.variant_filter import VariantFilter, variant_filter
from iceberg_spark.row_level.row_level_change import RowVerb
from iceberg_spark.spec.schema import Schema


def text_of(condition: str | Predicate | Unbound, what: str, schema: Schema | None = None) -> str:
    """Return a condition as SQL text; `schema` spells the columns of a built one.

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
    """Return the part of a condition that prunes files (None: nothing), and if it is all of it."""
    predicates, exact = conjuncts(condition, alias, verb.dialect)
    bound = [predicate for predicate in predicates if binds(verb, predicate)]
    exact = exact and len(bound) == len(predicates)
    return all_of(bound), exact


def variants_in(verb: RowVerb, condition: str, alias: str | None = None) -> VariantFilter | None:
    """Return what a condition says of fields of variants, None for nothing; it only prunes."""
    predicates = variant_conjuncts(condition, alias, verb.dialect)
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
    """Return the conjunction, None for none."""
    restricting = [predicate for predicate in predicates if predicate != ALWAYS_TRUE]
    if not restricting:
        return None
    return restricting[0] if len(restricting) == 1 else And(tuple(restricting))


_SUBQUERIES = ("select", "from", "table", "values")


def is_of_one_row(texts: Iterable[str]) -> bool:
    """Return whether SQL expressions surely look at no other row: none may have a subquery."""
    return not any(word in text.lower() for text in texts for word in _SUBQUERIES)


def columns_in(schema: Schema, texts: Iterable[str]) -> tuple[str, ...]:
    """Return the top-level columns that SQL texts may use: whose names occur in them at all."""
    return names_in([field.name for field in schema.fields], texts)


def names_in(names: Iterable[str], texts: Iterable[str]) -> tuple[str, ...]:
    """Return the names that occur in SQL texts at all, quoted or not, whatever their case."""
    everything = " ".join(texts).lower().replace("``", "`")
    return tuple(name for name in names if name.lower() in everything)
