"""Position delete files, and deletion vectors, as sets of positions by data file.

Source: specification, "Position Delete Files".
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.arrow.file_fields import Path
from iceberg_spark.arrow.position_set import NO_POSITIONS, PositionSet
from iceberg_spark.bounded_cache import BoundedCache
from iceberg_spark.errors import CorruptFileError
from iceberg_spark.expr.nodes import BoundReference, In
from iceberg_spark.io.allowed_places import storage_server
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.io.location import normalise, same_file
from iceberg_spark.lazy import LazyFunction
from iceberg_spark.read.process_cache import process_cache
from iceberg_spark.read.projected_rows import projected_rows
from iceberg_spark.scan.task import DeleteFile, FileScanTask
from iceberg_spark.spec.data_file import DataFile, DataFileContent
from iceberg_spark.spec.reserved import DELETE_FILE_PATH as FILE_PATH
from iceberg_spark.spec.reserved import DELETE_FILE_POS as POS

_load_vector = LazyFunction("iceberg_spark.read.deletion_vectors", "load_vector")

_NAMES: Mapping[Path, int] = {
    (FILE_PATH.name,): FILE_PATH.field_id,
    (POS.name,): POS.field_id,
}
_ENTRY_BYTES = 16  # of a position at the worst


@dataclass(frozen=True, slots=True)
class PositionDeletes:
    """Deleted positions by data file, paths as the delete file spells them."""

    by_path: Mapping[str, PositionSet]

    def of(self, data_path: str) -> PositionSet:
        """Return the positions of a data file.

        Paths have to be equal; only where no path is, one that spells the same location in
        another way counts (`file:/a` for `file:///a`).
        """
        exact = self.by_path.get(data_path)
        if exact is not None:
            return exact
        if not self.by_path:
            return NO_POSITIONS
        normal = normalise(data_path)
        for path, positions in self.by_path.items():
            if normalise(path) == normal:
                return positions
        return NO_POSITIONS

    @property
    def size(self) -> int:
        """The bytes that it takes in memory, about."""
        return sum(len(path) + positions.size for path, positions in self.by_path.items())


def deleted_positions(
    io: FileIO, task: FileScanTask, files: Iterable[DeleteFile], cache: BoundedCache
) -> PositionSet:
    """Return the positions that delete files and vectors delete in a task's data file.

    Raises CorruptFileError, NoSuchFileError or StorageError naming a delete file.
    """
    return PositionSet.union(
        _load_vector(io, file, task, cache)
        if file.is_vector
        else _load(io, file, task.file_path, cache).of(task.file_path)
        for file in files
    )


def _load(io: FileIO, file: DeleteFile, data_path: str, cache: BoundedCache) -> PositionDeletes:
    """Decode a delete file once for all its data files, or one too large for this one only."""
    shared = file.record_count * _ENTRY_BYTES <= cache.capacity // 2
    only = None if shared else data_path
    server = storage_server(io, file.file_path)
    key = ("positions", server, file.file_path, file.file_size_in_bytes, only)
    loaded: PositionDeletes = cache.get_or_load(key, lambda: _sized(_read(io, file, only)))
    return loaded


def _sized(deletes: PositionDeletes) -> tuple[PositionDeletes, int]:
    return deletes, deletes.size


def _read(io: FileIO, file: DeleteFile, only: str | None) -> PositionDeletes:
    by_path = defaultdict[str, list[PositionSet]](list)
    for path, positions in _positions(io, file, only):
        by_path[path].append(_checked(positions, path, file))
    return PositionDeletes({path: PositionSet.union(parts) for path, parts in by_path.items()})


def _positions(io: FileIO, file: DeleteFile, only: str | None) -> Iterator[tuple[str, pa.Array]]:
    """Yield positions and the data file that they are of, a file as often as it comes."""
    target = file.referenced_data_file
    if target is not None:  # all rows are of one data file: its path need not be read
        for batch in projected_rows(io, file, (POS,), _NAMES):
            yield target, batch.column(0)
        return
    if only is None:
        batches = projected_rows(io, file, (FILE_PATH, POS), _NAMES)
    else:
        batches = _rows_of(io, file, only)
    for batch in batches:
        yield from _by_path(batch)


def _rows_of(io: FileIO, file: DeleteFile, path: str) -> Iterator[pa.RecordBatch]:
    """Yield the rows of one data file, skipping the row groups that hold other paths only."""
    spellings = sorted(_spellings(path))
    column = BoundReference(FILE_PATH.field_id, FILE_PATH.field_type, True, FILE_PATH.name)
    paths = pa.array(spellings, pa.string())
    bound = In(column, tuple(spellings))
    for batch in projected_rows(io, file, (FILE_PATH, POS), _NAMES, bound):
        yield batch.filter(pc.is_in(batch.column(0), paths))


def _spellings(path: str) -> set[str]:
    """Return a path as given and the usual other ways to write a local one."""
    normal = normalise(path)
    if not normal.startswith("file:"):
        return {path, normal}
    local = normal.removeprefix("file:")
    return {path, local, f"file:{local}", f"file://{local}"}


def _by_path(batch: pa.RecordBatch) -> Iterator[tuple[str, pa.Array]]:
    """Yield the positions of each data file in a batch; files are few, rows are not looped over."""
    if batch.num_rows == 0:
        return
    encoded = batch.column(0).dictionary_encode()
    paths, codes = encoded.dictionary, encoded.indices.to_numpy(zero_copy_only=False)
    positions = batch.column(1)
    if len(paths) == 1:
        yield paths[0].as_py(), positions
        return
    order = np.argsort(codes, kind="stable")
    ends = np.cumsum(np.bincount(codes, minlength=len(paths)))
    ordered = positions.take(pa.array(order))
    begin = 0
    for path, end in zip(paths.to_pylist(), ends.tolist(), strict=True):
        yield path, ordered.slice(begin, end - begin)
        begin = end


def _checked(positions: pa.Array, path: str, file: DeleteFile) -> PositionSet:
    numbers = positions.to_numpy(zero_copy_only=False)
    if positions.null_count or (len(numbers) and numbers.min() < 0):
        raise CorruptFileError(f"{file.file_path} deletes a null or negative position in {path}")
    return PositionSet.from_positions(numbers)


# The deletes by position of a data file that a new delete file of it holds as well.
#
# Source: specification, "Position Delete Files", "Deletion Vectors"; Java: BaseDeltaWriter's
# previous deletes.


@dataclass(frozen=True, slots=True)
class NewDeletes:
    """Delete files that were written, and the older ones whose deletes they hold as well."""

    written: tuple[DataFile, ...] = ()
    replaced: tuple[DataFile, ...] = ()


def by_position(task: FileScanTask) -> tuple[DeleteFile, ...]:
    """Return the position deletes of a task's data file: delete files, or a vector."""
    kind = DataFileContent.POSITION_DELETES
    return tuple(file for file in task.delete_files if file.content is kind)


def of_one_file(task: FileScanTask) -> tuple[DeleteFile, ...]:
    """Return the position deletes that are about the task's data file only."""
    return tuple(
        file
        for file in by_position(task)
        if file.referenced_data_file is not None
        and same_file(file.referenced_data_file, task.file_path)
    )


def merge_positions(
    io: FileIO, task: FileScanTask, new: PositionSet, older: Iterable[DeleteFile]
) -> PositionSet:
    """Return the positions of new and older deletes."""
    files = tuple(older)
    if not files:
        return new
    return PositionSet.union((new, deleted_positions(io, task, files, process_cache())))
