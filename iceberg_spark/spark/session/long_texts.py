"""Long texts from a classic session's JVM, such as all its settings.

An answer of py4j of more than 8 KiB takes 40 ms (`LongTexts.java`), so long texts come in pieces.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession

from iceberg_spark.spark.session.compiled_java import compiled_object
from iceberg_spark.spark.session.session_cache import cached

_CLASS = "LongTexts"


def java_text(session: SparkSession, of: Any) -> str:
    """Return the `toString` of a Java object."""
    java = compiled_object(session, _CLASS, __package__)
    return str(of.toString()) if java is None else _joined(java.text(of))


def settings_text(session: SparkSession) -> str | None:
    """Return all SQL settings that were set, as `{name=value, name=value}`.

    It takes two round trips, and one for each 8 KiB; `conf.getAll` takes two for each setting.
    Returns None over Connect, where `conf.getAll` is one request.
    """
    conf: Any = getattr(session.conf, "_jconf", None)
    if conf is None:
        return None
    return cached(session, "settings", lambda: java_text(session, conf.getAllAsJava()))


def _joined(text: Any) -> str:
    """Return a text from one or more pieces. `get` takes one round trip, `[]` would take two."""
    if isinstance(text, str):
        return text
    return "".join(text.get(index) for index in range(text.size()))
