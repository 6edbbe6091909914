"""Errors of AWS services and of PyIceberg as this library's errors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from iceberg_spark.errors import (
    ForbiddenError,
    IcebergError,
    NamespaceAlreadyExistsError,
    NamespaceNotEmptyError,
    NoSuchNamespaceError,
    StorageError,
    UnauthorizedError,
    UnsupportedError,
)
from iceberg_spark.lazy import LazyModule

botocore = LazyModule("botocore.exceptions")
theirs = LazyModule("pyiceberg.exceptions")

_SAME = (NamespaceAlreadyExistsError, NamespaceNotEmptyError, NoSuchNamespaceError)
_WHO = {"UnrecognizedClientException", "ExpiredTokenException", "InvalidSignatureException"}
_MAY_NOT = {"AccessDeniedException", "AccessDenied"}
_LATER = {"ThrottlingException", "ProvisionedThroughputExceededException", "RequestLimitExceeded"}


@contextmanager
def as_ours() -> Iterator[None]:
    """Translate errors. StorageError: it is unknown whether the request was executed."""
    try:
        yield
    except IcebergError:  # also an error that names a missing extra: botocore may not be installed
        raise
    except botocore.ClientError as error:
        raise _refused(error) from error
    except (botocore.NoCredentialsError, botocore.PartialCredentialsError) as error:
        raise UnauthorizedError(f"Amazon's service was not asked: {error}") from error
    except botocore.BotoCoreError as error:
        raise StorageError(f"Amazon's service did not answer: {error}") from error
    except theirs.GenericDynamoDbError as error:
        raise StorageError(f"DynamoDB failed: {error}") from error
    except Exception as error:
        same = {kind.__name__: kind for kind in _SAME}.get(type(error).__name__)
        if same is None:
            raise
        raise same(str(error)) from error


def code_of(error: Any) -> str:
    """Return the error code in the response of a service."""
    return str(error.response.get("Error", {}).get("Code", ""))


def is_final(error: Any) -> bool:
    """Return whether the request was sent once.

    The client repeats a request without a response, and may be refused for what its own first
    request did (Java: RetryDetector).
    """
    return not error.response.get("ResponseMetadata", {}).get("RetryAttempts", 0)


def _refused(error: Any) -> IcebergError:
    code, text = code_of(error), f"Amazon's service refused: {error}"
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 500)
    if not is_final(error) or status >= 500 or code in _LATER:
        return StorageError(text)
    if code in _WHO:
        return UnauthorizedError(text)
    return ForbiddenError(text) if code in _MAY_NOT else UnsupportedError(text)
