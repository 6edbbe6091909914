"""Convert errors of file systems and their libraries to IcebergError: the only place that does.

Errors of fsspec, botocore, aiohttp, azure and google are recognised by built-in base classes or by
class name, so that none of these libraries has to be installed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from importlib.util import find_spec
from types import TracebackType

from iceberg_spark.errors import (
    FileAlreadyExistsError,
    IcebergError,
    NoSuchFileError,
    StorageError,
    StoragePermissionError,
    UnsupportedError,
    redact,
)
from iceberg_spark.io.pinned_host import REDIRECT_HOSTS, is_refused_redirect
from iceberg_spark.io.secrets import blot, cause_without_secrets, secrets_of_environment

_DRIVERS = {
    "s3": "'iceberg-spark[s3]'",
    "gs": "'iceberg-spark[gcs]'",
    "abfs": "'iceberg-spark[adls]'",
    "hdfs": "'iceberg-spark[hdfs]'",
    "az": "adlfs",
    "oss": "ossfs",
    "hf": "huggingface_hub",
    "sftp": "paramiko",
}

_FSSPEC = {"s3": "s3fs", "gs": "gcsfs", "abfs": "adlfs"}

_NOT_FOUND = frozenset({"ResourceNotFoundError", "NotFound", "NoSuchKey", "NoSuchBucket"})
_EXISTS = frozenset(
    {"ResourceExistsError", "ResourceModifiedError", "PreconditionFailed", "AlreadyExistsError"}
)
_DENIED = frozenset({
    "NoCredentialsError", "PartialCredentialsError", "CredentialRetrievalError",
    "TokenRetrievalError", "ClientAuthenticationError", "RefreshError",
    "DefaultCredentialsError", "GoogleAuthError", "NoAuthTokenError", "PermissionDeniedError",
    "UnauthenticatedError", "Forbidden", "Unauthorized", "ProfileNotFound",
})  # fmt: skip
_LIBRARIES = frozenset(
    {"botocore", "aiobotocore", "aiohttp", "azure", "google", "gcsfs", "obstore", "s3fs"}
)
"""Packages whose errors are the store's; an unknown error of another package is left alone."""

_LIBRARY_MISSING = frozenset({"libhdfs", "libjvm"})
_HDFS_DENIED = (
    "AccessControlException", "AuthorizationException", "InvalidToken", "SaslException",
    "SASL", "GSSAPI",
)  # fmt: skip
_BELOW_A_FILE = "(is not a directory)"
_JAVA_TRACE = r"\n\tat "
"""As hdfs-native quotes the name node's lines."""
_HTTP_DENIED = (401, 403)
_BAD_REQUEST = re.compile(r"status code: 400 Bad Request:?(?P<body>[^\n]*)")
_EXPIRED = ("ExpiredToken", "TokenRefreshRequired", "InvalidToken", "RequestExpired")
_HTTP_NOT_FOUND = 404
_HTTP_EXISTS = 412
_REFUSED_FOR_GOOD = (NoSuchFileError, FileAlreadyExistsError, StoragePermissionError)


class TransientStorageError(StorageError):
    """The store failed in a way that another try may mend."""


class RefusedRedirectError(StorageError):
    """The store redirects to another host, which gets no request."""


@dataclass(frozen=True, slots=True)
class named_errors:  # noqa: N801 (read as a verb: `with named_errors(...)`)
    """Convert foreign errors raised in a `with` block, naming the file and the operation.

    Secrets among `hidden` are removed from the message.
    """

    doing: str
    path: str
    store: str
    hidden: tuple[str, ...] = field(default=(), repr=False)

    def __enter__(self) -> None:
        return None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None or isinstance(error, IcebergError):
            return
        ours = self.translate(error)
        if ours is None:
            return
        may_hold = self.hidden or redact(self.path) != self.path
        cause = None if may_hold else cause_without_secrets(error, self._secrets())
        try:
            raise ours from cause
        finally:
            ours.__context__ = cause  # some reports show it even where the traceback does not

    def translate(self, error: BaseException) -> IcebergError | None:
        """Return the converted error, None if the error is not the store's."""
        if isinstance(error, ImportError):
            return self._no_driver(error)
        if isinstance(error, OSError) and self.store == "hdfs" and _LIBRARY_MISSING & _words(error):
            return UnsupportedError(
                f"Can't {self.doing} {self.path}: hdfs: locations need the client hdfs-native "
                "(pip install 'iceberg-spark[hdfs]'), or Hadoop's libhdfs and Java: HADOOP_HOME, "
                "JAVA_HOME and CLASSPATH as pyarrow's HadoopFileSystem requires"
            )
        kind = _by_builtin(error) or _by_library(error) or _by_panic(error)
        if kind is None and self.store == "hdfs":
            kind = _by_hdfs(error)
        if kind is None:
            return None
        return kind(self._message(kind, error))

    def _secrets(self) -> tuple[str, ...]:
        """Return the secrets of the properties and the environment."""
        return (*self.hidden, *secrets_of_environment())

    def _no_driver(self, error: ImportError) -> IcebergError:
        package = _DRIVERS.get(self.store, error.name or "its fsspec driver")
        if self.store in _FSSPEC and find_spec("obstore") is not None:  # it was not for obstore
            package = _FSSPEC[self.store]
        return UnsupportedError(
            f"Can't {self.doing} {self.path}: the driver for {self.store}: locations is not "
            f"installed; pip install {package}"
        )

    def _message(self, kind: type[IcebergError], error: BaseException) -> str:
        if kind is NoSuchFileError and self.doing == "create":
            return f"Can't {self.doing} {self.path}: no folder can be created there"
        if kind is NoSuchFileError:
            return f"Can't {self.doing} {self.path}: no such file"
        if kind is FileAlreadyExistsError:
            return f"Can't {self.doing} {self.path}: it exists already"
        if kind is RefusedRedirectError:
            return (
                f"Can't {self.doing} {self.path}: the store redirects to another host, which could "
                f"get your session token; if you trust it, name it in the storage property "
                f"{REDIRECT_HOSTS}"
            )
        lines = str(error).replace(_JAVA_TRACE, "\n").splitlines()
        text = blot(lines[0] if lines else type(error).__name__, self._secrets())
        if kind is StoragePermissionError:
            return (
                f"Can't {self.doing} {self.path}: access denied ({text}); check the credentials "
                "in the storage properties and the rights of the user"
            )
        return f"Can't {self.doing} {self.path}: {type(error).__name__}: {text}"


def _by_builtin(error: BaseException) -> type[IcebergError] | None:
    match error:
        case FileNotFoundError() | NotADirectoryError():
            return NoSuchFileError
        case FileExistsError():
            return FileAlreadyExistsError
        case PermissionError():
            return StoragePermissionError
        case IsADirectoryError():
            return StorageError
        case OSError():  # TimeoutError and ConnectionError too
            return TransientStorageError
        case ValueError() | EOFError() | MemoryError() | NotImplementedError():
            return StorageError  # a NUL in a path, a driver that can't do this, a file too large
        case _:
            return None


def _by_library(error: BaseException) -> type[IcebergError] | None:
    kinds = type(error).__mro__
    if not any(kind.__module__.partition(".")[0] in _LIBRARIES for kind in kinds):
        return None
    names = {kind.__name__ for kind in kinds}
    status = _http_status(error)
    if is_refused_redirect(error):
        return RefusedRedirectError
    if names & _NOT_FOUND or status == _HTTP_NOT_FOUND:
        return NoSuchFileError
    if names & _DENIED or status in _HTTP_DENIED or _is_expired(str(error)):
        return StoragePermissionError
    if "InvalidPathError" in names:  # a name in a listing that obstore refuses
        return StorageError
    if names & _EXISTS or status == _HTTP_EXISTS:
        return FileAlreadyExistsError
    return TransientStorageError


def _is_expired(text: str) -> bool:
    """Return whether a store refuses credentials as expired, which S3 does by status 400.

    The answer to a HEAD has no body with the reason.
    """
    bad_request = _BAD_REQUEST.search(text)
    if bad_request is None:
        return False
    body = bad_request["body"].strip()
    return not body or body.startswith("No Body") or any(code in body for code in _EXPIRED)


def _by_panic(error: BaseException) -> type[IcebergError] | None:
    """Return the error for a panic of a Rust client: for example on an invalid endpoint URL."""
    return StorageError if type(error).__name__ == "PanicException" else None


def _by_hdfs(error: BaseException) -> type[IcebergError] | None:
    """Return the error for one of hdfs-native, whose versions until 0.14 have no class for it."""
    names = {kind.__name__ for kind in type(error).__mro__}
    if type(error) is not RuntimeError and "HdfsError" not in names:
        return None
    text = f"{type(error).__name__} {error}"
    if _BELOW_A_FILE in text:
        return NoSuchFileError
    denied = any(word in text for word in _HDFS_DENIED)
    return StoragePermissionError if denied else TransientStorageError


def is_missing_on_hdfs(error: BaseException) -> bool:
    """Return whether hdfs-native, or the name node, reports a missing path."""
    return (_by_builtin(error) or _by_hdfs(error)) is NoSuchFileError


def _words(error: BaseException) -> frozenset[str]:
    return frozenset(str(error).split())


def _http_status(error: BaseException) -> int | None:
    for attribute in ("status_code", "status", "code"):
        status = getattr(error, attribute, None)
        if isinstance(status, int):
            return status
    return None


def may_be_retried(error: BaseException) -> bool:
    """Return whether a retry may help: never after "not found", "exists" or "denied"."""
    return isinstance(error, TransientStorageError) and not isinstance(error, _REFUSED_FOR_GOOD)
