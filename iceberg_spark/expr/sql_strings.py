"""Texts between quotes as Spark reads them (Java: SparkParserUtils.unescapeSQLString)."""

from __future__ import annotations

import re

from iceberg_spark.errors import InvalidExpressionError

_ESCAPE = re.compile(
    r"\\(?:u(?P<short>[0-9a-fA-F]{4})|U(?P<long>[0-9a-fA-F]{8})|(?P<octal>[0-3][0-7]{2})"
    r"|(?P<char>.))",
    re.DOTALL,
)
_CHARS = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a"}


def string_value(raw: str, *, raw_texts: bool = False) -> str:
    """Return the value of a string literal with its quotes, maybe with an `r` prefix.

    Raises InvalidExpressionError for text that is not such a literal, and for escapes that
    Spark's versions read differently.
    """
    prefix, body = (raw[:1], raw[1:]) if raw[:1] in ("r", "R") else ("", raw)
    quote = body[:1]
    if quote not in ("'", '"') or len(body) < 2 or body[-1] != quote:
        raise InvalidExpressionError(f"{raw} is no text in quotes")
    inner = body[1:-1]
    if prefix:
        if quote in inner:
            raise InvalidExpressionError(f"{raw}: a raw text can't contain quotes")
        return inner
    if raw_texts:
        if quote in inner:
            raise InvalidExpressionError(
                f"{raw}: with spark.sql.parser.escapedStringLiterals no quote is read in a text"
            )
        return inner
    return _ESCAPE.sub(_character, inner.replace(quote * 2, "\\" + quote))


def _character(match: re.Match[str]) -> str:
    short, long, octal, char = match.group("short", "long", "octal", "char")
    if char is not None:
        default = f"\\{char}" if char in "%_" else char
        return _CHARS.get(char, default)
    code = int(octal, 8) if octal is not None else int(short or long, 16)
    if (octal is not None and code > 0o177) or 0xD800 <= code <= 0xDFFF or code > 0x10FFFF:
        raise InvalidExpressionError(f"'{match.group()}' can't be read in a text: write the sign")
    return chr(code)
