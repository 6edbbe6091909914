"""The tables that a query names, with their positions in its text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, TypeAlias

import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError, SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from iceberg_spark.errors import InvalidInputError
from iceberg_spark.expr.dialect import SPARK, Dialect
from iceberg_spark.expr.grammar import VERSION_END, grammar, tokenize
from iceberg_spark.spark.sql.options_clauses import (
    OptionsClause,
    clause_behind,
    options_clauses,
    without_clauses,
)
from iceberg_spark.spark.sql.unreadable_text import UnreadableTextError

Node: TypeAlias = Any  # the name of sqlglot's root class differs between versions

_FAULTS = (SqlglotError, AssertionError, AttributeError, TypeError)
"""Errors that sqlglot raises; the latter ones for words and pipes that it does not support."""
_PIPES = ("|>", "|")
_TIMESTAMP = ("TIMESTAMP", "SYSTEM_TIME")
_SYSTEM = {"SYSTEM_VERSION": "VERSION", "SYSTEM_TIME": "TIMESTAMP"}
_QUOTED = TokenType.IDENTIFIER
PARAMETERS = (":", "?")
"""The first characters of parameters."""
_VERSION_NUMBER = re.compile(r"(\d+)[lLsSyY]?")
_BETWEEN_QUERIES = ("UNION", "EXCEPT", "INTERSECT", "MINUS")
_TABLE_WORDS = ("TABLE", "STREAM")
_AFTER_COLUMN = frozenset({
    "FROM", "AS", "AND", "OR", "NOT", "IN", "IS", "LIKE", "BETWEEN", "THEN", "ELSE", "END", "WHEN",
    "ASC", "DESC", "NULLS", "WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "UNION", "EXCEPT",
    "INTERSECT", "DIV",
})  # fmt: skip
"""Words that may follow a column. Any other word after `TABLE` begins the name of a table."""


@dataclass(frozen=True, slots=True)
class TableReference:
    """A table as a query names it.

    `start` and `end` are positions in the text, around the name and its clauses AS OF and WITH,
    which begin at `name_end`. `alias_at` is where an alias may follow, after a TABLESAMPLE.
    `version` is a snapshot id, branch or tag; `timestamp` is a SQL expression; `options` are those
    of its read.
    """

    parts: tuple[str, ...]
    start: int
    end: int
    alias: str | None
    version: str | None = None
    timestamp: str | None = None
    options: tuple[tuple[str, str], ...] = ()
    name_end: int = field(default=0, compare=False)
    alias_at: int = field(default=0, compare=False)
    node: Node = field(default=None, repr=False, compare=False)

    @property
    def name(self) -> str:
        """The name with dots between its parts."""
        return ".".join(self.parts)


def parse_query(text: str, dialect: Dialect = SPARK) -> Node:
    """Return the syntax tree of a query as a session reads it.

    Raises InvalidInputError for a text that cannot be parsed or is not a query.
    """
    try:
        plain = without_clauses(text, options_clauses(text, dialect))
        tree = _parsed(_read_alike(plain, dialect), dialect)
    except _FAULTS as cause:
        raise UnreadableTextError(f"The query can't be parsed: {_reason(cause)}") from cause
    except RecursionError as cause:
        raise InvalidInputError("The query is nested too deeply") from cause
    if not isinstance(tree, exp.Query | exp.Values):
        raise InvalidInputError(
            f"Only queries can be run here, not {type(tree).__name__.upper()}: use the table API, "
            "such as t.append, t.delete or t.merge"
        )
    return tree


def _reason(cause: Exception) -> str:
    """Return why sqlglot refuses a text, with the words around the place."""
    if not isinstance(cause, ParseError) or not cause.errors:
        return str(cause).splitlines()[0].rstrip(".")
    fault = cause.errors[0]
    before = " ".join(fault["start_context"].split(" ")[-4:])
    after = " ".join(fault["end_context"].split(" ")[:4])
    near = " ".join(f"{before}{fault['highlight']}{after}".split())
    reason = fault["description"].partition(" for <class")[0].rstrip(".")
    return f"{reason} (line {fault['line']}, near '{near}')"


def _parsed(text: str, dialect: Dialect) -> Node:
    try:
        return sqlglot.parse_one(text, dialect=grammar(dialect))
    except _FAULTS:
        tokens = as_spark_reads(text, dialect)
        if tokens is None and "|>" not in text:
            raise
        tokens = without_pipes(tokenize(text, grammar(dialect)) if tokens is None else tokens)
        trees = grammar(dialect)().parser().parse(tokens, text)
        if len(trees) != 1:
            raise
        return trees[0]


def selecting(text: str, dialect: Dialect) -> str:
    """Return a query in which each `TABLE t` is replaced by the equivalent SELECT."""
    if "TABLE" not in text.upper():
        return text
    tokens = tokenize(text, grammar(dialect))
    pieces, position = [], 0
    for index, token in enumerate(tokens[:-1]):
        if _is_query_of_a_table(tokens, index):
            pieces += [text[position : token.start], "SELECT * FROM"]
            position = token.end + 1
    return "".join([*pieces, text[position:]])


def _is_query_of_a_table(tokens: Sequence[Token], index: int) -> bool:
    token, following = tokens[index], tokens[index + 1]
    is_named = following.token_type is not TokenType.L_PAREN and _begins_a_name(following)
    if token.token_type is not TokenType.TABLE or not is_named:
        return False
    if index == 0:
        return True
    before = tokens[index - 1]
    if before.token_type is TokenType.L_PAREN:  # after the name of a function it is an argument
        return index == 1 or tokens[index - 2].token_type not in (TokenType.VAR, _QUOTED)
    if before.text.upper() in ("ALL", "DISTINCT"):
        before = tokens[index - 2]
    return before.token_type is TokenType.R_PAREN or before.text.upper() in _BETWEEN_QUERIES


def _read_alike(text: str, dialect: Dialect) -> str:
    """Return a text whose AS OF clauses sqlglot can parse, with all positions unchanged."""
    if "SYSTEM_" not in text.upper():
        return text
    tokens = tokenize(text, grammar(dialect))
    for token, *clause, value in zip(tokens, tokens[1:], tokens[2:], tokens[3:], strict=False):
        word = _SYSTEM.get(token.text.upper())
        is_clause = [part.text.upper() for part in clause] == ["AS", "OF"]
        if (
            word and is_clause and value.text.upper() not in (",", "FROM")
        ):  # not a column with the alias `of`
            text = text[: token.start] + word.ljust(len(token.text)) + text[token.end + 1 :]
    return text


def table_references(tree: Node, text: str, dialect: Dialect = SPARK) -> list[TableReference]:
    """Return the named tables of a query in the order of its text, without CTEs."""
    clauses = options_clauses(text, dialect)
    tokens = tokenize(without_clauses(text, clauses), grammar(dialect))
    references = [
        _reference(node, tokens, text, clauses)
        for node in tree.find_all(exp.Table)
        if node.find_ancestor(exp.Hint) is None
        and all(isinstance(part, exp.Identifier) and "start" in part.meta for part in node.parts)
        and not (len(node.parts) == 1 and _is_cte(node, dialect.case_sensitive))
    ]
    return sorted(references, key=lambda reference: reference.start)


def hidden_table(text: str, dialect: Dialect) -> str | None:
    """Return a clause whose table the tree may not show: `TABLE t`, `TABLE(t)`, `STREAM t`.

    None if the text has none. Columns may have these names.
    """
    tokens = tokenize(text, grammar(dialect))
    for before, token, after in zip([None, *tokens], tokens, tokens[1:], strict=False):
        is_word = token.text.upper() in _TABLE_WORDS and token.token_type is not _QUOTED
        of_another = before is not None and before.token_type is TokenType.DOT
        if is_word and not of_another and _begins_a_name(after):
            return text[token.start : after.end + 1]
    return None


def _begins_a_name(token: Token) -> bool:
    text = token.text
    is_name = token.token_type is _QUOTED or text.isidentifier()
    return token.token_type is TokenType.L_PAREN or (is_name and text.upper() not in _AFTER_COLUMN)


def is_rewritten(text: str, dialect: Dialect, references: Sequence[TableReference] = ()) -> bool:
    """Return whether Spark may read a query differently: it has variables or pipes (`|>`).

    It also does if options belong to no table in `references`: the tree has no options.
    """
    tokens = tokenize(text, grammar(dialect))
    has_pipes = any(
        token.text in _PIPES and token.end - token.start < len(_PIPES) for token in tokens
    )
    ends = {reference.end for reference in references}
    has_others = any(clause.end not in ends for clause in options_clauses(text, dialect))
    return "${" in text or has_pipes or has_others


def _is_cte(node: Node, case_sensitive: bool) -> bool:
    """Return whether a name without a namespace is a CTE that is visible at its position."""
    below, above = node, node.parent
    name = node.name if case_sensitive else node.name.lower()
    while above is not None:
        if isinstance(above, exp.With):
            names = above.expressions
            index = next(number for number, cte in enumerate(names) if cte is below)
            seen = names[: index + 1] if above.args.get("recursive") else names[:index]
        else:
            own = above.args.get("with_") or above.args.get("with")
            seen = [] if own is None or own is below else own.expressions
        if any((cte.alias if case_sensitive else cte.alias.lower()) == name for cte in seen):
            return True
        below, above = above, above.parent
    return False


def _reference(
    node: Node, tokens: Sequence[Token], text: str, clauses: Sequence[OptionsClause]
) -> TableReference:
    metas = [part.meta for part in node.parts]
    start, end = metas[0]["start"], metas[-1]["end"] + 1
    parts = tuple(part.name for part in node.parts)
    alias = node.alias or None
    clause = node.args.get("version")
    after = [token for token in tokens if token.start >= end]
    version = timestamp = None
    name_end = end
    if clause is not None:
        kind, first, end = _as_of(after, clause.meta[VERSION_END])
        if any(name_end <= other.start < end for other in clauses):
            raise InvalidInputError(f"{'.'.join(parts)}: WITH (...) stands behind AS OF")
        moment = text[first:end]
        if kind in _TIMESTAMP or moment[:1] in PARAMETERS:
            timestamp = moment
        elif (number := _VERSION_NUMBER.fullmatch(moment)) is not None:
            version = number[1]
        elif isinstance(clause.expression, exp.Literal):
            version = clause.expression.name
        else:
            raise InvalidInputError(
                f"VERSION AS OF {moment}: a snapshot id, or a branch or tag in quotes, is needed"
            )
    options_clause = clause_behind(clauses, after, end)
    options = () if options_clause is None else options_clause.options
    end = end if options_clause is None else options_clause.end
    alias_at = _sample_end([token for token in after if token.start >= end], end)
    return TableReference(
        parts, start, end, alias, version, timestamp, options, name_end, alias_at, node
    )


def _sample_end(tokens: Sequence[Token], end: int) -> int:
    """Return the end of a TABLESAMPLE clause that begins with the first token, else `end`."""
    for word in ("TABLESAMPLE", "REPEATABLE"):
        if not tokens or tokens[0].text.upper() != word or tokens[0].token_type is _QUOTED:
            break
        depth = 0
        for index, token in enumerate(tokens):
            depth += (token.token_type is TokenType.L_PAREN) - (
                token.token_type is TokenType.R_PAREN
            )
            if index and depth == 0:
                end, tokens = token.end + 1, tokens[index + 1 :]
                break
    return end


def _as_of(tokens: Sequence[Token], end: int) -> tuple[str, int, int]:
    """Return the kind of an AS OF clause that ends at `end`, and the span of its value."""
    index = 1 if tokens[0].text.upper() == "FOR" else 0
    kind = tokens[index].text.upper()
    return kind, tokens[index + 3].start, end  # after VERSION AS OF or TIMESTAMP AS OF


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
_OTHER_ARGUMENTS = frozenset({
    "ANY_VALUE", "CORR", "DECODE", "FIRST_VALUE", "LAST_VALUE", "RANDSTR", "SHUFFLE", "UNIFORM",
})  # fmt: skip
"""Functions that take other arguments in Spark than in sqlglot."""
_ANY_GEO = [[kind, "(", "ANY", ")"] for kind in ("GEOGRAPHY", "GEOMETRY")]


def as_spark_reads(text: str, dialect: Dialect) -> list[Token] | None:
    """Return a text's tokens with names where Spark reads names, None if nothing differs.

    A parameter (`:select`) is a name, and so is `window` unless it begins a WINDOW clause. Five
    differences do not matter here and are unified: `>>>` becomes `>>`, a variant's field `v:a`
    becomes `v[0]` and `v:['a']` becomes `v['a']`, `MAX RECURSION LEVEL 9` is dropped,
    `GEOMETRY(ANY)` becomes `GEOMETRY`, and `shuffle(a, 5)` becomes `shuffle_(a, 5)`, whose
    arguments sqlglot does not check.
    """
    tokens: list[Token] = grammar(dialect)().tokenize(text)
    names = list(_names(text, tokens))
    for token in names:
        token.token_type = TokenType.VAR
    unshifted = [
        token for index, token in enumerate(tokens) if not _shifts(tokens[index - 2 :][:4])
    ]
    result = _without_signatures(_with_items(_without_level(_without_colons(unshifted))))
    return result if names or result != tokens else None


def _without_colons(tokens: Sequence[Token]) -> list[Token]:
    """Return tokens with `v['a']` for `v:['a']`."""
    return [
        token
        for index, token in enumerate(tokens)
        if not (
            0 < index < len(tokens) - 1
            and _is_field(tokens[index - 1], token)
            and tokens[index + 1].token_type is TokenType.L_BRACKET
        )
    ]


def _without_signatures(tokens: Sequence[Token]) -> list[Token]:
    """Return tokens with functions and types whose arguments sqlglot does not check."""
    result: list[Token] = []
    words = [token.text.upper() for token in tokens]
    dropped = 0
    for index, token in enumerate(tokens):
        if index < dropped:
            continue
        if words[index : index + 4] in _ANY_GEO:
            dropped = index + 4
        is_call = words[index + 1 : index + 2] == ["("]
        if is_call and words[index] in _OTHER_ARGUMENTS and token.token_type is not _QUOTED:
            name = f"{token.text}_"
            result.append(Token(TokenType.VAR, name, start=token.start, end=token.end))
        else:
            result.append(token)
    return result


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


# Queries with pipes (`FROM t |> WHERE a > 1`) as queries without pipes over the same tables.
#
# sqlglot parses only some of the operators. Nothing is pruned under a pipe, so only the tables of
# the query matter: each operator becomes a SELECT of its own, in a union with those before it.

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
