"""Spark's SQL as sqlglot reads it, with what it lacks of version 4."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

from sqlglot.dialects.spark import Spark
from sqlglot.tokenizer_core import Token, TokenType

from iceberg_spark.expr.dialect import Dialect

VERSION_END = "version_end"
"""Marks where in the text a VERSION or TIMESTAMP AS OF ends."""
_NOT_SPARKS = frozenset({
    "STARTS_WITH", "IS_NAN", "DATE_TO_DATE_STR", "TIME_TO_TIME_STR", "TS_OR_DS_ADD", "J_S_O_N_CAST",
})  # fmt: skip
"""What sqlglot calls functions of Spark besides: in Spark a user's own may be called so."""

_GOES_ON = "\\\n"
_PIECES = re.compile(
    r"""[rR]'[^']*' | [rR]"[^"]*" | '(?:\\.|[^'\\])*' | "(?:\\.|[^"\\])*" | `[^`]*`
    | /\*.*?\*/ | --(?:\\\n|[^\r\n])*""",
    re.DOTALL | re.VERBOSE,
)
"""What a comment may stand in without being one, and comments (SqlBaseLexer: SIMPLE_COMMENT)."""


class Spark4(Spark):
    """Spark's dialect with the quotes of version 4: a doubled quote is one quote."""

    def tokenize(self, sql: str, dialect: Any = None) -> list[Token]:
        """Cut a text as Spark does: a comment that ends in a backslash goes on in the next line."""
        read = _in_one_line(sql) if _GOES_ON in sql else sql
        return list(super().tokenize(read, dialect))

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

        def _parse_version(self) -> Any:
            found = super()._parse_version()
            if found is not None:
                found.meta[VERSION_END] = self._prev.end + 1
            return found

    class Tokenizer(Spark.Tokenizer):
        """How literals are read."""

        STRING_ESCAPES: ClassVar[list[str]] = ["\\", "'", '"']
        KEYWORDS: ClassVar[dict[str, TokenType]] = {
            **Spark.Tokenizer.KEYWORDS,
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


def _in_one_line(text: str) -> str:
    """Return a text of the same length whose comments end where their lines do."""
    return _PIECES.sub(
        lambda found: found[0].replace(_GOES_ON, "\\ ") if found[0][:2] == "--" else found[0], text
    )
