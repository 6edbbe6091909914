"""The file whose creation makes a commit visible: created by one writer, and whose it is found out.

A store's answer may be lost or be an error although the file was written, and a driver that sends
a creation again hears "exists" about its own file. So whose file is there is known by its bytes;
and since a creation changes nothing where a file is, it is sent again until the answer is clear.
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
    """Create a version's metadata file; when this returns the file is there and ours.

    Raises CommitFailedException where another's is there, CommitStateUnknownException where that
    can't be told; any other IcebergError is the store's refusal: nothing is there nor will be.
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
            case _ if local and exists and first:  # a link that was refused is no lost one
                raise another_came_first(path) from answer
            case _Whose.NOBODYS if not exists and (local or (first and _refuses(answer))):
                raise answer  # nothing is on its way that could still arrive
            case _:
                time.sleep(pause)
    raise unknown(path, answer) from answer


def _create(io: FileIO, path: str, data: bytes) -> IcebergError | None:
    """Return None if the store says that it created the file, else its error."""
    try:
        io.create_if_absent(path, data)
    except IcebergError as error:
        return error
    return None


def _refuses(error: IcebergError) -> bool:
    """Return whether a store says that it won't, rather than that it failed."""
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
    except CorruptFileError:  # half of somebody's: an answer cut short
        return _Whose.UNCLEAR
    except UnsupportedError:
        pass
    return _Whose.ANOTHERS


def another_came_first(path: str) -> CommitFailedException:
    """Return the error of a commit that lost."""
    return CommitFailedException(f"Another commit made {path} first")


def unknown(path: str, error: BaseException | None) -> CommitStateUnknownException:
    """Return the error of a commit that may have landed."""
    return CommitStateUnknownException(
        f"The commit to {path} may have landed: {error}. Look at the table before trying again; "
        "no file was removed"
    )
