"""Completion of catalogs, namespaces, tables and columns in the cells of `%%iceberg`.

The names come from statements such as SHOW TABLES, which read no data. IPython's shell is passed
in; only its class of a completion is imported.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from iceberg_spark.errors import IcebergError
from iceberg_spark.lazy import LazyModule
from iceberg_spark.spark.session.active_session import active_session
from iceberg_spark.spec.quoted_name import quote
from iceberg_spark.statements.sql import sql

completer = LazyModule("IPython.core.completer")

_NAME = r"(?:`[^`]+`|\w+)(?:\.(?:`[^`]+`|\w+))*"
_TABLE = re.compile(
    rf"\b(?:FROM|JOIN|INTO|UPDATE|TABLE|USING)\s+({_NAME})(?:\s+(?:AS\s+)?(\w+))?", re.IGNORECASE
)
_PLAIN = re.compile(r"\w+")
_MAX_TABLES = 5
"""Tables of a cell whose columns are offered; each costs a load of its metadata."""


def add_completion(shell: Any, magic: str) -> None:
    """Complete names in cells of a magic; does nothing for an IPython without matchers."""
    matchers = getattr(getattr(shell, "Completer", None), "custom_matchers", None)
    if matchers is None:
        return

    def iceberg_names(context: Any) -> dict[str, Any]:
        is_sql = _is_in_magic(context.full_text, context.cursor_line, magic)
        session = active_session() if is_sql else None
        names = [] if session is None else names_for(session, context.full_text, context.token)
        completions = [completer.SimpleCompletion(text=name, type="name") for name in names]
        return {"completions": completions, "suppress": bool(completions)}

    iceberg_names.matcher_api_version = 2  # type: ignore[attr-defined]
    iceberg_names.matcher_identifier = magic  # type: ignore[attr-defined]
    remove_completion(shell, magic)
    matchers.append(iceberg_names)


def remove_completion(shell: Any, magic: str) -> None:
    """Take the completion of a magic away again."""
    matchers = getattr(getattr(shell, "Completer", None), "custom_matchers", [])
    matchers[:] = [m for m in matchers if getattr(m, "matcher_identifier", "") != magic]


def names_for(session: SparkSession, text: str, token: str) -> list[str]:
    """Return the names that continue a token in a text of SQL, sorted.

    `pr` -> `prod`; `prod.db.ev` -> `prod.db.events`; `e.i` -> `e.id` for `FROM prod.db.events e`.
    """
    parent, dot, start = token.rpartition(".")
    if dot:
        candidates = {*_tables(session, parent), *_namespaces(session, parent)}
        candidates |= set(_columns(session, text, parent))
    else:
        candidates = {*_column(session, "SHOW CATALOGS", "catalog"), *_tables(session, "")}
        candidates |= set(_columns(session, text, None))
    fits = (name for name in candidates if name.lower().startswith(start.lower()))
    return sorted(f"{parent}{dot}{_spelled(name)}" for name in fits)


def _is_in_magic(text: str, cursor_line: int, magic: str) -> bool:
    lines = text.split("\n")
    if lines[0].split()[:1] == [f"%%{magic}"]:
        return cursor_line > 0
    return lines[cursor_line].lstrip().startswith(f"%{magic} ")


def _tables(session: SparkSession, parent: str) -> Iterator[str]:
    yield from _column(
        session, f"SHOW TABLES IN {parent}" if parent else "SHOW TABLES", "tableName"
    )


def _namespaces(session: SparkSession, parent: str) -> Iterator[str]:
    for name in _column(session, f"SHOW NAMESPACES IN {parent}", "namespace"):
        yield name.rpartition(".")[2]


def _columns(session: SparkSession, text: str, qualifier: str | None) -> Iterator[str]:
    """Yield columns of the tables in a text, or of the one with this name or alias."""
    tables: dict[str, None] = {}
    for name, alias in _TABLE.findall(text):
        if qualifier is None or qualifier.lower() in (alias.lower(), name.lower()):
            tables[name] = None
    for name in list(tables)[:_MAX_TABLES]:
        yield from _column(session, f"SHOW COLUMNS IN {name}", "col_name")


def _column(session: SparkSession, statement: str, column: str) -> list[str]:
    """Return a column of a statement's rows, none if the statement fails: half a name may."""
    try:
        return [str(row[column]) for row in sql(session, statement).collect()]
    except (IcebergError, PySparkException):
        return []


def _spelled(name: str) -> str:
    return name if _PLAIN.fullmatch(name) else quote(name)
