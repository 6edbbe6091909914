"""Queries with pipes (`FROM t |> WHERE a > 1`) as queries without pipes over the same tables.

sqlglot parses only some of the operators. Nothing is pruned under a pipe, so only the tables of
the query matter: each operator becomes a SELECT of its own, in a union with those before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from sqlglot.tokenizer_core import Token, TokenType

_SETS = frozenset({"UNION", "EXCEPT", "INTERSECT", "MINUS"})
_LISTS = frozenset({"SELECT", "EXTEND", "SET", "DROP", "AGGREGATE"})


_OPEN, _CLOSE = Token(TokenType.L_PAREN, "("), Token(TokenType.R_PAREN, ")")
_NUMBER, _SELECT = Token(TokenType.NUMBER, "1"), Token(TokenType.SELECT, "SELECT")
_COMMA, _FROM = Token(TokenType.COMMA, ","), Token(TokenType.FROM, "FROM")
_UNION_ALL = [Token(TokenType.UNION, "UNION"), Token(TokenType.ALL, "ALL")]
_ROWS = [_FROM, _OPEN, _SELECT, _NUMBER, _CLOSE]


def without_pipes(tokens: Sequence[Token]) -> list[Token]:
    """Return the tokens of a query without pipes that names the same tables at the same places."""
    inner = _with_inner(tokens)
    cuts = [index for index, token in _outermost(inner) if token.token_type is TokenType.PIPE_GT]
    if not cuts:
        return inner
    names = _names_end(inner)
    result = [*inner[:names], _OPEN, *inner[names : cuts[0]], _CLOSE]
    for begin, end in pairwise([*cuts, len(inner)]):
        result += _as_union(inner[begin + 1 : end])
    return result


def _with_inner(tokens: Sequence[Token]) -> list[Token]:
    """Return tokens without pipes inside brackets."""
    result: list[Token] = []
    index = 0
    while index < len(tokens):
        result.append(tokens[index])
        index += 1
        if result[-1].token_type is TokenType.L_PAREN:
            end = _closing(tokens, index)
            result += without_pipes(tokens[index:end])
            index = end
    return result


def _closing(tokens: Sequence[Token], start: int) -> int:
    """Return the index of the bracket that closes the one before `start`."""
    depth = 1
    for index in range(start, len(tokens)):
        kind = tokens[index].token_type
        depth += (kind is TokenType.L_PAREN) - (kind is TokenType.R_PAREN)
        if depth == 0:
            return index
    return len(tokens)


def _outermost(tokens: Sequence[Token]) -> Iterable[tuple[int, Token]]:
    depth = 0
    for index, token in enumerate(tokens):
        depth -= token.token_type is TokenType.R_PAREN
        if depth == 0:
            yield index, token
        depth += token.token_type is TokenType.L_PAREN


def _names_end(tokens: Sequence[Token]) -> int:
    """Return where the query after a WITH clause begins."""
    if not tokens or tokens[0].token_type is not TokenType.WITH:
        return 0
    outermost = list(_outermost(tokens))
    for (_, word), (_, opened), (index, following) in zip(
        outermost, outermost[1:], outermost[3:], strict=False
    ):
        is_text = word.token_type is TokenType.ALIAS and opened.token_type is TokenType.L_PAREN
        if is_text and following.token_type is not TokenType.COMMA:
            return index
    return 0


def _as_union(operator: list[Token]) -> list[Token]:
    """Return the tokens of an operator, after the query that it is applied to."""
    word = operator[0].text.upper() if operator else ""
    if word in ("", "AS"):
        return []
    if word in _SETS:
        return operator
    read = _list(operator[1:]) if word in _LISTS else [_NUMBER, *_ROWS, *operator]
    return [*_UNION_ALL, _OPEN, _SELECT, *read, _CLOSE]


def _list(tokens: list[Token]) -> list[Token]:
    """Return a list of expressions, including those of a GROUP BY."""
    groups = [
        index for index, token in _outermost(tokens) if token.token_type is TokenType.GROUP_BY
    ]
    if not groups:
        return tokens
    (split,) = groups
    return [*tokens[:split], *([_COMMA] if split else []), *tokens[split + 1 :]]
