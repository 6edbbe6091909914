"""Bounds cut to a width: the lower one down, the upper one up.

Source: Java's UnicodeUtil and BinaryUtil; specification, "Field-level Metrics and Statistics".
"""

from __future__ import annotations

from typing import Any

from iceberg_spark.spec.types import BinaryType, IcebergType, StringType
from iceberg_spark.spec.values import to_bytes

_LAST_CODE_POINT = 0x10FFFF
_BEFORE_SURROGATES, _AFTER_SURROGATES = 0xD7FF, 0xE000
_LAST_BYTE = 0xFF


def lower_bound(kind: IcebergType, value: Any, width: int | None) -> bytes:
    """Return a bound at or below a canonical value, text and bytes cut to `width`."""
    if width is not None and isinstance(kind, StringType | BinaryType):
        value = value[:width]
    return to_bytes(kind, value)


def upper_bound(
    kind: IcebergType, value: Any, width: int | None, *, or_whole: bool = False
) -> bytes | None:
    """Return a bound at or above a canonical value.

    Text and bytes that are cut have their last code point or byte increased that can be. Where
    none can be, the bound is the whole value (`or_whole`) or None: left out.
    """
    if width is None or not isinstance(kind, StringType | BinaryType) or len(value) <= width:
        return to_bytes(kind, value)
    is_text = isinstance(kind, StringType)
    raised = _next_text(value[:width]) if is_text else _next_bytes(value[:width])
    if raised is None:
        return to_bytes(kind, value) if or_whole else None
    return to_bytes(kind, raised)


def _next_text(prefix: str) -> str | None:
    for index in range(len(prefix) - 1, -1, -1):
        code_point = ord(prefix[index])
        if code_point < _LAST_CODE_POINT:
            after = _AFTER_SURROGATES if code_point == _BEFORE_SURROGATES else code_point + 1
            return prefix[:index] + chr(after)
    return None


def _next_bytes(prefix: bytes) -> bytes | None:
    for index in range(len(prefix) - 1, -1, -1):
        if prefix[index] < _LAST_BYTE:
            return prefix[:index] + bytes([prefix[index] + 1])
    return None
