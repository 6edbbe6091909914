"""Properties with secrets hidden, as Spark shows them (Spark: SQLConf.redactOptions)."""

from __future__ import annotations

import re
from collections.abc import Mapping

from pyspark.sql import SparkSession

REDACTION = "spark.redaction.regex"
BY_DEFAULT = "(?i)secret|password|token|access[.]?key"
_OF_OPTIONS = "spark.sql.redaction.options.regex"
_OPTIONS_BY_DEFAULT = "(?i)url"
_HIDDEN = "*********(redacted)"


def without_secrets(session: SparkSession, properties: Mapping[str, str]) -> dict[str, str]:
    """Return properties, with those hidden whose name or value a redaction setting matches.

    If only Java can compile the pattern of a setting, all properties are hidden.
    """
    settings = {_OF_OPTIONS: _OPTIONS_BY_DEFAULT, REDACTION: BY_DEFAULT}
    patterns = [_compiled(session.conf.get(name, default)) for name, default in settings.items()]
    return {
        name: _HIDDEN
        if any(pattern.search(name) or pattern.search(value) for pattern in patterns)
        else value
        for name, value in properties.items()
    }


def _compiled(expression: str | None) -> re.Pattern[str]:
    if not expression:
        return re.compile("(?!)")
    try:
        return re.compile(expression)
    except re.error:
        return re.compile("")
