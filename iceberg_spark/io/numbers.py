"""Numbers and switches among storage properties."""

from __future__ import annotations

from collections.abc import Mapping

from iceberg_spark.errors import InvalidOptionError

_MOST = 1e6  # seconds: eleven days
_TRUE = ("true", "1", "yes", "on")


def is_true(properties: Mapping[str, str], key: str) -> bool:
    """Return whether a switch is on."""
    return properties.get(key, "").lower() in _TRUE


def number(properties: Mapping[str, str], key: str, default: float) -> float:
    """Return a numeric storage property. Raises InvalidOptionError naming it."""
    text = properties.get(key)
    if text is None:
        return default
    try:
        value = float(text)
    except ValueError:
        raise InvalidOptionError(f"Storage property {key} must be a number, not '{text}'") from None
    if not 0 <= value <= _MOST:
        raise InvalidOptionError(f"Storage property {key} must be from 0 to {_MOST:g}, not {text}")
    return value
