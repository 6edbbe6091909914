"""Relations of classic sessions over the files of a plan, each file with values of its own.

Spark tells a row its file by `_metadata`, a struct that it makes for every row, and lists files
that are known. So a class of Java's, `PlannedRelations.java` beside this module, gives it the
files; no Connect session has one, nor a Spark on whose own classes it doesn't fit.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import Any
from uuid import uuid4

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from iceberg_spark.spark.session.classic_session import (
    is_connect,
    java_packages,
    java_static,
    java_texts,
)

_log = logging.getLogger(__name__)
_SOURCE, _PACKAGE, _CLASS = "PlannedRelations.java", "iceberg_spark", "PlannedRelations"


@dataclass(frozen=True, slots=True)
class GivenFiles:
    """The files of a relation and their values, whose type is `kind`: int, bigint or string.

    `cells` has for each file its path, its size in bytes and its values; an empty text is NULL.
    `read_bytes` is the size that the relation says it has.
    """

    kind: StructType
    cells: Sequence[str]
    read_bytes: int


def gives_file_values(session: SparkSession) -> bool:
    """Return whether a session's relations may have values of their files as columns."""
    return not is_connect(session) and _maker(java_packages(session)) is not None


def planned_relation(
    session: SparkSession,
    kind: StructType,
    options: Mapping[str, str],
    files: GivenFiles,
    listed: DataFrame | None = None,
) -> DataFrame:
    """Return a relation over Parquet files, of whose session `gives_file_values` is true.

    Its columns are those of `kind`, as in the files, and the files' values. `listed` is a relation
    of Spark's own over the same files, where their store says on which machines they lie.
    """
    inside: Any = session
    java = inside._jsparkSession
    types = [java.parseDataType(one.json()) for one in (kind, files.kind)]
    given = [text for option in options.items() for text in option]
    plan = _maker(java_packages(session)).relation(
        java,
        types[0],
        _texts(session, given),
        types[1],
        _texts(session, files.cells),
        files.read_bytes,
        _statuses(session, listed),
    )
    of_rows = java_static(session, "org.apache.spark.sql.classic.Dataset", "ofRows")
    return DataFrame(of_rows(java, plan), session)


def _statuses(session: SparkSession, listed: DataFrame | None) -> Any:
    if listed is None:
        return java_static(session, "scala.collection.immutable.Nil$", "MODULE$")
    inside: Any = listed
    return inside._jdf.logicalPlan().relation().location().allFiles()


def _texts(session: SparkSession, texts: Sequence[str]) -> Any:
    """Return an array of Java's of texts, which have some separator left to them."""
    found = java_texts(session, texts)
    if found is None:
        raise ValueError("no character is free to part the paths of files")
    return found


@lru_cache(maxsize=4)
def _maker(packages: Any) -> Any:
    """Return what makes relations in a JVM, None where Spark's classes are not those it knows."""
    try:
        return _compiled(packages)
    except (Py4JError, OSError):
        _log.warning("Spark's files can't be given values of their own", exc_info=True)
        return None


def _compiled(packages: Any) -> Any:
    """Compile the class and return an object of it.

    Its package has a name of its own: py4j knows classes by their names, and where a module is
    loaded anew it would call the methods of the class that was compiled before.
    """
    package = f"{_PACKAGE}.made_{uuid4().hex}"
    text = resources.files(__package__).joinpath(_SOURCE).read_text(encoding="utf-8")
    compiler = packages.org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(packages.java.lang.Thread.currentThread().getContextClassLoader())
    compiler.cook(text.replace(f"package {_PACKAGE};", f"package {package};"))
    found = compiler.getClassLoader().loadClass(f"{package}.{_CLASS}")
    return found.getDeclaredConstructor(None).newInstance(None)
