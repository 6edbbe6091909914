"""Lengths of time as people write them."""

from __future__ import annotations

import re

_SECOND = 1_000
_UNITS = {
    "ms": 1, "millisecond": 1, "s": _SECOND, "sec": _SECOND, "second": _SECOND,
    "min": 60 * _SECOND, "minute": 60 * _SECOND, "h": 3_600 * _SECOND, "hour": 3_600 * _SECOND,
    "d": 86_400 * _SECOND, "day": 86_400 * _SECOND, "week": 604_800 * _SECOND,
}  # fmt: skip
_TEXT = re.compile(r"(?:interval\s+)?(\d{1,15})\s*([a-z]*)", re.IGNORECASE)


def duration_ms(text: str) -> int | None:
    """Return a length of time in ms: "7 days", "interval 12 hours", "500 ms"; a number is ms.

    None for another text.
    """
    match = _TEXT.fullmatch(text.strip())
    if match is None:
        return None
    unit = match.group(2).lower()
    factor = _UNITS.get(unit or "ms", _UNITS.get(unit.removesuffix("s")))
    return None if factor is None else int(match.group(1)) * factor
