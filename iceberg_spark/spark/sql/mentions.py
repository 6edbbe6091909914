"""Whether a text of SQL may be about tables of ours at all: all else is Spark's, untouched."""

from __future__ import annotations

from collections.abc import Iterator

from pyspark.sql import SparkSession
from sqlglot.tokenizer_core import Token, TokenType

from iceberg_spark.errors import InvalidInputError
from iceberg_spark.spark.adapt.asked import FORMAT_NAME
from iceberg_spark.spark.session.session_catalogs import is_ours
from iceberg_spark.spark.session.session_dialect import session_dialect
from iceberg_spark.spark.sql.statements.cursor import tokens_of

_BEFORE_CATALOGS = ("IN", "FROM", "USE", "CATALOG")


def mentions_ours(spark: SparkSession, text: str) -> bool:
    """Return whether a text names one of our catalogs, or a location in backticks.

    One or two round trips for each name that has a dot behind it.
    """
    try:
        tokens = tokens_of(text, session_dialect(spark))
    except InvalidInputError:
        return False  # Spark says what is wrong with it
    if any(_is_place(token) for token in tokens):
        return True
    return any(is_ours(spark, name) for name in dict.fromkeys(_names(text, tokens)))


def _is_place(token: Token) -> bool:
    quoted = token.token_type is TokenType.IDENTIFIER
    return quoted and ("/" in token.text or token.text.lower() == FORMAT_NAME)


def _names(text: str, tokens: list[Token]) -> Iterator[str]:
    """Yield the first parts of names, and what stands where a catalog may."""
    before: Token | None = None
    for token, after in zip(tokens, [*tokens[1:], None], strict=True):
        has_dot = after is not None and after.token_type is TokenType.DOT
        is_inner = before is not None and before.token_type is TokenType.DOT
        follows = before is not None and before.text.upper() in _BEFORE_CATALOGS
        if not is_inner and token.token_type is not TokenType.STRING and (has_dot or follows):
            is_quoted = token.token_type is TokenType.IDENTIFIER
            yield token.text if is_quoted else text[token.start : token.end + 1]
        before = token
