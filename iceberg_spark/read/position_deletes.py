"""Position delete files as roaring bitmaps by data file.

Source: specification, "Position Delete Files".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyroaring import BitMap64

from iceberg_spark.arrow.file_fields import Path
from iceberg_spark.errors import CorruptFileError
from iceberg_spark.expr.nodes import BoundReference, In
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.io.location import normalise
from iceberg_spark.read.delete_cache import DeleteCache
from iceberg_spark.read.projected_rows import projected_rows
from iceberg_spark.scan.task import DeleteFile
from iceberg_spark.spec.reserved import DELETE_FILE_PATH as FILE_PATH
from iceberg_spark.spec.reserved import DELETE_FILE_POS as POS

_NAMES: Mapping[Path, int] = {
    (FILE_PATH.name,): FILE_PATH.field_id,
    (POS.name,): POS.field_id,
}
_OBJECT_BYTES = 300  # of a bitmap beside its containers, about
_ENTRY_BYTES = 8  # a position in a roaring bitmap takes 2 bytes, and at worst about 8


@dataclass(frozen=True, slots=True)
class PositionDeletes:
    """Deleted positions by data file, paths as the delete file spells them."""

    by_path: Mapping[str, BitMap64]

    def of(self, data_path: str) -> BitMap64 | None:
        """Return the positions of a data file, None where the delete file has none for it.

        Paths have to be equal; only where no path is, one that spells the same location in
        another way counts (`file:/a` for `file:///a`).
        """
        exact = self.by_path.get(data_path)
        if exact is not None or not self.by_path:
            return exact
        place = normalise(data_path)
        for path, positions in self.by_path.items():
            if normalise(path) == place:
                return positions
        return None

    @property
    def size(self) -> int:
        """The bytes that it takes in memory, about."""
        return sum(len(path) + _bytes_of(positions) for path, positions in self.by_path.items())


def _bytes_of(positions: BitMap64) -> int:
    counted = positions.get_statistics()
    return (
        _OBJECT_BYTES
        + counted["n_bytes_array_containers"]
        + counted["n_bytes_run_containers"]
        + counted["n_bytes_bitset_containers"]
    )


def deleted_positions(
    io: FileIO, data_path: str, files: Iterable[DeleteFile], cache: DeleteCache
) -> npt.NDArray[np.int64] | None:
    """Return the positions that the delete files delete in a data file, sorted; None for none.

    Raises CorruptFileError, NoSuchFileError or StorageError naming a delete file.
    """
    merged = BitMap64()
    for file in files:
        found = _load(io, file, data_path, cache).of(data_path)
        if found is not None:
            merged |= found
    if not merged:
        return None
    return np.frombuffer(merged.to_array(), np.uint64).astype(np.int64)


def _load(io: FileIO, file: DeleteFile, data_path: str, cache: DeleteCache) -> PositionDeletes:
    """Decode a delete file once for all its data files, or one too large for this one only."""
    shared = file.record_count * _ENTRY_BYTES <= cache.capacity // 2
    only = None if shared else data_path
    key = ("positions", file.file_path, file.file_size_in_bytes, only)
    found: PositionDeletes = cache.get_or_load(key, lambda: _sized(_read(io, file, only)))
    return found


def _sized(deletes: PositionDeletes) -> tuple[PositionDeletes, int]:
    return deletes, deletes.size


def _read(io: FileIO, file: DeleteFile, only: str | None) -> PositionDeletes:
    found: dict[str, BitMap64] = {}
    target = file.referenced_data_file
    if target is not None:  # all rows are of one data file: its path need not be read
        for batch in projected_rows(io, file, (POS,), _NAMES):
            _add(found, target, batch.column(0), file)
        return PositionDeletes(found)
    if only is None:
        batches = projected_rows(io, file, (FILE_PATH, POS), _NAMES)
    else:
        batches = _rows_of(io, file, only)
    for batch in batches:
        for path, positions in _by_path(batch):
            _add(found, path, positions, file)
    return PositionDeletes(found)


def _rows_of(io: FileIO, file: DeleteFile, path: str) -> Iterator[pa.RecordBatch]:
    """Yield the rows of one data file, skipping the row groups that hold other paths only."""
    spellings = sorted(_spellings(path))
    column = BoundReference(FILE_PATH.field_id, FILE_PATH.field_type, True, FILE_PATH.name)
    wanted = pa.array(spellings, pa.string())
    bound = In(column, tuple(spellings))
    for batch in projected_rows(io, file, (FILE_PATH, POS), _NAMES, bound):
        yield batch.filter(pc.is_in(batch.column(0), wanted))


def _spellings(path: str) -> set[str]:
    """Return a path as given and the usual other ways to write a local one."""
    place = normalise(path)
    if not place.startswith("file:"):
        return {path, place}
    local = place.removeprefix("file:")
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


def _add(found: dict[str, BitMap64], path: str, positions: pa.Array, file: DeleteFile) -> None:
    numbers = positions.to_numpy(zero_copy_only=False)
    if positions.null_count or (len(numbers) and numbers.min() < 0):
        raise CorruptFileError(f"{file.file_path} deletes a null or negative position in {path}")
    found.setdefault(path, BitMap64()).update(BitMap64(numbers.astype(np.uint64)))
