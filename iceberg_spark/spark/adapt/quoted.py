"""Names as SQL takes them, whatever they are made of."""

from __future__ import annotations


def quoted(name: str) -> str:
    """Return a name between backquotes."""
    return "`" + name.replace("`", "``") + "`"
