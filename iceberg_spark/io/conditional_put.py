"""Create an object only if it does not exist: by a proven condition of the store, or a lock."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import stat
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress

from iceberg_spark.errors import UnsupportedError
from iceberg_spark.io import location
from iceberg_spark.io.servers import Server, server_of
from iceberg_spark.io.store import Store, exists

LOCK_PATH = "io.lock-path"


def create_if_absent(
    store: Store, key: str, data: bytes, where: str, properties: Mapping[str, str]
) -> None:
    """Create an object, or raise FileExistsError if it exists.

    `where` is the user's spelling of the location. Raises UnsupportedError for a store that can't
    do that atomically and has no lock.
    """
    if folder := properties.get(LOCK_PATH):
        with _locked(folder, where):
            if exists(store, key):
                raise FileExistsError(key)
            store.put(key, data)
    elif store.creates_atomically:
        if location.store_of(where) in _PROMISED:
            _prove_condition(store, key, where, properties)
        _put_new(store, key, data, where)
    else:
        raise _no_conditional_put(where)


_PROMISED = frozenset({"s3", "gs", "abfs"})
"""Stores of which many servers claim to be one, some of them without regard to the condition."""


def _put_new(store: Store, key: str, data: bytes, where: str) -> None:
    """Create an object if it is absent; "not implemented" means no conditional put."""
    try:
        store.put_new(key, data)
    except OSError as error:
        if error.errno == errno.ENOSYS:  # S3's 501
            raise _no_conditional_put(where) from error
        raise


def _no_conditional_put(where: str) -> UnsupportedError:
    return UnsupportedError(
        f"Can't commit to {where}: this store (or the installed version of its driver) has no "
        "put that fails if the file exists, so two writers could both win; set the "
        f"storage property {LOCK_PATH} to a folder on a file system that all writers share"
    )


_proven: set[Server] = set()
"""Servers (`server_of`) that have obeyed the condition in this process."""


def _prove_condition(store: Store, key: str, where: str, properties: Mapping[str, str]) -> None:
    """Refuse a store that ignores the condition; it is tested once, by creating an object twice.

    The object is removed, unless the writer may not delete: then one byte remains.
    """
    server = server_of(where, properties)
    if server in _proven:
        return
    probe = f"{location.parent(key)}/{uuid.uuid4()}.probe"
    _put_new(store, probe, b"1", where)
    try:
        _put_new(store, probe, b"2", where)
    except FileExistsError:
        _proven.add(server)
    else:
        raise _no_conditional_put(where)
    finally:
        with suppress(Exception):  # a failure to clean up does not change the result
            store.remove(probe)


@contextmanager
def _locked(folder: str, where: str) -> Iterator[None]:
    """Hold the lock of a location's folder: a file below `folder`.

    The folder may be shared with other users, who could create a link with the file's name: it is
    not followed, and the file's content is not changed.
    """
    os.makedirs(folder, exist_ok=True)
    key = location.normalise(location.parent(where))
    name = hashlib.sha256(key.encode()).hexdigest()
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
    lock = os.open(os.path.join(folder, f"{name}.lock"), flags, 0o666)
    try:
        if not stat.S_ISREG(os.fstat(lock).st_mode):
            raise PermissionError(f"the lock {name}.lock in {folder} is not a plain file")
        fcntl.flock(lock, fcntl.LOCK_EX)  # released when the file is closed
        yield
    finally:
        os.close(lock)
