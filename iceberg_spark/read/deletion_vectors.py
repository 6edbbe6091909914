"""Deletion vectors read from their Puffin files: one read for neighbours that are small.

Source: specification, "Deletion Vectors"; Java's BaseDeleteLoader, which reads the bytes that the
manifest names and looks at no footer. Here a footer that fits into one read is looked at, once for
all vectors of a file: it tells a vector of another data file, a file that is cut off, and which
vectors are adjacent to one that is read.
"""

from __future__ import annotations

from collections.abc import Iterator

from iceberg_spark.arrow.position_set import Positions, PositionSet
from iceberg_spark.bounded_cache import BoundedCache
from iceberg_spark.errors import CorruptFileError
from iceberg_spark.formats.limits import PUFFIN
from iceberg_spark.formats.puffin.blobs import PuffinFile
from iceberg_spark.formats.puffin.deletion_vector import from_bytes, is_vector_of
from iceberg_spark.formats.puffin.read_puffin import read_range, read_short_footer
from iceberg_spark.io.allowed_places import storage_server
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.io.location import same_file
from iceberg_spark.scan.task import DeleteFile, FileScanTask

_BYTES_OF_BLOB = 1000
"""What the description of a blob takes in memory, about."""
_ANY_ROWS = 1 << 62
_WORDS_AT_ONCE = 1 << 12
"""Words of 64 positions that are laid out at a time."""
_BARE = 0
"""The offset of a vector that is a file without Puffin's marks: DuckDB 1.5.3 wrote such."""


def load_vector(
    io: FileIO, file: DeleteFile, task: FileScanTask, cache: BoundedCache
) -> PositionSet:
    """Return the rows of a task's data file that its deletion vector deletes.

    Raises CorruptFileError, NoSuchFileError or StorageError naming the Puffin file.
    """
    if file.referenced_data_file is None or not same_file(
        file.referenced_data_file, task.file_path
    ):
        raise CorruptFileError(
            f"The deletion vector in {file.file_path} at byte {file.content_offset} is of "
            f"{file.referenced_data_file}, not {task.file_path}"
        )
    server = storage_server(io, file.file_path)
    key = ("vector", server, file.key, file.content_size_in_bytes, task.record_count)

    def load() -> tuple[PositionSet, int]:
        vector = _read(io, file, task.record_count, cache)
        return vector, vector.size

    positions: PositionSet = cache.get_or_load(key, load)
    return positions


def vector_positions(io: FileIO, file: DeleteFile) -> Iterator[Positions]:
    """Yield the positions of a vector, ascending, past its data file's end too; some at a time.

    Raises what `load_vector` raises.
    """
    vector = read_vector(io, file)
    for start in range(0, len(vector.places), _WORDS_AT_ONCE):
        part = slice(start, start + _WORDS_AT_ONCE)
        yield PositionSet(vector.places[part], vector.words[part]).positions()


def read_vector(io: FileIO, file: DeleteFile) -> PositionSet:
    """Return the positions of a vector, past its data file's end too. Raises as `load_vector`."""
    return _read(io, file, _ANY_ROWS, BoundedCache(0))


def _read(io: FileIO, file: DeleteFile, rows: int, cache: BoundedCache) -> PositionSet:
    path, offset, size = file.file_path, file.content_offset, file.content_size_in_bytes
    where = f"The deletion vector of {file.referenced_data_file} in {path} at byte {offset}"
    if offset is None or size is None:
        raise CorruptFileError(f"{where} lacks its offset or size")
    footer = None if offset == _BARE else _footer(io, file, cache)
    _check(footer, file, where)
    start, stored = _run(io, footer, path, (offset, size), cache)
    data = stored[offset - start : offset - start + size]
    return from_bytes(data, where, rows=rows, cardinality=file.record_count)


def _run(
    io: FileIO,
    footer: PuffinFile | None,
    path: str,
    blob_range: tuple[int, int],
    cache: BoundedCache,
) -> tuple[int, bytes]:
    """Return the bytes around a blob, and where they start: its small neighbours are there too.

    What a process reads of a file is cut in the same way each time, and kept as long as there is
    room; without a footer it is the blob alone.
    """
    offset, size = blob_range
    start, end = offset, offset + size
    if footer is not None and PUFFIN.run_bytes <= cache.capacity:
        around = (run for run in _runs(footer) if run[0] <= start and end <= run[1])
        start, end = next(around, (start, end))

    def load() -> tuple[bytes, int]:
        with io.open(path) as opened:
            data = read_range(opened, path, start, end - start)
        return data, len(data)

    if (start, end) == (offset, offset + size):
        return start, load()[0]
    key = ("puffin run", storage_server(io, path), path, footer.size if footer else 0, start)
    run_bytes: bytes = cache.get_or_load(key, load)
    return start, run_bytes


def _runs(footer: PuffinFile) -> Iterator[tuple[int, int]]:
    """Yield where runs of blobs begin and end that follow one another, up to a number of bytes."""
    start = end = -1
    for blob in sorted(footer.blobs, key=lambda stored_blob: stored_blob.offset):
        after = blob.offset + blob.length
        if blob.offset == end and after - start <= PUFFIN.run_bytes:
            end = after
            continue
        if end >= 0:
            yield start, end
        start, end = blob.offset, after
    if end >= 0:
        yield start, end


def _footer(io: FileIO, file: DeleteFile, cache: BoundedCache) -> PuffinFile | None:
    """Return what a Puffin file says of its blobs, None where that takes more than one read."""

    def load() -> tuple[tuple[PuffinFile | None], int]:
        short_footer = read_short_footer(io, file.file_path)
        return (short_footer,), _BYTES_OF_BLOB * (
            1 + len(short_footer.blobs if short_footer else ())
        )

    key = (
        "puffin footer",
        storage_server(io, file.file_path),
        file.file_path,
        file.file_size_in_bytes,
    )
    (footer,) = cache.get_or_load(key, load)
    return footer if footer is None or isinstance(footer, PuffinFile) else None


def _check(footer: PuffinFile | None, file: DeleteFile, where: str) -> None:
    if footer is None:
        return
    named = file.referenced_data_file or ""
    for blob in footer.blobs:
        if (blob.offset, blob.length) == (file.content_offset, file.content_size_in_bytes):
            if is_vector_of(blob, named):
                return
            raise CorruptFileError(f"{where} is a {blob.type} of another file: {blob.properties}")
    raise CorruptFileError(f"{where} is no blob of the file, by its footer")
