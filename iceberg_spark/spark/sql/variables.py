"""`${name}` in a text: the value of a setting, as Spark's parser substitutes it."""

from __future__ import annotations

import re

from pyspark.sql import SparkSession

from iceberg_spark.errors import InvalidInputError
from iceberg_spark.spark.session.own_methods import run_sql

_VARIABLE = re.compile(r"\$\{(?:(\w+?):)?(\S+?)\}")
_SETTINGS = (None, "spark", "sparkconf", "hivevar", "hiveconf")
_SERVERS = {"env": "getenv", "system": "getProperty"}
_SUBSTITUTES = "spark.sql.variable.substitute"
_DEEPEST = 40
"""How often values are searched for more variables."""


def with_variables(spark: SparkSession, text: str) -> str:
    """Return a text with the session's settings in place of `${name}`.

    A setting that is not set becomes empty, as in Spark (VariableSubstitution). `${env:...}` and
    `${system:...}`, which belong to the server, stay if they are not set. Raises InvalidInputError
    for settings that refer to each other.
    """
    if "${" not in text or spark.conf.get(_SUBSTITUTES, "true") == "false":
        return text
    for _ in range(_DEEPEST):
        replaced = _VARIABLE.sub(lambda match: _value(spark, match), text)
        if replaced == text:
            return text
        text = replaced
    raise InvalidInputError("Variables (${...}) of the statement stand for each other")


def _value(spark: SparkSession, match: re.Match[str]) -> str:
    kind, name = match.groups()
    if kind in _SETTINGS:
        return spark.conf.get(name, "") or ""
    if kind not in _SERVERS:
        return match.group()
    text = f"SELECT java_method('java.lang.System', '{_SERVERS[kind]}', :name)"
    value = run_sql(spark, text, {"name": name}).toArrow().column(0)[0].as_py()
    return match.group() if value == "null" else str(value)  # Java's null as a string
