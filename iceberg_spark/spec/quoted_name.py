"""Column names as SQL spells them: parts joined by dots, odd ones between backquotes."""

from __future__ import annotations

import re

_PART = re.compile(r"`((?:[^`]|``)+)`|([^`.]+)")


def quoted(name: str) -> str:
    """Return a name between backquotes, whatever it is made of."""
    return "`" + name.replace("`", "``") + "`"


def quoted_parts(text: str) -> tuple[str, ...] | None:
    """Return the parts of a name that has backquotes: a.`b.c` is a and b.c.

    None for a name without any, and for one whose backquotes make no sense.
    """
    if "`" not in text:
        return None
    parts, at = [], 0
    while found := _PART.match(text, at):
        odd, plain = found.groups()
        parts.append(plain if odd is None else odd.replace("``", "`"))
        at = found.end()
        if at == len(text):
            return tuple(parts)
        if text[at] != ".":
            return None
        at += 1
    return None
