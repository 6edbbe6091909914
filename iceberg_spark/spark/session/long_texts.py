"""Texts of Java's that may be long, of classic sessions: settings, and plans as JSON.

py4j's answers of more than 8 KiB take 40 ms each (`LongTexts.java`), so these come in pieces.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession

from iceberg_spark.spark.session.asked_once import once
from iceberg_spark.spark.session.compiled_java import compiled_object

_CLASS = "LongTexts"


def java_text(session: SparkSession, of: Any) -> str:
    """Return what an object of Java's says of itself: `toString`."""
    java = compiled_object(session, _CLASS, __package__)
    return str(of.toString()) if java is None else _whole(java.text(of))


def java_json(session: SparkSession, of: Any) -> str:
    """Return what a plan or an expression says of itself as JSON."""
    java = compiled_object(session, _CLASS, __package__)
    return str(of.toJSON()) if java is None else _whole(java.json(of))


def settings_text(session: SparkSession) -> str | None:
    """Return all settings of SQL that were made, as `{name=value, name=value}`.

    Two round trips, and one for each 8 KiB; `conf.getAll` makes two for each setting. None over
    Connect, where `conf.getAll` is one request.
    """
    conf: Any = getattr(session.conf, "_jconf", None)
    if conf is None:
        return None
    return once(session, "settings", lambda: java_text(session, conf.getAllAsJava()))


def _whole(said: Any) -> str:
    """Return a text that came whole or in pieces; `get` is one round trip, `[]` would be two."""
    if isinstance(said, str):
        return said
    return "".join(said.get(at) for at in range(said.size()))
