"""One moment for all clocks in the expressions of a change, in every pass over its rows."""

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
    """Return a function that replaces `current_timestamp()` and the like in SQL texts by a moment.

    Spark reads the clock for each query, and a change runs several. A text that is not SQL stays
    unchanged: Spark reports its error.

    Args:
        columns: names that an expression may refer to, which are not clocks without parentheses.
        moment: microseconds since the epoch, None for now.
        queried: names that subqueries may refer to. By default, clocks without parentheses stay
            there.
    """
    now = time.time_ns() // 1000 if moment is None else moment
    named = {name.lower() for name in columns}
    of_queries = {name.lower() for name in queried}

    def stamped(text: str) -> str:
        try:
            tokens = _grammar.Spark4().tokenize(text)
        except _errors.SqlglotError:
            return text
        result, copied_to = "", 0
        inside = _in_queries(tokens)
        for index, token in enumerate(tokens):
            end = _end_of_clock(text, tokens, index, of_queries if inside[index] else named)
            if end is not None:
                result += text[copied_to : token.start] + _CLOCKS[token.text.lower()].format(now)
                copied_to = end
        return result + text[copied_to:]

    return stamped


def _end_of_clock(text: str, tokens: Sequence[Any], index: int, named: set[str]) -> int | None:
    """Return the end of a clock's call that starts with a token, None for other tokens."""
    token = tokens[index]
    name = token.text.lower()
    before = tokens[index - 1].text if index else ""
    after = [following.text for following in tokens[index + 1 : index + 3]]
    quoted = text[token.start : token.end + 1] != token.text
    if name not in _CLOCKS or quoted or before == ".":
        return None
    if after == ["(", ")"]:
        return int(tokens[index + 2].end) + 1
    is_bare = name in BARE and name not in named and after[:1] not in (["("], ["."])
    return int(token.end) + 1 if is_bare else None


def _in_queries(tokens: Sequence[Any]) -> list[bool]:
    """Return for each token whether it is in a subquery."""
    are_in_query, opened = [], [False]
    for index, token in enumerate(tokens):
        word = token.text.upper()
        if word in _QUERIES and (index == 0 or tokens[index - 1].text == "("):
            opened[-1] = True
        elif word == "(":
            opened.append(opened[-1])
        elif word == ")" and len(opened) > 1:
            opened.pop()
        are_in_query.append(opened[-1])
    return are_in_query
