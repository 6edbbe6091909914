"""Text from files and users as it may be shown: names could steer a terminal."""

from __future__ import annotations


def printable(text: str) -> str:
    """Return text with control characters as escapes ; line ends and tabs stay."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() or one in "\n\t" else repr(one)[1:-1] for one in text)
