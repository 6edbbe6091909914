"""Predicates as hypothesis draws them: SQL text, and what it means for a row of the model.

Columns are named by kind: `id`, `g`, `v`, `d`, `f` and the field `s.k`. What a kind's column is
called today, and which value a row has in it, the table's model knows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from typing import Any

from hypothesis import strategies as st

DATES = (date(1969, 12, 31), date(1970, 1, 1), date(2024, 2, 29), date(2024, 3, 1))
TEXTS = ("", "a", "ab", "b", "é", "a/b=c")
FLOATS = (0.0, -0.0, 1.5, -2.0, math.nan, math.inf, -math.inf)

VALUES: dict[str, st.SearchStrategy[Any]] = {
    "id": st.one_of(st.integers(0, 9), st.sampled_from([-1, 2**40])),
    "g": st.sampled_from(TEXTS),
    "v": st.integers(-3, 3),
    "d": st.sampled_from(DATES),
    "f": st.sampled_from(FLOATS),
    "s.k": st.integers(0, 3),
}
COLUMNS = ("id", "g", "v", "d", "f", "s")

ValueOf = Callable[[str], Any]
NameOf = Callable[[str], str]


@dataclass(frozen=True)
class Expr:
    """A predicate: its text when columns have these names, and its value (None is unknown)."""

    kinds: frozenset[str]
    text: Callable[[NameOf], str]
    value: Callable[[ValueOf], bool | None]

    def __repr__(self) -> str:
        return self.text(lambda kind: kind)


def sql(value: Any) -> str:
    """A literal in SQL."""
    match value:
        case str():
            return "'" + value.replace("'", "''") + "'"
        case date():
            return f"date '{value}'"
        case _:
            return str(value)


def sortable(value: Any) -> Any:
    """A value's place in Spark's order: NaN above all, -0.0 equal to 0.0."""
    if isinstance(value, float):
        return (1, 0.0) if math.isnan(value) else (0, value + 0.0)
    return value


_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "=": lambda left, right: left == right,
    "<>": lambda left, right: left != right,
    "<": lambda left, right: left < right,
    "<=": lambda left, right: left <= right,
    ">": lambda left, right: left > right,
    ">=": lambda left, right: left >= right,
}


def _comparison(kind: str, operator: str, literal: Any) -> Expr:
    def value(of: ValueOf) -> bool | None:
        found = of(kind)
        if found is None:
            return None
        return _OPERATORS[operator](sortable(found), sortable(literal))

    return Expr(frozenset([kind]), lambda name: f"{name(kind)} {operator} {sql(literal)}", value)


def _is_null(kind: str, negated: bool) -> Expr:
    word = "is not null" if negated else "is null"
    return Expr(
        frozenset([kind]),
        lambda name: f"{name(kind)} {word}",
        lambda of: (of(kind) is None) is not negated,
    )


def _is_in(kind: str, literals: list[Any], negated: bool) -> Expr:
    listed = ", ".join(sql(each) for each in literals)
    word = "not in" if negated else "in"

    def value(of: ValueOf) -> bool | None:
        return None if of(kind) is None else (of(kind) in literals) is not negated

    return Expr(frozenset([kind]), lambda name: f"{name(kind)} {word} ({listed})", value)


def _like(prefix: str) -> Expr:
    def value(of: ValueOf) -> bool | None:
        return None if of("g") is None else of("g").startswith(prefix)

    return Expr(frozenset(["g"]), lambda name: f"{name('g')} like '{prefix}%'", value)


def _both(left: Expr, right: Expr) -> Expr:
    def value(of: ValueOf) -> bool | None:
        found = {left.value(of), right.value(of)}
        return False if False in found else None if None in found else True

    return Expr(left.kinds | right.kinds, lambda n: f"({left.text(n)} and {right.text(n)})", value)


def _either(left: Expr, right: Expr) -> Expr:
    def value(of: ValueOf) -> bool | None:
        found = {left.value(of), right.value(of)}
        return True if True in found else None if None in found else False

    return Expr(left.kinds | right.kinds, lambda n: f"({left.text(n)} or {right.text(n)})", value)


def _not(inner: Expr) -> Expr:
    def value(of: ValueOf) -> bool | None:
        found = inner.value(of)
        return None if found is None else not found

    return Expr(inner.kinds, lambda n: f"not ({inner.text(n)})", value)


def _literal(kind: str) -> st.SearchStrategy[Any]:
    finite = kind == "f"
    return VALUES[kind].filter(math.isfinite) if finite else VALUES[kind]


def _leaves(*kinds: str) -> st.SearchStrategy[Expr]:
    chosen = st.sampled_from(kinds)
    comparisons = chosen.flatmap(
        lambda kind: st.builds(
            _comparison, st.just(kind), st.sampled_from(sorted(_OPERATORS)), _literal(kind)
        )
    )
    listed = st.sampled_from([kind for kind in kinds if kind != "f"]).flatmap(
        lambda kind: st.builds(
            _is_in, st.just(kind), st.lists(VALUES[kind], min_size=1, max_size=3), st.booleans()
        )
    )
    nulls = st.builds(_is_null, chosen, st.booleans())
    return st.one_of(comparisons, comparisons, listed, nulls, st.builds(_like, st.just("a")))


EVERYTHING = Expr(frozenset(), lambda _: "true", lambda _: True)


def predicates_of(*kinds: str) -> st.SearchStrategy[Expr]:
    """Predicates over columns of these kinds, `g` among them."""
    return st.one_of(
        st.recursive(
            _leaves(*kinds),
            lambda inner: st.one_of(
                st.builds(_both, inner, inner),
                st.builds(_either, inner, inner),
                st.builds(_not, inner),
            ),
            max_leaves=3,
        ),
        st.just(EVERYTHING),
    )


predicates: st.SearchStrategy[Expr] = predicates_of(*sorted(VALUES))
