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
    """Return options of these names by their names in lower case, without storage properties.

    Raises InvalidOptionError for an unknown one, naming the nearest known one, if one is near.
    """
    known = {name.lower(): name for name in names}
    given: dict[str, str] = {}
    for key, value in options.items():
        lower = key.lower()
        if lower in known:
            given[lower] = value
        elif lower != "path" and not lower.startswith((*prefixes, *STORAGE_PREFIXES)):
            close = nearest(key, [*known.values(), *prefixes])
            advice = "remove it" if close is None else f"did you mean '{close}'?"
            raise InvalidOptionError(f"Unknown option '{key}'; {advice}")
    return given


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
    """Return what stands behind a prefix, which is taken off."""
    return {
        key[len(prefix) :]: value
        for key, value in options.items()
        if key.lower().startswith(prefix)
    }


def options_with_prefix(options: Mapping[str, str], prefixes: tuple[str, ...]) -> dict[str, str]:
    """Return the options that begin so, as they are."""
    return {key: value for key, value in options.items() if key.lower().startswith(prefixes)}


def integer_option(given: Mapping[str, str], name: str) -> int | None:
    """Return a whole number, None where it was not said. Raises InvalidOptionError."""
    text = given.get(name.lower())
    if text is None:
        return None
    try:
        return int(text)
    except ValueError:
        raise InvalidOptionError(f"Option '{name}' must be a whole number, not '{text}'") from None


def positive_option(given: Mapping[str, str], name: str) -> int | None:
    """Return a whole number above 0, None where it was not said. Raises InvalidOptionError."""
    value = integer_option(given, name)
    if value is not None and value <= 0:
        raise InvalidOptionError(f"Option '{name}' must be above 0, not {value}")
    return value


def boolean_option(given: Mapping[str, str], name: str, *, default: bool) -> bool:
    """Return true or false. Raises InvalidOptionError for another word."""
    text = given.get(name.lower())
    if text is None:
        return default
    if text.lower() not in ("true", "false"):
        raise InvalidOptionError(f"Option '{name}' must be true or false, not '{text}'")
    return text.lower() == "true"


def choice_option(given: Mapping[str, str], name: str, allowed: tuple[str, ...]) -> str | None:
    """Return one of the allowed words, in lower case. Raises InvalidOptionError."""
    text = given.get(name.lower())
    if text is not None and text.lower() not in allowed:
        raise InvalidOptionError(
            f"Option '{name}' must be one of {', '.join(allowed)}, not '{text}'"
        )
    return None if text is None else text.lower()
