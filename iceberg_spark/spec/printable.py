"""Text that may be shown: a terminal obeys control characters, and URLs may hold passwords."""

from __future__ import annotations

from iceberg_spark.errors import redacted


def printable(text: str) -> str:
    """Return text without passwords of URLs, and with control characters as escapes.

    Line ends and tabs stay.
    """
    text = redacted(text)
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() or one in "\n\t" else repr(one)[1:-1] for one in text)
