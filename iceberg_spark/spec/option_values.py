"""Options as users give them, read once into values; keys are compared without case."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from iceberg_spark.errors import InvalidOptionError
from iceberg_spark.spec.nearest import nearest

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
