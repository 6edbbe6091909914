"""Words and signs that Spark's parser reads differently from sqlglot's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from sqlglot.tokenizer_core import Token, TokenType

from iceberg_spark.expr.dialect import Dialect
from iceberg_spark.expr.grammar import grammar

_NAMES = frozenset({"VALUES", "USING", "TABLESAMPLE"})
"""Keywords of sqlglot that Spark reads as names unless the rest of their clause follows."""
_OPERANDS = frozenset({
    "ALTER", "ARRAY", "CREATE", "CROSS", "CUBE", "DROP", "FETCH", "FOR", "FROM", "GRANT",
    "ILIKE", "INNER", "INSERT", "INTO", "JOIN", "LATERAL", "LIKE", "LIMIT", "LIST", "LOCK",
    "MAP", "MINUS", "OFFSET", "ON", "OUTER", "RANGE", "REVOKE", "ROLLBACK", "ROLLUP",
    "STRUCT", "THEN", "UNCACHE", "UNION", "WHEN", "WITH",
})  # fmt: skip
"""Keywords that Spark reads as names if an operand is needed and a name may end there."""
_BEFORE_AN_OPERAND = frozenset({
    TokenType.SELECT, TokenType.DISTINCT, TokenType.COMMA, TokenType.L_PAREN, TokenType.WHERE,
    TokenType.HAVING, TokenType.ON, TokenType.AND, TokenType.OR, TokenType.NOT, TokenType.EQ,
    TokenType.NEQ, TokenType.NULLSAFE_EQ, TokenType.LT, TokenType.LTE, TokenType.GT, TokenType.GTE,
    TokenType.PLUS, TokenType.DASH, TokenType.STAR, TokenType.SLASH, TokenType.BETWEEN,
    TokenType.GROUP_BY, TokenType.ORDER_BY, TokenType.CASE, TokenType.WHEN, TokenType.THEN,
    TokenType.ELSE, TokenType.LIKE,
})  # fmt: skip
_BEHIND_A_NAME = frozenset({
    TokenType.COMMA, TokenType.DOT, TokenType.R_PAREN, TokenType.FROM, TokenType.WHERE,
    TokenType.EQ, TokenType.NEQ, TokenType.NULLSAFE_EQ, TokenType.LT, TokenType.LTE, TokenType.GT,
    TokenType.GTE, TokenType.PLUS, TokenType.DASH, TokenType.SLASH, TokenType.AND, TokenType.OR,
    TokenType.IS, TokenType.IN, TokenType.BETWEEN, TokenType.LIKE, TokenType.ALIAS, TokenType.ASC,
    TokenType.DESC, TokenType.GROUP_BY, TokenType.ORDER_BY, TokenType.HAVING, TokenType.LIMIT,
    TokenType.END, TokenType.ELSE, TokenType.THEN, TokenType.STAR, TokenType.UNION,
})  # fmt: skip
_VALUE_ENDS = (TokenType.IDENTIFIER, TokenType.R_PAREN, TokenType.R_BRACKET)
_BEFORE_A_VALUE = frozenset({"OF", "IMMEDIATE"})
"""Words that sqlglot tokenizes as names, and after which a parameter may follow."""
_LEVEL = ["MAX", "RECURSION", "LEVEL"]
_BEHIND_TYPES = (TokenType.R_PAREN, TokenType.COMMA, TokenType.ALIAS)


def as_spark_reads(text: str, dialect: Dialect) -> list[Token] | None:
    """Return a text's tokens with names where Spark reads names, None if nothing differs.

    A parameter (`:select`) is a name, and so is `window` unless it begins a WINDOW clause. Three
    differences do not matter here and are unified: `>>>` becomes `>>`, a variant's field `v:a`
    becomes `v[0]`, and `MAX RECURSION LEVEL 9` is dropped.
    """
    tokens: list[Token] = grammar(dialect)().tokenize(text)
    names = list(_names(text, tokens))
    for token in names:
        token.token_type = TokenType.VAR
    unshifted = [
        token for index, token in enumerate(tokens) if not _shifts(tokens[index - 2 :][:4])
    ]
    result = _with_items(_without_level(unshifted))
    return result if names or result != tokens else None


def _with_items(tokens: Sequence[Token]) -> list[Token]:
    """Return tokens with `v[0]` for `v:a`, since a condition on an item is not one on a column."""
    result: list[Token] = []
    for index, token in enumerate(tokens):
        if index and _is_field(tokens[index - 1], token):
            result.append(Token(TokenType.L_BRACKET, "[", start=token.start, end=token.end))
        elif index > 1 and _is_field(tokens[index - 2], tokens[index - 1]):
            start, end = token.start, token.end
            result.append(Token(TokenType.NUMBER, "0", start=start, end=end))
            result.append(Token(TokenType.R_BRACKET, "]", start=start, end=end))
        else:
            result.append(token)
    return result


def _is_field(before: Token, colon: Token) -> bool:
    """Return whether a colon follows a value, and so selects a field of a variant."""
    is_name = before.token_type is TokenType.VAR and before.text.upper() not in _BEFORE_A_VALUE
    return colon.token_type is TokenType.COLON and (is_name or before.token_type in _VALUE_ENDS)


def _without_level(tokens: list[Token]) -> list[Token]:
    words = [token.text.upper() for token in tokens]
    level = len(_LEVEL)
    for index in range(len(tokens) - level):
        if words[index : index + level] == _LEVEL and words[index + level + 1 :][:1] == ["AS"]:
            return _without_level([*tokens[:index], *tokens[index + level + 1 :]])
    return tokens


def _names(text: str, tokens: Sequence[Token]) -> Iterator[Token]:
    for colon, name in pairwise(tokens):
        is_word = text[name.start : name.end + 1].isidentifier() and name.start == colon.end + 1
        if colon.token_type is TokenType.COLON and is_word:
            yield name
    for index, token in enumerate(tokens):
        if token.token_type not in (TokenType.STRING, TokenType.IDENTIFIER) and _is_name(
            token, tokens[index - 1].token_type if index else None, tokens[index + 1 : index + 3]
        ):
            yield token


def _is_name(token: Token, before: TokenType | None, following: Sequence[Token]) -> bool:
    word, ends = token.text.upper(), _ends_a_name(following)
    if token.token_type is TokenType.WINDOW:
        return [other.text.upper() for other in following[1:]] != ["AS"]  # WINDOW w AS (...)
    if word in _NAMES:
        return before is TokenType.DOT or ends
    return word in _OPERANDS and before in _BEFORE_AN_OPERAND and ends


def _ends_a_name(following: Sequence[Token]) -> bool:
    return not following or following[0].token_type in _BEHIND_A_NAME


def _shifts(tokens: Sequence[Token]) -> bool:
    """Return whether three signs are `>>>` before a value, and not the ends of three types."""
    return (
        len(tokens) == 4
        and all(token.token_type is TokenType.GT for token in tokens[:3])
        and tokens[0].end + 2 == tokens[1].end + 1 == tokens[2].end
        and tokens[3].token_type not in _BEHIND_TYPES
    )
