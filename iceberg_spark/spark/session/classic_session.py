"""What a session tells by PySpark's internals, and what is told over Connect instead.

A classic session has a context (`_sc`) with the gateway to Java (`_jvm`) and Java's own session
(`_jsparkSession`); a Connect session has a client and none of these. Everything of them that is
used is here and, for frames, in `catalyst/classic_frame`: nowhere else are such names reached for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache, reduce
from typing import Any

from pyspark import SparkFiles
from pyspark.sql import DataFrame, SparkSession

from iceberg_spark.errors import InvalidInputError

_SEPARATORS = tuple(map(chr, (*range(9), *range(14, 32))))
"""Control characters; a pattern of such a character means the character."""


def is_connect(session: SparkSession) -> bool:
    """Return whether a session is a client of Spark Connect."""
    return _context(session) is None


def is_stopped(session: SparkSession) -> bool:
    """Return whether a session was stopped: PySpark says so over Connect only."""
    context = _context(session)
    return getattr(session, "is_stopped", False) if context is None else context._jsc is None


def session_key(session: object) -> str | None:
    """Return what is the same for all Python objects of one session, None for what is no session.

    Java's id of the session; over Connect PySpark has one.
    """
    java = getattr(session, "_jsparkSession", None)
    key = getattr(session, "session_id", None) if java is None else java.sessionUUID()
    return None if key is None else str(key)


def master(session: SparkSession) -> str | None:
    """Return the master, None over Connect, where the server's is not told."""
    context = _context(session)
    return None if context is None else str(context.master)


def worker_python(session: SparkSession) -> str | None:
    """Return the Python that workers are started with, None over Connect: the server's is its."""
    context = _context(session)
    return None if context is None else str(context.pythonExec)


def shipped_packages(session: SparkSession) -> tuple[str, ...]:
    """Return the packages that a session sends to its workers (--py-files, addPyFile), unpacked.

    Over Connect nothing is told.
    """
    context = _context(session)
    if context is None:
        return ()
    return tuple(SparkFiles.get(name) for name in context._python_includes or ())


def local_property(session: SparkSession, name: str) -> str:
    """Return what Spark notes of the thread that we run in; Connect has no such notes.

    Raises InvalidInputError where there is none.
    """
    context = _context(session)
    value = None if context is None else context.getLocalProperty(name)
    if value is None:
        raise InvalidInputError(f"Spark has no '{name}' here: this is no batch of a stream")
    return str(value)


def java_version(session: SparkSession) -> str | None:
    """Return the version of the driver's Java, None over Connect, where it is the server's."""
    context = _context(session)
    return None if context is None else str(java(session).lang.System.getProperty("java.version"))


def all_settings(session: SparkSession) -> dict[str, str]:
    """Return all settings of SQL that were made, by name.

    Six round trips, however many settings there are: Scala joins the names, and the values, around
    a character that is in none of them.
    """
    conf: Any = getattr(session.conf, "_jconf", None)
    settings = None if conf is None else conf.getAll()
    separator = None if settings is None else _free_separator([str(settings.toString())])
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
    """Return Java's own packages, of a classic session."""
    return java_packages(session).java


def java_packages(session: SparkSession) -> Any:
    """Return all packages of the JVM, of a classic session."""
    return _context(session)._jvm


def java_class(session: SparkSession, name: str) -> Any:
    """Return a class of the JVM by its whole name, of a classic session; looked up once.

    py4j asks for each part of a name anew: five round trips for five parts.
    """
    return _looked_up(_context(session)._jvm, name)


def java_static(session: SparkSession, name: str, member: str) -> Any:
    """Return a static member of a class, looked up once; `MODULE$` is an object of Scala's."""
    return _looked_up(_context(session)._jvm, name, member)


@lru_cache(maxsize=64)
def _looked_up(packages: Any, name: str, *member: str) -> Any:
    return reduce(getattr, (*name.split("."), *member), packages)


def hadoop_file_system(session: SparkSession, path: str) -> Any:
    """Return the file system by which a classic session's relations read a place.

    Raises what Java raises where it has none.
    """
    settings = session._jsparkSession.sessionState().newHadoopConf()
    address = java(session).net.URI.create(path)
    return _context(session)._jvm.org.apache.hadoop.fs.FileSystem.get(address, settings)


def frame_of_plan(session: SparkSession, plan: Any) -> DataFrame:
    """Return the frame of a classic session that a plan of Java's is."""
    inside: Any = session
    of_rows = java_static(session, "org.apache.spark.sql.classic.Dataset", "ofRows")
    return DataFrame(of_rows(inside._jsparkSession, plan), session)


def java_list(session: SparkSession, values: Iterable[Any]) -> Any:
    """Return a list of Java's, of a classic session; a round trip for each value."""
    java = java_class(session, "java.util.ArrayList")()
    for value in values:
        java.add(value)
    return java


def java_texts(session: SparkSession, texts: Sequence[str]) -> Any:
    """Return texts as an array of Java's; None over Connect, and where this is no help.

    PySpark hands a list over element by element, a round trip each: 20,000 take seconds. So the
    texts travel as one, around a character that is in none of them, and Java parts them.
    """
    if is_connect(session) or not texts:
        return None
    separator = _free_separator(texts)
    if separator is None:
        return None
    compiled = java_static(session, "java.util.regex.Pattern", "compile")(separator)
    return compiled.split(separator.join(texts), -1)


@contextmanager
def active_session_kept() -> Iterator[None]:
    """Make frames in the block with any session and leave the active one as it was.

    `createDataFrame` of a classic session makes that session the active one of the process, in
    Python and in Java. Connect's is not changed by that.
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


def _free_separator(texts: Sequence[str]) -> str | None:
    """Return a character that is in none of the texts, None if each is in one."""
    free = (separator for separator in _SEPARATORS if not any(separator in text for text in texts))
    return next(free, None)


def _context(session: SparkSession) -> Any:
    return getattr(session, "_sc", None)
