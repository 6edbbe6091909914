"""Queries with pipes (`FROM t |> WHERE a > 1`) as others that name the same tables.

sqlglot knows some of the operators. Nothing is pruned under a pipe, so of a query only its tables
are to be found: each operator is read as a SELECT of its own, beside those before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from sqlglot.tokenizer_core import Token, TokenType

_SETS = frozenset({"UNION", "EXCEPT", "INTERSECT", "MINUS"})
_LISTS = frozenset({"SELECT", "EXTEND", "SET", "DROP", "AGGREGATE"})


_OPEN, _CLOSE = Token(TokenType.L_PAREN, "("), Token(TokenType.R_PAREN, ")")
_ONE, _SELECT = Token(TokenType.NUMBER, "1"), Token(TokenType.SELECT, "SELECT")
_COMMA, _FROM = Token(TokenType.COMMA, ","), Token(TokenType.FROM, "FROM")
_BESIDE = [Token(TokenType.UNION, "UNION"), Token(TokenType.ALL, "ALL")]
_ROWS = [_FROM, _OPEN, _SELECT, _ONE, _CLOSE]


def without_pipes(tokens: Sequence[Token]) -> list[Token]:
    """Return the tokens of a query that names the tables of one with pipes, at the same places."""
    inner = _with_inner(tokens)
    cuts = [at for at, token in _outermost(inner) if token.token_type is TokenType.PIPE_GT]
    if not cuts:
        return inner
    names = _names_end(inner)
    made = [*inner[:names], _OPEN, *inner[names : cuts[0]], _CLOSE]
    for begin, end in pairwise([*cuts, len(inner)]):
        made += _beside(inner[begin + 1 : end])
    return made


def _with_inner(tokens: Sequence[Token]) -> list[Token]:
    """Return tokens in whose brackets are no pipes."""
    made: list[Token] = []
    at = 0
    while at < len(tokens):
        made.append(tokens[at])
        at += 1
        if made[-1].token_type is TokenType.L_PAREN:
            end = _closing(tokens, at)
            made += without_pipes(tokens[at:end])
            at = end
    return made


def _closing(tokens: Sequence[Token], at: int) -> int:
    """Return where the bracket closes that was opened before a place."""
    depth = 1
    for place in range(at, len(tokens)):
        kind = tokens[place].token_type
        depth += (kind is TokenType.L_PAREN) - (kind is TokenType.R_PAREN)
        if depth == 0:
            return place
    return len(tokens)


def _outermost(tokens: Sequence[Token]) -> Iterable[tuple[int, Token]]:
    depth = 0
    for at, token in enumerate(tokens):
        depth -= token.token_type is TokenType.R_PAREN
        if depth == 0:
            yield at, token
        depth += token.token_type is TokenType.L_PAREN


def _names_end(tokens: Sequence[Token]) -> int:
    """Return where the query begins that stands behind a WITH clause."""
    if not tokens or tokens[0].token_type is not TokenType.WITH:
        return 0
    found = list(_outermost(tokens))
    for (_, word), (_, opened), (at, following) in zip(found, found[1:], found[3:], strict=False):
        is_text = word.token_type is TokenType.ALIAS and opened.token_type is TokenType.L_PAREN
        if is_text and following.token_type is not TokenType.COMMA:
            return at
    return 0


def _beside(operator: list[Token]) -> list[Token]:
    """Return what is read for an operator, behind the query that it is applied to."""
    word = operator[0].text.upper() if operator else ""
    if word in ("", "AS"):
        return []
    if word in _SETS:
        return operator
    read = _list(operator[1:]) if word in _LISTS else [_ONE, *_ROWS, *operator]
    return [*_BESIDE, _OPEN, _SELECT, *read, _CLOSE]


def _list(tokens: list[Token]) -> list[Token]:
    """Return a list of expressions, those of a GROUP BY among them."""
    groups = [at for at, one in _outermost(tokens) if one.token_type is TokenType.GROUP_BY]
    if not groups:
        return tokens
    (split,) = groups
    return [*tokens[:split], *([_COMMA] if split else []), *tokens[split + 1 :]]
