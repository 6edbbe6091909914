"""Stars in the values of a change, which Spark would expand with internal columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from iceberg_spark.errors import InvalidExpressionError
from iceberg_spark.lazy import LazyModule

_grammar = LazyModule("iceberg_spark.expr.grammar")
_errors = LazyModule("sqlglot.errors")


def refuse_stars(what: str, text: str) -> None:
    """Refuse a value with `*` or `s.*` outside of a subquery, as Spark does in SET and VALUES.

    A text that is not SQL is left to Spark, which reports its error. Raises InvalidExpressionError.
    """
    if "*" not in text:
        return
    try:
        tokens = _grammar.Spark4().tokenize(text)
    except _errors.SqlglotError:
        return
    inside: list[bool] = []
    for index, part in enumerate(tokens):
        match part.token_type.name:
            case "L_PAREN":
                inside.append(False)
            case "R_PAREN" if inside:
                inside.pop()
            case "SELECT" if inside and tokens[index - 1].token_type.name != "DOT":
                inside[-1] = True
            case "STAR" if not any(inside) and _begins_a_value(tokens[:index]):
                raise InvalidExpressionError(
                    f"{what}: '*' is no value in {text!r}; name the columns, as in "
                    "named_struct('a', s.a, 'b', s.b)"
                )


def _begins_a_value(before: Sequence[Any]) -> bool:
    """Return whether a star is not a multiplication."""
    return not before or before[-1].token_type.name in ("L_PAREN", "COMMA", "DOT")
