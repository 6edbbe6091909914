"""SQL texts as Spark's expressions, without the variables that Spark's parser replaces.

Spark replaces `${env:HOME}` or `${spark.app.name}` in each text that it parses, also inside of
names and strings, so a column of that name would not be found. No setting prevents it for one text
alone. A text in which `$` and `{` are not adjacent has no variable: a string is written in two
parts, which Spark concatenates, and a name as IDENTIFIER(...).
"""

from __future__ import annotations

import re

from pyspark.sql import Column
from pyspark.sql import functions as sf

_VARIABLE = "${"
_NAME = r"(?:`(?:[^`]|``)*`|\w+)"
_TOKEN = re.compile(
    rf"""
    (?P<comment> --[^\n]* | /\*.*?\*/ )
  | (?P<string> [rR]'[^']*' | [rR]"[^"]*" | '(?:[^'\\]|\\.)*' | "(?:[^"\\]|\\.)*" )
  | (?P<alias> \b[aA][sS]\s+(?P<new>{_NAME}) )
  | (?P<field> (?<=[)\]])\s*\.\s*(?P<inner>{_NAME}) )
  | (?P<name> {_NAME}(?:\s*\.\s*{_NAME})* )
    """,
    re.DOTALL | re.VERBOSE,
)


def expression(text: str) -> Column:
    """Return an SQL text as a column; `${...}` in it stands for itself."""
    return sf.expr(without_variables(text))


def without_variables(text: str) -> str:
    """Return a text of the same meaning in which Spark's parser finds no variable.

    >>> without_variables("`${a}` = '${b}' AS `${c}`")
    "IDENTIFIER(CAST(X'60247b617d60' AS STRING)) = '$' '{b}' AS IDENTIFIER('`$' '{c}`')"
    """
    return _TOKEN.sub(_without_variables, text) if _VARIABLE in text else text


def _without_variables(token: re.Match[str]) -> str:
    text = token.group()
    if _VARIABLE not in text:
        return text
    if token["comment"]:
        return " "
    if token["string"]:
        opening = text[: 2 if text[0] in "rR" else 1]
        return text.replace(_VARIABLE, f"${text[-1]} {opening}{{")
    if token["alias"]:  # takes no expression, but strings
        return f"AS IDENTIFIER({_string(token['new'])})"
    if token["field"]:
        return f"[{_string(token['inner'][1:-1].replace('``', '`'))}]"
    return f"IDENTIFIER(CAST(X'{text.encode().hex()}' AS STRING))"


def _string(value: str) -> str:
    sign = '"' if "'" in value else "'"
    escaped = value.replace("\\", "\\\\").replace(sign, f"\\{sign}")
    return f"{sign}{escaped.replace(_VARIABLE, f'${sign} {sign}{{')}{sign}"
