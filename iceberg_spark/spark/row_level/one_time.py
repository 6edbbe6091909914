"""What a clock says in the expressions of one change: the same in every pass over the rows."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection

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
_BARE = ("current_timestamp", "current_date", "localtimestamp")
"""Functions that SQL calls without parentheses too, where no column has the name."""
_TOKEN = re.compile(
    r"""
    \br'[^']*' | \br"[^"]*"
    | '(?:[^'\\]|\\.)*' | "(?:[^"\\]|\\.)*" | `[^`]*`          # texts and quoted names: as they are
    | (?<![\w.`])(?P<name>[a-z_]+)(?P<call>\s*\(\s*\))?(?![\w(`])(?!\s*[(.])
    """,
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)


def clock(columns: Collection[str]) -> Callable[[str], str]:
    """Return a function that puts this moment into SQL texts, in place of `current_timestamp()`.

    `columns` are names that an expression may use. Spark takes the time anew for each query, and
    a change makes several.
    """
    now = time.time_ns() // 1000
    named = {name.lower() for name in columns}

    def replaced(found: re.Match[str]) -> str:
        name = (found["name"] or "").lower()
        bare = name in _BARE and name not in named
        if name in _CLOCKS and (found["call"] or bare):
            return _CLOCKS[name].format(now)
        return found[0]

    return lambda text: _TOKEN.sub(replaced, text)
