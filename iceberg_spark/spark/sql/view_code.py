"""Code in the text of a stored view that must not run: programs, and the driver's environment.

Otherwise anyone who may write a view could run code as every user who reads it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from sqlglot.tokenizer_core import Token, TokenType

from iceberg_spark.errors import UnsupportedError
from iceberg_spark.expr.dialect import Dialect
from iceberg_spark.spark.sql.statements.cursor import tokens_of

ALLOWED = "view.allow-code"
_FUNCTIONS = frozenset({"reflect", "java_method", "try_reflect"})
"""Functions of Spark that call any static method of Java."""
_STRINGS = frozenset({TokenType.STRING, TokenType.RAW_STRING})
_SUBSTITUTION = "${"


def check_no_code(text: str, view: str, properties: Mapping[str, str], dialect: Dialect) -> None:
    """Refuse a view's text that runs code, unless the catalog's properties allow it.

    Raises UnsupportedError naming the code: TRANSFORM, MAP and REDUCE with a program, calls of
    Java's methods, functions whose name is computed, and Spark's `${...}`.
    """
    if properties.get(ALLOWED, "").lower() == "true":
        return
    refused = _SUBSTITUTION if _SUBSTITUTION in text else _code_in(tokens_of(text, dialect))
    if refused is not None:
        raise UnsupportedError(
            f"View {view} uses {refused}, which could run code here in your name. If you trust "
            f"who writes this catalog's views, set its property {ALLOWED} to true"
        )


def _code_in(tokens: Sequence[Token]) -> str | None:
    for token, follower in pairwise(tokens):
        word = token.text.lower()
        if word == "using" and follower.token_type in _STRINGS:
            return f"a program ({token.text} '{follower.text}')"
        if follower.token_type is not TokenType.L_PAREN:
            continue
        if word in _FUNCTIONS:
            return f"the function {word}"
        if word == "identifier" and token.token_type is not TokenType.IDENTIFIER:
            return "IDENTIFIER(...)"
    return None
