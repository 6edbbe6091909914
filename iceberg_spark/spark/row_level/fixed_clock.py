"""What a clock says in the expressions of one change: the same in every pass over the rows."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from typing import Any

from iceberg_spark.lazy import LazyModule

_grammar = LazyModule("iceberg_spark.expr.grammar")
_errors = LazyModule("sqlglot.errors")

_STAMP = "timestamp_micros({})"
_DATE, _LOCAL = f"cast({_STAMP} as date)", f"cast({_STAMP} as timestamp_ntz)"
_CLOCKS = {
    "current_timestamp": _STAMP,
    "now": _STAMP,
    "current_date": _DATE,
    "curdate": _DATE,
    "localtimestamp": _LOCAL,
    "unix_timestamp": f"unix_seconds({_STAMP})",
}
_QUERIES = ("SELECT", "WITH", "FROM", "VALUES", "TABLE")
BARE = ("current_timestamp", "current_date", "localtimestamp")
"""Functions that SQL calls without parentheses too, where no column has the name."""


def clock(
    columns: Collection[str],
    moment: int | None = None,
    queried: Collection[str] = BARE,
) -> Callable[[str], str]:
    """Return a function that puts a moment into SQL texts, in place of `current_timestamp()`.

    `columns` are names that an expression may use, `queried` those that queries may; where these
    aren't known, words without parentheses stay there. `moment` is in us since the epoch, now if
    it isn't given. Spark takes the time anew for each query, and a change makes several. A text
    that is no SQL stays as it is: Spark says what is wrong with it.
    """
    now = time.time_ns() // 1000 if moment is None else moment
    named = {name.lower() for name in columns}
    of_queries = {name.lower() for name in queried}

    def stamped(text: str) -> str:
        try:
            tokens = _grammar.Spark4().tokenize(text)
        except _errors.SqlglotError:
            return text
        done, at = "", 0
        inside = _in_queries(tokens)
        for place, token in enumerate(tokens):
            end = _end_of_clock(text, tokens, place, of_queries if inside[place] else named)
            if end is not None:
                done += text[at : token.start] + _CLOCKS[token.text.lower()].format(now)
                at = end
        return done + text[at:]

    return stamped


def _end_of_clock(text: str, tokens: Sequence[Any], place: int, named: set[str]) -> int | None:
    """Return where the call of a clock that starts with a token ends, None for all else."""
    token = tokens[place]
    name = token.text.lower()
    before = tokens[place - 1].text if place else ""
    after = [each.text for each in tokens[place + 1 : place + 3]]
    quoted = text[token.start : token.end + 1] != token.text
    if name not in _CLOCKS or quoted or before == ".":
        return None
    if after == ["(", ")"]:
        return int(tokens[place + 2].end) + 1
    is_bare = name in BARE and name not in named and after[:1] not in (["("], ["."])
    return int(token.end) + 1 if is_bare else None


def _in_queries(tokens: Sequence[Any]) -> list[bool]:
    """Return of each token whether it stands in a query."""
    found, opened = [], [False]
    for place, token in enumerate(tokens):
        word = token.text.upper()
        if word in _QUERIES and (place == 0 or tokens[place - 1].text == "("):
            opened[-1] = True
        elif word == "(":
            opened.append(opened[-1])
        elif word == ")" and len(opened) > 1:
            opened.pop()
        found.append(opened[-1])
    return found
