"""How a text of SQL is read: Spark's own way, or as a session's settings change it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Dialect:
    """The session settings that change the meaning of SQL.

    `quoted_names`: text in double quotes is a name (ansi.doubleQuotedIdentifiers).
    `raw_texts`: a backslash is an ordinary character (parser.escapedStringLiterals).
    `ansi`: casts of texts raise instead of returning null, and compare in the wider type.
    `case_sensitive`: names that differ only by case are different (spark.sql.caseSensitive).
    `changed`: other settings that may change a meaning; while they are set, no text is parsed here.
    `is_replaced`: whether the session has replaced a function of Spark, by name. It does not
    change the tree of a text.
    """

    quoted_names: bool = False
    raw_texts: bool = False
    ansi: bool = True
    changed: tuple[str, ...] = ()
    case_sensitive: bool = False
    is_replaced: Callable[[str], bool] | None = field(default=None, compare=False, repr=False)


SPARK = Dialect()
"""Spark 4 with its defaults: how texts are read where no session is."""
