"""`IDENTIFIER(...)` clauses: each is replaced by the name that its string or parameter has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from sqlglot.tokenizer_core import Token, TokenType

from iceberg_spark.errors import IcebergError, InvalidInputError
from iceberg_spark.expr.dialect import Dialect
from iceberg_spark.spark.session.own_methods import run_sql
from iceberg_spark.spark.session.session_dialect import session_dialect
from iceberg_spark.spark.sql.query import Args
from iceberg_spark.spark.sql.references_iceberg import references_iceberg
from iceberg_spark.spark.sql.statements.cursor import Cursor, script_tokens, tokens_of
from iceberg_spark.spec.quoted_name import quote

_WORD = "IDENTIFIER"
_QUOTED = (TokenType.IDENTIFIER, TokenType.STRING, TokenType.RAW_STRING)


def replace_identifier_clauses(spark: SparkSession, text: str, args: Args) -> tuple[str, Args]:
    """Return a text with names in place of IDENTIFIER(...), and the remaining arguments.

    A text is unchanged if it names no Iceberg table even then, or if its clauses are not
    constant: Spark raises the error. Each clause except `IDENTIFIER('t')` takes a round trip.
    """
    if _WORD not in text.upper():
        return text, args
    dialect = session_dialect(spark)
    try:
        tokens = script_tokens(text, dialect)
        clauses = list(_clauses(text, tokens, dialect))
        values = _Values(args, [token.start for token in tokens if is_marker(token)])
        names = [_name(spark, clause, values.within(clause), dialect) for clause in clauses]
    except (IcebergError, PySparkException):
        return text, args
    pieces, position = [], 0
    for clause, name in zip(clauses, names, strict=True):
        pieces += [text[position : clause.start], name]
        position = clause.end
    named = "".join([*pieces, text[position:]])
    return (
        (named, values.left(clauses))
        if names and references_iceberg(spark, named)
        else (text, args)
    )


@dataclass(frozen=True, slots=True)
class _Clause:
    """Start and end of a clause, and the content of its brackets."""

    start: int
    end: int
    inner: Cursor


@dataclass(frozen=True, slots=True)
class _Values:
    """The values of a text's parameters. Question marks take positional values in order."""

    args: Args
    markers: list[int]

    def within(self, clause: _Clause) -> Args:
        """Return the values of a clause."""
        if not self.args or isinstance(self.args, Mapping):
            return self.args
        pairs = zip(self.markers, self.args, strict=False)
        return [value for position, value in pairs if clause.start < position < clause.end]

    def left(self, clauses: Sequence[_Clause]) -> Args:
        """Return the values of parameters outside of the clauses."""
        if not self.args or isinstance(self.args, Mapping):
            return self.args
        pairs = zip(self.markers, self.args, strict=False)
        return [
            value
            for position, value in pairs
            if not any(clause.start < position < clause.end for clause in clauses)
        ]


def _clauses(text: str, tokens: list[Token], dialect: Dialect) -> Iterator[_Clause]:
    for index, token in enumerate(tokens):
        if token.text.upper() != _WORD or token.token_type in _QUOTED:
            continue
        cursor = Cursor(text, tokens[index + 1 :], dialect)
        if cursor.sees_open():
            inner = cursor.brackets()
            yield _Clause(token.start, cursor.end, inner)


def _name(spark: SparkSession, clause: _Clause, args: Args, dialect: Dialect) -> str:
    """Return the name that an expression evaluates to, quoted. Raises InvalidInputError."""
    probe = clause.inner.fresh()
    text: object = probe.string() if probe.sees_string() else None
    if text is None or not probe.at_end:
        query = f"SELECT {clause.inner.fresh().rest()} AS name"
        text = run_sql(spark, query, args).toArrow().column(0)[0].as_py()
    if not isinstance(text, str):
        raise InvalidInputError(f"{_WORD}(...) needs a text, not {text!r}")
    parts = Cursor(text, tokens_of(text, dialect), dialect)
    name = parts.name()
    parts.done()
    return ".".join(map(quote, name))


def is_marker(token: Token) -> bool:
    """Return whether a token is a parameter without a name."""
    return token.text == "?" and token.token_type not in _QUOTED
