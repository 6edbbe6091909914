"""Every error of a store's library has its place in our tree."""

import pytest

from iceberg_spark.errors import (
    FileAlreadyExistsError,
    IcebergError,
    NoSuchFileError,
    StorageError,
    StoragePermissionError,
    UnsupportedError,
)
from iceberg_spark.io.foreign_errors import TransientStorageError, may_be_retried, named_errors


def _foreign(module: str, name: str, **attributes: object) -> BaseException:
    kind = type(name, (Exception,), {"__module__": module})
    error = kind("text\nsecond line")
    for key, value in attributes.items():
        setattr(error, key, value)
    return error


@pytest.mark.parametrize(
    ("error", "ours"),
    [
        (FileNotFoundError(2, "x"), NoSuchFileError),
        (NotADirectoryError(20, "x"), NoSuchFileError),
        (FileExistsError(17, "x"), FileAlreadyExistsError),
        (PermissionError(13, "x"), StoragePermissionError),
        (IsADirectoryError(21, "x"), StorageError),
        (TimeoutError("x"), TransientStorageError),
        (ConnectionRefusedError("x"), TransientStorageError),
        (OSError(5, "x"), TransientStorageError),
        (ImportError("x"), UnsupportedError),
        (_foreign("botocore.exceptions", "NoCredentialsError"), StoragePermissionError),
        (_foreign("botocore.exceptions", "EndpointConnectionError"), TransientStorageError),
        (_foreign("azure.core.exceptions", "ResourceNotFoundError"), NoSuchFileError),
        (_foreign("azure.core.exceptions", "ResourceExistsError"), FileAlreadyExistsError),
        (_foreign("azure.core.exceptions", "ClientAuthenticationError"), StoragePermissionError),
        (_foreign("gcsfs.retry", "HttpError", code=404), NoSuchFileError),
        (_foreign("gcsfs.retry", "HttpError", code=403), StoragePermissionError),
        (_foreign("gcsfs.retry", "HttpError", code=412), FileAlreadyExistsError),
        (_foreign("aiohttp.client_exceptions", "ClientConnectorError"), TransientStorageError),
    ],
    ids=lambda case: getattr(type(case), "__name__", str(case)),
)
def test_error_becomes_ours(error: BaseException, ours: type[IcebergError]):
    with (
        pytest.raises(ours, match="Can't read s3://b/k") as caught,
        named_errors("read", "s3://b/k", "s3"),
    ):
        raise error
    assert type(caught.value) is ours
    assert "\n" not in str(caught.value)


def test_an_error_that_is_not_the_stores_is_left_alone():
    with pytest.raises(KeyError), named_errors("read", "s3://b/k", "s3"):
        raise KeyError("bug")


DENIED = r'RPCError("org.apache.hadoop.security.AccessControlException", "Permission'
BELOW = r'RPCError("org.apache.hadoop.fs.ParentNotDirectoryException", "/a (is not a directory)'
SAFE = r'RPCError("org.apache.hadoop.hdfs.server.namenode.SafeModeException", "Cannot create /b"'
TRACE = r"\n\tat org.apache.hadoop.hdfs.server.namenode"


@pytest.mark.parametrize(
    ("text", "ours"),
    [
        (DENIED, StoragePermissionError),
        ("GSSAPIError(851968, 39756033)", StoragePermissionError),
        (BELOW, NoSuchFileError),
        (SAFE, TransientStorageError),
    ],
)
@pytest.mark.parametrize("own", [True, False], ids=["a class of its own", "RuntimeError"])
def test_an_error_of_the_hdfs_client_becomes_ours(text: str, ours: type[IcebergError], own: bool):
    """As hdfs-native 0.14 gives them, beside Hadoop's mini-cluster, and as later ones name them."""
    error = RuntimeError(text + TRACE)
    if own:
        kind = type("HdfsError", (Exception,), {"__module__": "_internal"})
        error = type("RPCError", (kind,), {"__module__": "_internal"})(text + TRACE)
    with pytest.raises(ours) as caught, named_errors("read", "hdfs://h/k", "hdfs"):
        raise error
    assert type(caught.value) is ours
    assert 'namenode"' not in str(caught.value) and "tat org" not in str(caught.value)


@pytest.mark.parametrize(
    ("error", "store"),
    [(RuntimeError("bug"), "s3"), (RecursionError("bug"), "hdfs"), (KeyError("bug"), "hdfs")],
)
def test_a_bug_is_no_error_of_the_hdfs_client(error: BaseException, store: str):
    with pytest.raises(type(error)) as caught, named_errors("read", "hdfs://h/k", store):
        raise error
    assert caught.value is error


def test_our_own_errors_pass():
    with pytest.raises(UnsupportedError, match=r"^mine$"), named_errors("read", "x", "s3"):
        raise UnsupportedError("mine")


def test_only_passing_failures_are_retried():
    assert may_be_retried(TransientStorageError("x"))
    for error in (NoSuchFileError("x"), StoragePermissionError("x"), StorageError("x")):
        assert not may_be_retried(error)
