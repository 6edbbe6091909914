"""Calls of a Hive metastore over Thrift, and the outcome of calls without a response."""

from __future__ import annotations

import getpass
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any
from urllib.parse import urlsplit

from tenacity import Retrying, retry_if_exception_type, stop_after_attempt, wait_random_exponential

from iceberg_spark.errors import InvalidInputError, StorageError, UnsupportedError
from iceberg_spark.lazy import LazyModule

thrift = LazyModule("thrift.Thrift")
socket = LazyModule("thrift.transport.TSocket")
transport = LazyModule("thrift.transport.TTransport")
protocol = LazyModule("thrift.protocol.TBinaryProtocol")
calls = LazyModule("hive_metastore.ThriftHiveMetastore")
hive = LazyModule("hive_metastore.ttypes")

URI = "uri"
_TIMEOUT = "hive.metastore.client.socket.timeout"
_LONGEST_ANSWER = 300.0  # seconds
_LONGEST_CONNECT = 20.0  # seconds
_PORT = 9083
_ENDED = (0, 1, 4)
"""Thrift's UNKNOWN (a connection that was reset), NOT_OPEN and END_OF_FILE."""
_TRIES = 4
"""How often to repeat a call that changes nothing, after a lost response."""

_NOT_SUPPORTED = {
    "hive.kerberos-authentication": "true",
    "hive.metastore.sasl.enabled": "true",
    "hive.metastore.use.SSL": "true",
    "hive.metastore.client.thrift.transport.mode": "http",
}


class Metastore:
    """The address of a metastore; one of several that share a database."""

    __slots__ = ("_places", "_timeout_ms", "_user", "user")

    def __init__(self, properties: Mapping[str, str]) -> None:
        """Does not connect yet. Raises InvalidInputError, UnsupportedError."""
        for key, value in _NOT_SUPPORTED.items():
            if properties.get(key, "").lower() == value:
                raise UnsupportedError(
                    f"{key}={value}: a Hive metastore is spoken to over plain Thrift only, without "
                    "Kerberos, TLS or HTTP. Its tables are reached by an Iceberg REST catalog over "
                    "it (type rest), read by the location of their metadata file, and by Java"
                )
        self._places = [_address(uri) for uri in properties.get(URI, "").split(",")]
        self._timeout_ms = _timeout(properties.get(_TIMEOUT)) * 1000
        self._user = properties.get("ugi")
        self.user = self._user.split(":")[0] if self._user else getpass.getuser()

    @contextmanager
    def session(self) -> Iterator[Session]:
        """Open a session with one connection, which the first call creates."""
        session = Session(self)
        try:
            yield session
        finally:
            session.close()

    def connect(self) -> tuple[Any, Any]:
        """Return a client and its transport. Raises StorageError if no server responds."""
        failed = []
        for host, port in self._places:
            line = socket.TSocket(host, port)
            line.setTimeout(_LONGEST_CONNECT * 1000)
            buffered = transport.TBufferedTransport(line)
            client = calls.Client(protocol.TBinaryProtocol(buffered))
            try:
                buffered.open()
                line.setTimeout(self._timeout_ms)
                if self._user:
                    user, *groups = self._user.split(":")
                    client.set_ugi(user, groups)
            except (thrift.TException, OSError) as error:
                buffered.close()
                failed.append(f"{host}:{port} ({error_text(error)})")
            else:
                return client, buffered
        raise StorageError(f"No Hive metastore answers at {', '.join(failed)}")


class Session:
    """Calls over one connection, which is created again after it broke. For one thread."""

    __slots__ = ("_client", "_line", "_metastore")

    def __init__(self, metastore: Metastore) -> None:
        self._metastore = metastore
        self._client: Any = None
        self._line: Any = None

    def close(self) -> None:
        """Close the connection."""
        if self._line is not None:
            with suppress(Exception):
                self._line.close()
        self._client = self._line = None

    def once(self, method: str, *arguments: object) -> Any:
        """Call the metastore. StorageError: it is unknown whether the call was executed.

        Raises the metastore's own errors unchanged (`hive_metastore.ttypes`).
        """
        if self._client is None:
            self._client, self._line = self._metastore.connect()
        try:
            return getattr(self._client, method)(*arguments)
        except thrift.TApplicationException as error:
            self.close()
            if error.type == thrift.TApplicationException.UNKNOWN_METHOD:
                raise UnsupportedError(f"The Hive metastore has no call {method}") from error
            raise _without_answer(method, error) from error
        except (transport.TTransportException, protocol.TProtocolException, OSError) as error:
            self.close()
            raise _without_answer(method, error) from error
        except BaseException as error:
            if not isinstance(error, thrift.TException):  # an interrupt: the response is pending
                self.close()
            raise

    def read(self, method: str, *arguments: object) -> Any:
        """Make a call that changes nothing; repeat it if the response is lost."""
        asking = Retrying(
            retry=retry_if_exception_type(StorageError),
            stop=stop_after_attempt(_TRIES),
            wait=wait_random_exponential(multiplier=0.1, max=2),
            reraise=True,
        )
        return asking(self.once, method, *arguments)


def error_text(error: BaseException) -> str:
    """Return the text of an error of Thrift or of the metastore, in one line."""
    text = getattr(error, "message", None) or str(error)
    return " ".join(str(text).split()) or type(error).__name__


def _without_answer(method: str, error: BaseException) -> StorageError:
    hint = ""
    if isinstance(error, transport.TTransportException) and error.type in _ENDED:
        hint = " (one that wants Kerberos or TLS ends lines so; both are not supported)"
    return StorageError(f"The Hive metastore did not answer {method}: {error_text(error)}{hint}")


def _address(uri: str) -> tuple[str, int]:
    split = urlsplit(uri.strip())
    try:
        host, port = split.hostname, split.port or _PORT
    except ValueError as error:
        raise InvalidInputError(f"'{uri}' is not like thrift://host:{_PORT}") from error
    if split.scheme != "thrift" or not host:
        raise InvalidInputError(
            "A catalog of type hive needs the property uri of its metastore, like "
            f"thrift://host:{_PORT}, or several with commas"
        )
    return host, port


def _timeout(text: str | None) -> float:
    """Return seconds from Hive's syntax: `600` or `600s`."""
    if text is None:
        return _LONGEST_ANSWER
    try:
        return float(text.removesuffix("s"))
    except ValueError as error:
        raise InvalidInputError(f"{_TIMEOUT} is '{text}', not a number of seconds") from error
