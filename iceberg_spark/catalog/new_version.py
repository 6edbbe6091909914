"""The file whose creation makes a commit visible: one writer creates it, and finds out who did.

A store's response can be lost, or be an error although the file was written. A driver that repeats
the request then gets "exists" for its own file. So the bytes decide whose file it is. Since a
creation does not change an existing file, the request is repeated until the response is clear.
"""

from __future__ import annotations

import time
from enum import Enum

from iceberg_spark.catalog.metadata_file import decode_metadata
from iceberg_spark.errors import (
    CommitFailedException,
    CommitStateUnknownException,
    CorruptFileError,
    FileAlreadyExistsError,
    IcebergError,
    NoSuchFileError,
    StorageError,
    StoragePermissionError,
    UnsupportedError,
)
from iceberg_spark.io import location
from iceberg_spark.io.file_io import FileIO

_PAUSES_S = (0.1, 0.4, 1.0)


class _Whose(Enum):
    OURS = 1
    ANOTHERS = 2
    NOBODYS = 3
    UNCLEAR = 4


def create_version(io: FileIO, path: str, data: bytes) -> None:
    """Create a version's metadata file; after it returns, the file exists and has these bytes.

    Raises:
        CommitFailedException: another writer's file is there.
        CommitStateUnknownException: whose file is there is unknown.
        IcebergError: any other one is the store's refusal. No file was created, and none will be.
    """
    local = location.is_local(path)
    for number, pause in enumerate((*_PAUSES_S, 0.0)):
        answer = _create(io, path, data)
        if answer is None:
            return
        exists, first = isinstance(answer, FileAlreadyExistsError), number == 0
        match _whose(io, path, data):
            case _Whose.OURS:
                return
            case _Whose.ANOTHERS:
                raise another_came_first(path) from answer
            case _ if local and exists and first:  # a refused link is not a lost response
                raise another_came_first(path) from answer
            case _Whose.NOBODYS if not exists and (local or (first and _refuses(answer))):
                raise answer  # no request is under way that could still succeed
            case _:
                time.sleep(pause)
    raise unknown(path, answer) from answer


def _create(io: FileIO, path: str, data: bytes) -> IcebergError | None:
    """Return None if the store created the file, otherwise its error."""
    try:
        io.create_if_absent(path, data)
    except IcebergError as error:
        return error
    return None


def _refuses(error: IcebergError) -> bool:
    """Return whether the store refused the request, rather than failed."""
    return not isinstance(error, StorageError) or isinstance(error, StoragePermissionError)


def _whose(io: FileIO, path: str, data: bytes) -> _Whose:
    try:
        there = io.read_bytes(path)
    except NoSuchFileError:
        return _Whose.NOBODYS
    except IcebergError:
        return _Whose.UNCLEAR
    if there == data:
        return _Whose.OURS
    try:
        decode_metadata(path, there)
    except CorruptFileError:  # a part of another writer's file: the response was cut off
        return _Whose.UNCLEAR
    except UnsupportedError:
        pass
    return _Whose.ANOTHERS


def another_came_first(path: str) -> CommitFailedException:
    """Return the error of a commit that lost."""
    return CommitFailedException(f"Another commit made {path} first")


def unknown(path: str, error: BaseException | None) -> CommitStateUnknownException:
    """Return the error of a commit that may have succeeded."""
    return CommitStateUnknownException(
        f"The commit to {path} may have landed: {error}. Look at the table before trying again; "
        "no file was removed"
    )
