"""PySpark's internals of a session, and what replaces them over Connect.

A classic session has a context (`_sc`) with the gateway to the JVM (`_jvm`) and the JVM's session
(`_jsparkSession`). A Connect session has a client and none of these. Only this module and, for
DataFrames, `catalyst/classic_frame` use these private names.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache, reduce
from typing import Any

from pyspark import SparkFiles
from pyspark.sql import DataFrame, SparkSession

from iceberg_spark.errors import InvalidInputError

_SEPARATORS = tuple(map(chr, (*range(9), *range(14, 32))))
"""Control characters, which settings hardly ever have."""


def is_connect(session: SparkSession) -> bool:
    """Return whether a session is a Spark Connect client."""
    return _context(session) is None


def is_stopped(session: SparkSession) -> bool:
    """Return whether a session was stopped. PySpark reports it over Connect only."""
    context = _context(session)
    return getattr(session, "is_stopped", False) if context is None else context._jsc is None


def session_key(session: object) -> str | None:
    """Return a key that all Python objects of one session share, None if it is not a session.

    It is the UUID of the JVM's session, or over Connect PySpark's session id.
    """
    java = getattr(session, "_jsparkSession", None)
    key = getattr(session, "session_id", None) if java is None else java.sessionUUID()
    return None if key is None else str(key)


def master(session: SparkSession) -> str | None:
    """Return the master, None over Connect: the client does not know the server's."""
    context = _context(session)
    return None if context is None else str(context.master)


def default_parallelism(session: SparkSession) -> int:
    """Return Spark's default parallelism; 0 over Connect: the client does not know the server's."""
    context = _context(session)
    return 0 if context is None else int(context.defaultParallelism)


def worker_python(session: SparkSession) -> str | None:
    """Return the Python executable of the workers, None over Connect, where the server decides."""
    context = _context(session)
    return None if context is None else str(context.pythonExec)


def shipped_packages(session: SparkSession) -> tuple[str, ...]:
    """Return the unpacked packages that a session sends to its workers (--py-files, addPyFile).

    Returns none over Connect, where the client does not know them.
    """
    context = _context(session)
    if context is None:
        return ()
    return tuple(SparkFiles.get(name) for name in context._python_includes or ())


def local_property(session: SparkSession, name: str) -> str:
    """Return a local property that Spark sets for this thread.

    Raises InvalidInputError if there is none, and over Connect.
    """
    context = _context(session)
    value = None if context is None else context.getLocalProperty(name)
    if value is None:
        raise InvalidInputError(f"Spark has no '{name}' here: this is no batch of a stream")
    return str(value)


def java_version(session: SparkSession) -> str | None:
    """Return the version of the driver's Java, None over Connect."""
    context = _context(session)
    return None if context is None else str(java(session).lang.System.getProperty("java.version"))


def all_settings(session: SparkSession) -> dict[str, str]:
    """Return all SQL settings that were set, by name.

    It takes six round trips for any number of settings: Scala joins the names, and the values, with
    a separator that none of them contains.
    """
    conf: Any = getattr(session.conf, "_jconf", None)
    settings = None if conf is None else conf.getAll()
    separator = None if settings is None else _free_separator(str(settings.toString()))
    if settings is None or separator is None:
        return {str(key): str(value) for key, value in dict(session.conf.getAll).items()}
    names, values = (
        str(texts.mkString(separator)) for texts in (settings.keys(), settings.values())
    )
    by_name = dict(zip(names.split(separator), values.split(separator), strict=True))
    return by_name if names else {}


def session_of_catalog(catalog: Any) -> SparkSession:
    """Return the session of a `spark.catalog`, classic or Connect."""
    session: SparkSession = catalog._sparkSession
    return session


def java(session: SparkSession) -> Any:
    """Return Java's own packages in a classic session."""
    return java_packages(session).java


def java_packages(session: SparkSession) -> Any:
    """Return all packages of a classic session's JVM."""
    return _context(session)._jvm


def java_class(session: SparkSession, name: str) -> Any:
    """Return a class of a classic session's JVM by its full name, looked up once.

    py4j looks up each part of a name: five round trips for five parts.
    """
    return _looked_up(_context(session)._jvm, name)


def java_static(session: SparkSession, name: str, member: str) -> Any:
    """Return a static member of a class, looked up once. `MODULE$` is a Scala object."""
    return _looked_up(_context(session)._jvm, name, member)


@lru_cache(maxsize=64)
def _looked_up(packages: Any, name: str, *member: str) -> Any:
    return reduce(getattr, (*name.split("."), *member), packages)


def hadoop_file_system(session: SparkSession, path: str) -> Any:
    """Return the file system with which a classic session's relations read a path.

    Raises what Java raises if there is none.
    """
    settings = session._jsparkSession.sessionState().newHadoopConf()
    address = java(session).net.URI.create(path)
    return _context(session)._jvm.org.apache.hadoop.fs.FileSystem.get(address, settings)


def frame_of_plan(session: SparkSession, plan: Any) -> DataFrame:
    """Return a Java plan as a DataFrame of a classic session."""
    inside: Any = session
    of_rows = java_static(session, "org.apache.spark.sql.classic.Dataset", "ofRows")
    return DataFrame(of_rows(inside._jsparkSession, plan), session)


def java_list(session: SparkSession, values: Iterable[Any]) -> Any:
    """Return a Java list for a classic session. Each value takes a round trip."""
    java = java_class(session, "java.util.ArrayList")()
    for value in values:
        java.add(value)
    return java


def java_texts(session: SparkSession, texts: Sequence[str]) -> Any:
    """Return texts as a Java array; None over Connect.

    PySpark passes a list element by element, a round trip each: 20,000 take seconds. So the texts
    travel as one JSON array.
    """
    if is_connect(session):
        return None
    reader, kind = _json_reader(java_packages(session))
    return reader.readValue(json.dumps(list(texts)), kind)


@lru_cache(maxsize=8)
def _json_reader(packages: Any) -> tuple[Any, Any]:
    """Return a reader of JSON, and the type of an array of texts."""
    reader = packages.com.fasterxml.jackson.databind.ObjectMapper()
    return reader, packages.java.lang.Class.forName("[Ljava.lang.String;")


@contextmanager
def active_session_kept() -> Iterator[None]:
    """Restore the active session after a block that creates DataFrames with any session.

    `createDataFrame` of a classic session makes that session active in the process, in Python and
    in the JVM. Over Connect it does not.
    """
    before = SparkSession._activeSession
    try:
        yield
    finally:
        after = SparkSession._activeSession
        if after is not before and after is not None and before is not None:
            SparkSession._activeSession = before
            kind = SparkSession._get_j_spark_session_class(after._jvm)
            kind.setActiveSession(before._jsparkSession)


def _free_separator(text: str) -> str | None:
    """Return a separator that a text does not contain, None if there is none."""
    return next((separator for separator in _SEPARATORS if separator not in text), None)


def _context(session: SparkSession) -> Any:
    return getattr(session, "_sc", None)
