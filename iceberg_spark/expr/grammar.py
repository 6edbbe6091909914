"""sqlglot's dialect of Spark, extended to Spark 4."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from functools import lru_cache
from itertools import pairwise, product
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect as Grammar
from sqlglot.dialects.spark import Spark
from sqlglot.tokenizer_core import Token, TokenType

from iceberg_spark.expr.dialect import Dialect

VERSION_END = "version_end"
"""Marks where in the text a VERSION or TIMESTAMP AS OF ends."""
_VERSIONS = ("VERSION", "TIMESTAMP")
_VERSION_PHRASES = frozenset({"VERSION AS OF", "TIMESTAMP AS OF", "FOR VERSION", "FOR TIMESTAMP"})
"""Keywords that sqlglot before 30.15 merges into one token."""
_NOT_SPARKS = frozenset({
    "STARTS_WITH", "IS_NAN", "DATE_TO_DATE_STR", "TIME_TO_TIME_STR", "TS_OR_DS_ADD", "J_S_O_N_CAST",
})  # fmt: skip
"""Names that sqlglot adds to Spark's functions: in Spark a user's function may be called so."""

_GOES_ON = "\\\n"
_PIECES = re.compile(
    r"""[rR]'[^']*' | [rR]"[^"]*" | '(?:\\.|[^'\\])*' | "(?:\\.|[^"\\])*" | `[^`]*`
    | /\*.*?\*/ | --(?:\\\n|[^\r\n])*""",
    re.DOTALL | re.VERBOSE,
)
"""Literals and quoted names that may contain comment marks, and comments (SqlBaseLexer)."""


class Spark4(Spark):
    """Spark's dialect with the quotes of version 4: a doubled quote is one quote."""

    def tokenize(self, sql: str, dialect: Any = None) -> list[Token]:
        """Tokenize like Spark: a comment that ends in a backslash continues in the next line."""
        read = _in_one_line(sql) if _GOES_ON in sql else sql
        return _with_named_in(list(super().tokenize(read, dialect)))

    class Parser(Spark.Parser):  # type: ignore[valid-type, misc] # a variable to mypy
        """What functions and tables are called, and where a version's clause ends."""

        FUNCTIONS: ClassVar[dict[str, Any]] = {
            name: make for name, make in Spark.Parser.FUNCTIONS.items() if name not in _NOT_SPARKS
        }

        TABLE_ALIAS_TOKENS: ClassVar[set[TokenType]] = Spark.Parser.TABLE_ALIAS_TOKENS - {
            TokenType.PIVOT,
            TokenType.UNPIVOT,
        }

        _is_in_join = False

        def _parse_join(self, *args: Any, **named: Any) -> Any:
            """Parse a join as Spark does: its criteria follow its table, if it has any.

            sqlglot also looks for `a JOIN b JOIN c ON ... ON ...`, which Spark's grammar lacks, and
            parses the rest of the text twice for each join without ON: 178 characters took 11 s.
            """
            with self._in_join(value=True):
                return super()._parse_join(*args, **named)

        def _parse_joins(self, *args: Any, **named: Any) -> Any:
            return iter(()) if self._is_in_join else super()._parse_joins(*args, **named)

        def _parse_table(self, *args: Any, **named: Any) -> Any:
            with self._in_join(value=False):
                return super()._parse_table(*args, **named)

        def _parse_query_modifiers(self, *args: Any, **named: Any) -> Any:
            with self._in_join(value=False):
                return super()._parse_query_modifiers(*args, **named)

        @contextmanager
        def _in_join(self, *, value: bool) -> Iterator[None]:
            """Say whether the next joins are those within a join, not those of a query in it."""
            before, self._is_in_join = self._is_in_join, value
            try:
                yield
            finally:
                self._is_in_join = before

        def build_cast(self, strict: bool, **parts: Any) -> Any:
            """Give a literal with the suffix BD the precision and scale of its digits.

            sqlglot before 30.21 casts it to DECIMAL(10, 0): `1.5BD` was 2.
            """
            number = parts["this"]
            if self._prev.text.upper() == "BD" and isinstance(number, exp.Literal):
                sizes = map(exp.Literal.number, _decimal_size(number.name))
                parts["to"] = exp.DataType(
                    this=exp.DataType.Type.DECIMAL,
                    expressions=[exp.DataTypeParam(this=size) for size in sizes],
                )
                parts["this"] = exp.Literal.string(number.name)
            return super().build_cast(strict, **parts)

        def _parse_version(self) -> Any:
            """Parse VERSION or TIMESTAMP AS OF: sqlglot before 30.23 parses no sum there."""
            for optional, kind in product(((), ("FOR",)), _VERSIONS):
                if self._match_text_seq(*optional, kind, "AS", "OF"):
                    clause = exp.Version(this=kind, kind="AS OF", expression=self._parse_bitwise())
                    clause.meta[VERSION_END] = self._prev.end + 1
                    return clause
            return None

    class Tokenizer(Spark.Tokenizer):
        """How literals are read."""

        STRING_ESCAPES: ClassVar[list[str]] = ["\\", "'", '"']
        KEYWORDS: ClassVar[dict[str, TokenType]] = {
            **{
                words: token
                for words, token in Spark.Tokenizer.KEYWORDS.items()
                if words not in _VERSION_PHRASES
            },
            "!<": TokenType.GTE,
            "!>": TokenType.LTE,
        }


class Spark4Names(Spark4):
    """The same with names in double quotes (spark.sql.ansi.doubleQuotedIdentifiers)."""

    class Tokenizer(Spark4.Tokenizer):
        """How literals are read."""

        QUOTES: ClassVar[list[tuple[str, str] | str]] = ["'"]
        IDENTIFIERS: ClassVar[list[str | tuple[str, str]]] = ["`", '"']


def grammar(dialect: Dialect) -> type[Spark4]:
    """Return sqlglot's dialect for a session's."""
    return Spark4Names if dialect.quoted_names else Spark4


def _with_named_in(tokens: list[Token]) -> list[Token]:
    """Return tokens in which `in` before a dot is a name: sqlglot before 30.29 refuses it."""
    for token, following in pairwise(tokens):
        if token.token_type == TokenType.IN and following.token_type == TokenType.DOT:
            token.token_type = TokenType.VAR
    return tokens


def _decimal_size(number: str) -> tuple[int, int]:
    """Return the precision and scale of a decimal literal: (2, 1) for `1.5`, (4, 0) for `1E3`."""
    _, digits, exponent = Decimal(number).as_tuple()
    scale = -int(exponent)
    return max(len(digits) - min(scale, 0), scale), max(scale, 0)


def _in_one_line(text: str) -> str:
    """Return a text of the same length whose comments end at the end of their line."""
    return _PIECES.sub(
        lambda match: match[0].replace(_GOES_ON, "\\ ") if match[0][:2] == "--" else match[0], text
    )


_LONGEST_CACHED = 100_000
"""Characters: longer texts are not cached."""


def tokenize(text: str, grammar: type[Grammar]) -> tuple[Token, ...]:
    """Return a text's tokens; the last few texts are cached, since a query tokenizes one often.

    Raises SqlglotError for a text that can't be tokenized.
    """
    return _cached(text, grammar) if len(text) <= _LONGEST_CACHED else _cut(text, grammar)


def _cut(text: str, grammar: type[Grammar]) -> tuple[Token, ...]:
    return tuple(grammar().tokenize(text))


_cached = lru_cache(maxsize=16)(_cut)
