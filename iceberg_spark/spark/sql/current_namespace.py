"""The namespace of an Iceberg catalog that `USE` chose. Over Connect, Spark does not have it."""

from __future__ import annotations

import re
import threading
from typing import TypeAlias

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from iceberg_spark.spark.catalyst.spark_catalog import registered_catalogs, use_in_spark
from iceberg_spark.spark.session.classic_session import session_key
from iceberg_spark.spark.session.own_methods import original_methods
from iceberg_spark.spark.session.session_cache import cached
from iceberg_spark.spark.session.session_catalogs import has_spark_catalog, is_ours
from iceberg_spark.spec.quoted_name import quote

Name: TypeAlias = tuple[str, ...]
_SPARKS = frozenset({"spark_catalog", "global_temp", "session", "system"})
_OWN = re.compile("iceberg_spark_[0-9a-f]{32}")
"""Names of the views that represent DataFrames and tables while a statement runs."""
_lock = threading.Lock()
_current: dict[str, Name] = {}
"""Catalog and namespace by session id: a few characters for each session that ran USE."""


def current_namespace(session: SparkSession) -> Name | None:
    """Return the Iceberg catalog and namespace of unqualified names; None if they are Spark's."""
    if not _current:
        return None
    return _current.get(session_key(session) or "")


def use_namespace(session: SparkSession, name: Name | None) -> None:
    """Choose the namespace of unqualified names; None lets Spark resolve them again.

    Spark resolves names in that namespace too, if it has the catalog.
    """
    key = session_key(session) or ""
    with _lock:
        if name is None:
            _current.pop(key, None)
        else:
            _current[key] = name
    if name is not None:
        use_in_spark(session, name[0], name[1:])


def whole_name(session: SparkSession, name: Name, *, new: bool = False) -> Name:
    """Return the full name of a table, with catalog and namespace, as the session resolves it.

    As in Spark, a temporary view takes precedence over a table (not over a `new` one). A name of
    several parts begins with a catalog or belongs to the current catalog.
    """
    current = current_namespace(session)
    if current is None or not name or "/" in name[-1] or _OWN.fullmatch(name[0]):
        return name
    if len(name) == 1:
        is_view = not new and _is_temporary_view(session, name[0])
        return name if is_view else (*current, *name)
    return name if begins_with_catalog(session, name) else (current[0], *name)


def whole_namespace(session: SparkSession, name: Name) -> Name:
    """Return the full name of a namespace, with its catalog, as the session resolves it."""
    current = current_namespace(session)
    if current is None or not name:
        return current or name
    return name if begins_with_catalog(session, name) else (current[0], *name)


def is_iceberg_table(session: SparkSession, name: Name) -> bool:
    """Return whether a full name belongs to an Iceberg catalog, whether or not the table exists.

    `cat.t` is a table in the catalog's root namespace, unless Spark has a database `cat`.
    """
    return is_iceberg_namespace(session, name[:-1])


def is_iceberg_namespace(session: SparkSession, name: Name) -> bool:
    """Return whether a full name is an Iceberg catalog, or a namespace in one.

    A catalog takes precedence over a database of the same name, as in Spark. Over Connect the
    database does, unless the session has a class for the catalog: Spark does not know the catalog
    there.
    """
    if not name or not is_ours(session, name[0]):
        return False
    if len(name) > 1 or registered_catalogs(session) is not None:
        return True
    if has_spark_catalog(session, name[0]):
        return True
    return not cached(session, ("database", name[0]), lambda: _database_exists(session, name[0]))


def _database_exists(session: SparkSession, name: str) -> bool:
    with original_methods():
        return session.catalog.databaseExists(quote(name))


def begins_with_catalog(session: SparkSession, name: Name) -> bool:
    """Return whether the first part of a name is a catalog, Iceberg's or Spark's."""
    first = name[0]
    return first in _SPARKS or is_ours(session, first) or has_spark_catalog(session, first)


def _is_temporary_view(session: SparkSession, name: str) -> bool:
    try:
        with original_methods():
            return bool(session.catalog.getTable(quote(name)).isTemporary)
    except AnalysisException:
        return False
