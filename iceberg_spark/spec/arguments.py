"""Arguments as users give them: numbers of any library, times, names out of a few."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, SupportsIndex

from iceberg_spark.errors import InvalidInputError, InvalidOptionError, InvalidTypeError
from iceberg_spark.spec.nearest import nearest

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def check_int(value: object, name: str) -> int:
    """Return an integer, also NumPy's. Raises InvalidTypeError for anything else."""
    if isinstance(value, bool) or not isinstance(value, SupportsIndex):
        raise InvalidTypeError(
            f"{name} must be an integer, not {format_value(value)}{_hint(value, name)}"
        )
    return operator.index(value)


def moment_ms(value: object, name: str) -> int:
    """Return ms since the epoch of a number of them or of a datetime with a zone.

    Raises InvalidInputError for a datetime without one, InvalidTypeError for anything else.
    """
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise InvalidInputError(
                f"{name} {value} has no time zone; give one, as datetime(..., tzinfo=UTC) or "
                "value.astimezone(), or ms since the epoch"
            )
        return (value - _EPOCH) // timedelta(milliseconds=1)
    if isinstance(value, bool) or not isinstance(value, SupportsIndex):
        raise InvalidTypeError(
            f"{name} must be ms since the epoch or a datetime with a zone, "
            f"not {format_value(value)}"
        )
    return operator.index(value)


def one_of(value: object, name: str, allowed: Sequence[str]) -> None:
    """Check that a value is None or an allowed name. Raises InvalidOptionError."""
    if value is None or (isinstance(value, str) and value.lower() in allowed):
        return
    close = nearest(value, allowed) if isinstance(value, str) else None
    raise InvalidOptionError(
        f"{name} must be one of {', '.join(allowed)}, not {format_value(value)}"
        + (f"; did you mean '{close}'?" if close else "")
    )


def check_text(value: object, name: str) -> None:
    """Check that a value is None or a string. Raises InvalidTypeError."""
    if value is not None and not isinstance(value, str):
        raise InvalidTypeError(f"{name} must be text, not {format_value(value)}")


def format_value(value: Any) -> str:
    """Return a value for an error message: its repr, or only the type of a long one."""
    text = repr(value)
    return text if len(text) <= 80 and "\n" not in text else f"a {type(value).__name__}"


def _hint(value: object, name: str) -> str:
    if isinstance(value, str) and value.strip().lstrip("-").isdigit():
        return f": write {name}={value.strip()} without quotes"
    if hasattr(value, "snapshot_id"):
        return ": pass its snapshot_id"
    return ""


def names(value: Sequence[str] | str | None, argument: str) -> tuple[str, ...]:
    """Return a list of names; a single name may be passed as a string. Raises InvalidTypeError."""
    every = (value,) if isinstance(value, str) else value
    if every is None:
        return ("*",) if argument == "selected_fields" else ()
    if not isinstance(every, list | tuple) or not all(isinstance(name, str) for name in every):
        raise InvalidTypeError(f"{argument} must be a list of names, not {format_value(value)}")
    return tuple(every)
