"""The port of the data file readers: ranges and errors."""

import errno

import pyarrow as pa
import pytest

from iceberg_spark.errors import (
    CorruptFileError,
    NoSuchFileError,
    StorageError,
    StoragePermissionError,
    UnsupportedError,
)
from iceberg_spark.formats.data_file import ReadRequest, reading, slice_batch


@pytest.mark.parametrize(
    ("foreign", "ours"),
    [
        (FileNotFoundError("x"), NoSuchFileError),
        (PermissionError("x"), StoragePermissionError),
        (ConnectionResetError("x"), StorageError),
        (TimeoutError("x"), StorageError),
        (pa.ArrowNotImplementedError("x"), UnsupportedError),
        (pa.ArrowInvalid("x"), CorruptFileError),
        (OSError("x"), CorruptFileError),
        (OSError(errno.EINVAL, "x"), CorruptFileError),
        (OSError(errno.EMFILE, "x"), StorageError),
        (OSError(errno.EIO, "x"), StorageError),
        (OSError(errno.ESTALE, "x"), StorageError),
        (EOFError("x"), CorruptFileError),
    ],
)
def test_foreign_errors_name_the_file(foreign: Exception, ours: type[Exception]):
    with pytest.raises(ours, match="s3://b/data") as caught, reading("s3://b/data"):
        raise foreign
    assert type(caught.value) is ours
    assert caught.value.__cause__ is foreign


def test_our_own_errors_pass():
    with pytest.raises(StorageError, match="as it was"), reading("s3://b/data"):
        raise StorageError("as it was")


def test_what_starts_in_the_range_is_read():
    wanted = ReadRequest((), frozenset(), start=10, length=5)
    assert [at for at in range(20) if wanted.holds(at)] == [10, 11, 12, 13, 14]


def test_a_long_batch_is_cut_without_losing_positions():
    rows = pa.record_batch([pa.array(range(7))], names=["a"])
    pieces = list(slice_batch(100, rows, 3))
    assert [(p.first_row, p.rows.column(0).to_pylist()) for p in pieces] == [
        (100, [0, 1, 2]),
        (103, [3, 4, 5]),
        (106, [6]),
    ]
