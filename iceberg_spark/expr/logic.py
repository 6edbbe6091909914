"""AND and OR that keep trees small: flattened, without constants or repeated children."""

from __future__ import annotations

from collections.abc import Iterable

from iceberg_spark.expr.nodes import (
    ALWAYS_FALSE,
    ALWAYS_TRUE,
    And,
    Bound,
    BoundReference,
    Comparison,
    Constant,
    In,
    IsNull,
    Leaf,
    Op,
    Or,
)


def conjunction(children: Iterable[Bound]) -> Bound:
    """Return a tree that is true where all children are."""
    unique: dict[Bound, None] = {}
    for child in children:
        match child:
            case Constant(value=value):
                if not value:
                    return ALWAYS_FALSE
            case And(children=inner):
                unique.update(dict.fromkeys(inner))
            case _:
                unique[child] = None
    if not unique:
        return ALWAYS_TRUE
    return next(iter(unique)) if len(unique) == 1 else And(tuple(unique))


def disjunction(children: Iterable[Bound]) -> Bound:
    """Return a tree that is true where any child is."""
    unique: dict[Bound, None] = {}
    for child in children:
        match child:
            case Constant(value=value):
                if value:
                    return ALWAYS_TRUE
            case Or(children=inner):
                unique.update(dict.fromkeys(inner))
            case _:
                unique[child] = None
    if not unique:
        return ALWAYS_FALSE
    return next(iter(unique)) if len(unique) == 1 else Or(tuple(unique))


def is_null(term: BoundReference) -> Bound:
    """Return IS NULL, folded for a required column."""
    return ALWAYS_FALSE if term.required else IsNull(term)


def not_null(term: BoundReference) -> Bound:
    """Return IS NOT NULL, folded for a required column."""
    return ALWAYS_TRUE if term.required else IsNull(term, negated=True)


def membership(term: BoundReference, values: Iterable[object], negated: bool) -> Bound:
    """Return IN or NOT IN over canonical values: distinct, sorted, one value as a comparison."""
    distinct = sorted(set(values))  # type: ignore[type-var]  # values of one type are comparable
    if not distinct:
        return not_null(term) if negated else ALWAYS_FALSE
    if len(distinct) == 1:
        return Comparison(Op.NE if negated else Op.EQ, term, distinct[0])
    return In(term, tuple(distinct), negated)


def leaves(bound: Bound) -> tuple[Leaf, ...]:
    """Return every leaf of a tree, from left to right."""
    match bound:
        case Constant():
            return ()
        case And(children=children) | Or(children=children):
            return tuple(leaf for child in children for leaf in leaves(child))
        case _:
            return (bound,)


def field_ids(bound: Bound) -> tuple[int, ...]:
    """Return the ids of the columns that a bound tree reads, each once, from left to right."""
    terms = (leaf.term for leaf in leaves(bound))
    return tuple(dict.fromkeys(term.field_id for term in terms if isinstance(term, BoundReference)))
