"""Text that is safe to show: control characters escaped, passwords in URLs removed."""

from __future__ import annotations

from iceberg_spark.errors import redact


def printable(text: str) -> str:
    """Return text without passwords of URLs, and with control characters as escapes.

    Line ends and tabs stay.
    """
    text = redact(text)
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() or character in "\n\t" else repr(character)[1:-1]
        for character in text
    )
