"""A condition without the subqueries in it, for what Spark allows around them only."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from sqlglot.tokenizer_core import Token

from iceberg_spark.expr.dialect import SPARK
from iceberg_spark.expr.grammar import grammar


def without_subqueries(text: str) -> str:
    """Return an expression with NULL for each subquery that stands for a value."""
    tokens = grammar(SPARK)().tokenize(text)
    pieces, at = [], 0
    for place, (token, following) in enumerate(pairwise(tokens)):
        before = tokens[place - 1].text.upper() if place else ""
        is_query = following.text.upper() in ("SELECT", "WITH") and token.text == "("
        if not is_query or before in ("IN", "EXISTS") or token.start < at:
            continue
        end = _closing(tokens, place)
        pieces += [text[at : token.start], "(NULL)"]
        at = end
    return "".join([*pieces, text[at:]])


def _closing(tokens: Sequence[Token], place: int) -> int:
    """Return where the text of a bracket that opens at this token ends."""
    depth = 0
    for token in tokens[place:]:
        depth += (token.text == "(") - (token.text == ")")
        if depth == 0:
            break
    return int(token.end) + 1
