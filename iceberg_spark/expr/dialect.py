"""How a text of SQL is read: Spark's own way, or as a session's settings change it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Dialect:
    """What a session's settings say about the meaning of SQL.

    `quoted_names`: text in double quotes is a name (ansi.doubleQuotedIdentifiers).
    `raw_texts`: a backslash stands for itself (parser.escapedStringLiterals).
    `ansi`: casts of texts raise instead of giving null, and compare in the wider type.
    `case_sensitive`: names that differ in case alone are two (spark.sql.caseSensitive).
    `changed`: other settings that may change a meaning; under them nothing is read here.
    `is_replaced`: whether a function of Spark, by name, is another of the session's now; of two
    sessions that differ in this alone a text has the same tree.
    """

    quoted_names: bool = False
    raw_texts: bool = False
    ansi: bool = True
    changed: tuple[str, ...] = ()
    case_sensitive: bool = False
    is_replaced: Callable[[str], bool] | None = field(default=None, compare=False, repr=False)


SPARK = Dialect()
"""Spark 4 with its defaults: how texts are read where no session is."""
