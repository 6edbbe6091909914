"""Databases by URL, in the syntax of PyIceberg and of Java, and connections to them."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from iceberg_spark.errors import InvalidInputError, UnsupportedError
from iceberg_spark.lazy import LazyModule

sqlalchemy = LazyModule("sqlalchemy")
pool = LazyModule("sqlalchemy.pool")

URI = "uri"
_JDBC = "jdbc:"
_JDBC_USER, _JDBC_PASSWORD = "jdbc.user", "jdbc.password"
_WAIT_FOR_LOCK = 60  # seconds that SQLite waits while another process commits


def database_url(properties: Mapping[str, str]) -> Any:
    """Return SQLAlchemy's URL of a catalog's database.

    Takes `sqlite:////folder/c.db`, `postgresql://user:password@host/db` and Java's
    `jdbc:sqlite:/folder/c.db`, `jdbc:postgresql://host/db` with `jdbc.user` and `jdbc.password`.

    Raises:
        InvalidInputError: the URL is not valid.
        UnsupportedError: SQLAlchemy is not installed, or SQLite is in memory, which Spark's
            processes cannot reach.
    """
    uri = properties.get(URI, "")
    if not uri:
        raise InvalidInputError("A catalog of type sql needs the property uri of its database")
    try:
        parsed = sqlalchemy.make_url(_without_jdbc(uri))
    except ImportError as error:
        raise UnsupportedError(
            "Catalogs in a database need SQLAlchemy: pip install 'iceberg-spark[sql]'"
        ) from error
    except (sqlalchemy.exc.ArgumentError, ValueError):  # the cause would show parts of the URL
        raise InvalidInputError(_LIKE) from None
    if "@" in (parsed.host or "") or "@" in (parsed.username or ""):
        raise InvalidInputError(_LIKE)  # the host would be shown, with the password's end
    if parsed.get_backend_name() == "sqlite" and parsed.database in (None, "", ":memory:"):
        raise UnsupportedError(
            "A catalog in SQLite's memory is not seen by Spark's other processes: give a file, "
            "like sqlite:////folder/catalog.db"
        )
    query = dict(parsed.query)
    in_query = query.pop("user", None), query.pop("password", None)
    user = properties.get(_JDBC_USER) or in_query[0]
    password = properties.get(_JDBC_PASSWORD) or in_query[1]
    url = parsed.set(query=query)
    if parsed.get_backend_name() == "sqlite":  # a file needs no user; Java ignores it
        return url
    if user:
        url = url.set(username=user)
    return url.set(password=password) if password else url


def _without_jdbc(uri: str) -> str:
    if not uri.startswith(_JDBC):
        return uri
    text = uri[len(_JDBC) :]
    if text.startswith("sqlite:"):
        return f"sqlite:///{text[len('sqlite:') :]}"
    return text


_LIKE = (
    "The uri of a catalog in a database is like sqlite:////folder/catalog.db or "
    "postgresql://user:secret@host:5432/database; in a name or a secret @ is written %40, : %3A "
    "and / %2F"
)

_MOST_DATABASES = 8
_engines: OrderedDict[tuple[str, int], Any] = OrderedDict()
_lock = threading.Lock()


def engine_of(url: Any) -> Any:
    """Return this process's SQLAlchemy engine for a database; connects at first use.

    Keeps at most eight databases; closes the connections of the least recently used one.
    """
    key = url.render_as_string(hide_password=False), os.getpid()  # none survives a fork
    with _lock:
        if key not in _engines:
            _engines[key] = _engine(key[0])
        _engines.move_to_end(key)
        while len(_engines) > _MOST_DATABASES:
            (_, process), unused = _engines.popitem(last=False)
            unused.dispose(close=process == os.getpid())
        return _engines[key]


def _engine(url: str) -> Any:
    # Errors show no parameters. A connection may have died since its last use: check it first.
    settings: dict[str, Any] = {"hide_parameters": True, "pool_pre_ping": True}
    if url.startswith("sqlite"):
        settings = {
            "hide_parameters": True,
            "poolclass": pool.NullPool,
            "connect_args": {"timeout": _WAIT_FOR_LOCK},
        }
    try:
        return sqlalchemy.create_engine(url, **settings)
    except sqlalchemy.exc.NoSuchModuleError:
        kind = url.partition(":")[0]
        raise UnsupportedError(
            f"SQLAlchemy knows no database '{kind}': a uri begins with sqlite:// or postgresql://"
        ) from None
    except ImportError as error:
        raise UnsupportedError(
            f"The driver of this database is not installed ({error}); for Postgres: "
            "pip install 'iceberg-spark[postgres]' and postgresql:// as the uri's beginning"
        ) from error
