"""Conditions without their subqueries, where Spark allows no subquery."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from sqlglot.tokenizer_core import Token

from iceberg_spark.expr.dialect import SPARK
from iceberg_spark.expr.grammar import grammar


def without_subqueries(text: str) -> str:
    """Return an expression with NULL in place of each scalar subquery."""
    tokens = grammar(SPARK)().tokenize(text)
    pieces, copied_to = [], 0
    for index, (token, following) in enumerate(pairwise(tokens)):
        before = tokens[index - 1].text.upper() if index else ""
        is_query = following.text.upper() in ("SELECT", "WITH") and token.text == "("
        if not is_query or before in ("IN", "EXISTS") or token.start < copied_to:
            continue
        end = _closing(tokens, index)
        pieces += [text[copied_to : token.start], "(NULL)"]
        copied_to = end
    return "".join([*pieces, text[copied_to:]])


def _closing(tokens: Sequence[Token], index: int) -> int:
    """Return the end of the text in brackets that opens at a token."""
    depth = 0
    for token in tokens[index:]:
        depth += (token.text == "(") - (token.text == ")")
        if depth == 0:
            break
    return int(token.end) + 1
