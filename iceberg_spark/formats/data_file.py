"""The port that the readers of Parquet, ORC and Avro data and delete files share."""

from __future__ import annotations

import errno
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from operator import itemgetter
from typing import Protocol

import pyarrow as pa

from iceberg_spark.arrow.file_fields import FileField
from iceberg_spark.arrow.texts import has_texts, wrong_text
from iceberg_spark.errors import (
    CorruptFileError,
    IcebergError,
    NoSuchFileError,
    StorageError,
    StoragePermissionError,
    UnsupportedError,
)
from iceberg_spark.expr.nodes import ALWAYS_TRUE, Bound
from iceberg_spark.formats.limits import READING
from iceberg_spark.io.decoding import MALFORMED

_NOT_THE_FILES = frozenset(
    {errno.EIO, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOTCONN, errno.ESTALE}
)
"""Errors of a disk, a mount or the process: the file may be intact."""

WHOLE_FILE = 2**63 - 1


@dataclass(frozen=True, slots=True)
class FileBatch:
    """Rows of a file; `first_row` is the position of the first one, counted from 0."""

    first_row: int
    rows: pa.RecordBatch


@dataclass(frozen=True, slots=True)
class ReadRequest:
    """The part of a file to read: `leaves` of `fields`, in a byte range, where `filter` may match.

    The filter only skips row groups: rows still have to be filtered. With `checks_texts` a text
    that is not UTF-8 is a CorruptFileError; Avro's decoders always check this. `windows` are the
    ascending positions (first, end) of the rows that are needed, None for all; a reader may yield
    others too.
    """

    fields: tuple[FileField, ...]
    leaves: frozenset[int]
    start: int = 0
    length: int = WHOLE_FILE
    filter: Bound = ALWAYS_TRUE
    batch_rows: int = 131_072
    checks_texts: bool = True
    windows: tuple[tuple[int, int], ...] | None = None

    def needs(self, first: int, end: int) -> bool:
        """Return whether some of the rows from one position to another are needed."""
        if self.windows is None:
            return True
        following = bisect_right(self.windows, first, key=itemgetter(1))
        return following < len(self.windows) and self.windows[following][0] < end

    def holds(self, offset: int) -> bool:
        """Return whether a row group, stripe or block that starts at `offset` is to be read."""
        return holds(offset, self.start, self.length)


def holds(offset: int, start: int, length: int) -> bool:
    """Return whether a block that starts at an offset belongs to the split of this range."""
    return start <= offset < start + length


def row_range(parts: Iterable[tuple[int, int]]) -> tuple[int, int]:
    """Return the first row and the end of parts passed as (first row, rows)."""
    spans = [(first, first + rows) for first, rows in parts]
    return (spans[0][0], spans[-1][1]) if spans else (0, 0)


class DataFileReader(Protocol):
    """An open data or delete file."""

    @property
    def schema(self) -> pa.Schema:
        """The file's columns; field ids are in their metadata where the file has them."""
        ...

    @property
    def file_size(self) -> int:
        """The bytes that the file has."""
        ...

    @property
    def rows(self) -> int:
        """The rows of the file."""
        ...

    def output_fields(self, request: ReadRequest) -> tuple[FileField, ...]:
        """Return the columns of the result of `batches`: at least the selected leaves."""
        ...

    def batches(self, request: ReadRequest) -> Iterator[FileBatch]:
        """Yield the file's rows in its order. Raises CorruptFileError naming the file."""
        ...

    def rows_in(self, start: int, length: int) -> tuple[int, int] | None:
        """Return the row positions (first, end) of a byte range; None if only reading shows."""
        ...

    def close(self) -> None:
        """Close the file."""
        ...


@contextmanager
def reading(path: str) -> Iterator[None]:
    """Name the file in errors of Arrow's readers.

    A missing file is NoSuchFileError, a refused one StoragePermissionError, a store that can't
    be reached, or a machine that can't open or read, StorageError; anything else that a reader
    stumbles over is CorruptFileError.
    """
    try:
        yield
    except FileNotFoundError as cause:
        raise NoSuchFileError(f"Can't read {path}: no such file") from cause
    except PermissionError as cause:
        raise StoragePermissionError(f"Can't read {path}: access denied") from cause
    except (ConnectionError, TimeoutError) as cause:
        raise StorageError(f"Can't read {path}: {cause}") from cause
    except pa.ArrowNotImplementedError as cause:
        raise UnsupportedError(f"Can't read {path}: {cause}") from cause
    except IcebergError:
        raise
    except (OSError, *MALFORMED) as cause:
        if isinstance(cause, OSError) and cause.errno in _NOT_THE_FILES:
            raise StorageError(f"Can't read {path}: {cause}") from cause
        raise CorruptFileError(f"{path} is truncated or malformed: {cause}") from cause


def slice_batch(first_row: int, rows: pa.RecordBatch, batch_rows: int) -> Iterator[FileBatch]:
    """Yield a long or large batch in pieces; nothing is copied."""
    parts = max(1, -(-rows.nbytes // READING.batch_bytes))
    step = max(1, min(batch_rows, rows.num_rows // parts))
    for offset in range(0, rows.num_rows, step):
        yield FileBatch(first_row + offset, rows.slice(offset, step))


@dataclass(frozen=True, slots=True)
class TextCheck:
    """Checks the texts of a file's batches; `columns` are those with texts."""

    path: str
    columns: tuple[tuple[int, str], ...]

    @classmethod
    def of(cls, path: str, request: ReadRequest, fields: Iterable[FileField]) -> TextCheck:
        """Return the check of `request`, for batches with the columns `fields`."""
        if not request.checks_texts:
            return cls(path, ())
        named = ((index, field) for index, field in enumerate(fields) if has_texts(field.kind))
        return cls(path, tuple((index, field.name) for index, field in named))

    def check(self, rows: pa.RecordBatch) -> None:
        """Raise CorruptFileError naming the file and the field with an invalid text."""
        for index, name in self.columns:
            path = wrong_text(rows.column(index), name)
            if path is not None:
                raise CorruptFileError(
                    f"Field '{path}' of {self.path} holds a text that is not UTF-8: the file is "
                    "damaged, or its writer put other bytes into a text column. Spark reads "
                    "them unchanged: scan().to_df(spark)"
                )


def check_counts(path: str, *, size: tuple[int, int], rows: tuple[int, int]) -> None:
    """Compare a file's counts with those of the metadata, each as (actual, expected).

    Raises CorruptFileError naming the file.
    """
    for unit, pair in (("bytes", size), ("rows", rows)):
        if pair[0] != pair[1]:
            raise CorruptFileError(
                f"{path} has {pair[0]:,} {unit}, the table's metadata says {pair[1]:,}: one of "
                "them was changed or damaged. Restore the file; deleting its whole partition "
                "removes it from the table without reading it"
            )
