"""Column names as SQL spells them: parts joined by dots, odd ones between backquotes."""

from __future__ import annotations

import re

_PART = re.compile(r"`((?:[^`]|``)+)`|([^`.]+)")


def quote(name: str) -> str:
    """Return a name between backquotes, escaping backquotes in it."""
    return "`" + name.replace("`", "``") + "`"


def quoted_parts(text: str) -> tuple[str, ...] | None:
    """Return the parts of a name with backquotes: a.`b.c` is a and b.c.

    None for a name without backquotes or with unbalanced ones.
    """
    if "`" not in text:
        return None
    parts, offset = [], 0
    while match := _PART.match(text, offset):
        odd, plain = match.groups()
        parts.append(plain if odd is None else odd.replace("``", "`"))
        offset = match.end()
        if offset == len(text):
            return tuple(parts)
        if text[offset] != ".":
            return None
        offset += 1
    return None
