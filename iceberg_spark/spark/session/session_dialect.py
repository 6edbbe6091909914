"""What a session's settings say about the meaning of SQL text."""

from __future__ import annotations

import re
from functools import lru_cache, partial

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from iceberg_spark.expr.dialect import Dialect
from iceberg_spark.spark.session.classic_session import all_settings
from iceberg_spark.spark.session.long_texts import settings_text
from iceberg_spark.spark.session.session_cache import cached

_ANSI = "spark.sql.ansi.enabled"
_NAMES = "spark.sql.ansi.doubleQuotedIdentifiers"
_RAW = "spark.sql.parser.escapedStringLiterals"
# How a join or a SELECT is read, which no predicate has; Hive's and formats' own.
_HARMLESS = (
    _ANSI, _NAMES, _RAW, "spark.sql.ansi.relationPrecedence",
    "spark.sql.parser.quotedRegexColumnNames", "spark.sql.legacy.setopsPrecedence",
    "spark.sql.legacy.parquet.", "spark.sql.legacy.avro.", "spark.sql.legacy.json.",
    "spark.sql.legacy.csv.", "spark.sql.legacy.hive.", "spark.sql.legacy.timeParserPolicy",
    "spark.sql.legacy.createHiveTableByDefault", "spark.sql.legacy.execution.",
    "spark.sql.legacy.setCommandRejectsSparkCoreConfs", "spark.sql.legacy.charVarcharAsString",
)  # fmt: skip
_GROUPS = ("spark.sql.ansi.", "spark.sql.parser.", "spark.sql.legacy.")
_CASE = "spark.sql.caseSensitive"
_TIMESTAMP = "spark.sql.timestampType"
OWN_FUNCTIONS = "org.apache.spark.sql.catalyst.expressions."
_MOST_FUNCTIONS = 64
"""Of how many functions it is kept, for one statement, whether the session has replaced them."""
_SETTING = re.compile(r"(?:\{|, )(spark\.sql\.[\w.]+)=([^,}]*)")


def session_dialect(session: SparkSession) -> Dialect:
    """Return how a session reads SQL.

    Of settings that are not known here any that is on counts as changing a meaning.
    """
    return cached(session, "dialect", lambda: _dialect(session))


def _dialect(session: SparkSession) -> Dialect:
    ansi = str(session.conf.get(_ANSI)).lower() == "true"
    settings = _settings(session)
    return Dialect(
        quoted_names=ansi and _is_on(settings.get(_NAMES)),
        raw_texts=_is_on(settings.get(_RAW)),
        ansi=ansi,
        changed=tuple(sorted(key for key, value in settings.items() if _changes(key, value))),
        case_sensitive=_is_on(settings.get(_CASE)),
        is_replaced=lru_cache(_MOST_FUNCTIONS)(partial(_is_replaced, session)),
    )


def _is_replaced(session: SparkSession, name: str) -> bool:
    """Return whether a function may be another than Spark's; a round trip or two."""
    try:
        class_name = session.catalog.getFunction(name).className
    except PySparkException:
        return True
    return not (class_name or "").startswith(OWN_FUNCTIONS)


def _settings(session: SparkSession) -> dict[str, str]:
    """Return the settings of SQL that were made; one or two round trips."""
    text = settings_text(session)
    if text is None:
        return all_settings(session)
    return dict(_SETTING.findall(text))


def _is_on(value: str | None) -> bool:
    return value is not None and value.lower() == "true"


def _changes(key: str, value: str) -> bool:
    if key == _TIMESTAMP:
        return value.upper() != "TIMESTAMP_LTZ"
    if "collation" in key.lower():
        return "default" in key.lower() and value.upper() not in ("", "UTF8_BINARY")
    return key.startswith(_GROUPS) and not key.startswith(_HARMLESS) and value.lower() != "false"
