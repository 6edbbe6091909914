"""Arguments and options as callers pass them, parsed into values."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
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


STORAGE_PREFIXES = ("s3.", "gcs.", "adls.", "hdfs.", "client.", "io.", "catalog.")


def split_list(text: str) -> tuple[str, ...]:
    """Split at commas outside parentheses and backticks: "bucket(16, id), days(ts)" is two."""
    parts, depth, quoted, start = [], 0, False, 0
    for index, char in enumerate(text):
        if char == "`":
            quoted = not quoted
        elif not quoted and char in "()":
            depth += 1 if char == "(" else -1
        elif char == "," and depth == 0 and not quoted:
            parts.append(text[start:index])
            start = index + 1
    parts.append(text[start:])
    return tuple(part.strip() for part in parts if part.strip())


def known_options(
    options: Mapping[str, str], names: Iterable[str], prefixes: tuple[str, ...]
) -> dict[str, str]:
    """Return options by lower-case name, without storage properties.

    Raises InvalidOptionError for an unknown one, suggesting the closest known name.
    """
    names_by_lower = {name.lower(): name for name in names}
    values: dict[str, str] = {}
    for key, value in options.items():
        lower = key.lower()
        if lower in names_by_lower:
            values[lower] = value
        elif lower != "path" and not lower.startswith((*prefixes, *STORAGE_PREFIXES)):
            close = nearest(key, [*names_by_lower.values(), *prefixes])
            advice = "remove it" if close is None else f"did you mean '{close}'?"
            raise InvalidOptionError(f"Unknown option '{key}'; {advice}")
    return values


def option_path(options: Mapping[str, str]) -> str:
    """Return the table that was named. Raises InvalidOptionError where none was."""
    path = next((value for key, value in options.items() if key.lower() == "path"), None)
    if not path:
        raise InvalidOptionError(
            "No table given: pass its location, metadata.json or identifier to load() or save(). "
            "A pipeline writes to dp.create_sink(name, 'pyiceberg-lite', {'path': ...})"
        )
    return path


def options_under(options: Mapping[str, str], prefix: str) -> dict[str, str]:
    """Return the options with a prefix, which is removed from their names."""
    return {
        key[len(prefix) :]: value
        for key, value in options.items()
        if key.lower().startswith(prefix)
    }


def options_with_prefix(options: Mapping[str, str], prefixes: tuple[str, ...]) -> dict[str, str]:
    """Return the options with one of the prefixes, unchanged."""
    return {key: value for key, value in options.items() if key.lower().startswith(prefixes)}


def integer_option(options: Mapping[str, str], name: str) -> int | None:
    """Return an integer, None if the option is not set. Raises InvalidOptionError."""
    text = options.get(name.lower())
    if text is None:
        return None
    try:
        return int(text)
    except ValueError:
        raise InvalidOptionError(f"Option '{name}' must be a whole number, not '{text}'") from None


def positive_option(options: Mapping[str, str], name: str) -> int | None:
    """Return an integer above 0, None if the option is not set. Raises InvalidOptionError."""
    value = integer_option(options, name)
    if value is not None and value <= 0:
        raise InvalidOptionError(f"Option '{name}' must be above 0, not {value}")
    return value


def boolean_option(options: Mapping[str, str], name: str, *, default: bool) -> bool:
    """Return true or false. Raises InvalidOptionError for another word."""
    text = options.get(name.lower())
    if text is None:
        return default
    if text.lower() not in ("true", "false"):
        raise InvalidOptionError(f"Option '{name}' must be true or false, not '{text}'")
    return text.lower() == "true"


def choice_option(options: Mapping[str, str], name: str, allowed: tuple[str, ...]) -> str | None:
    """Return one of the allowed words, in lower case. Raises InvalidOptionError."""
    text = options.get(name.lower())
    if text is not None and text.lower() not in allowed:
        raise InvalidOptionError(
            f"Option '{name}' must be one of {', '.join(allowed)}, not '{text}'"
        )
    return None if text is None else text.lower()
