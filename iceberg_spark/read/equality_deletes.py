"""Equality delete files as sets of keys (specification, "Equality Delete Files")."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from iceberg_spark.arrow.file_fields import Path
from iceberg_spark.arrow.key_columns import key_column
from iceberg_spark.errors import CorruptFileError
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.io.servers import stored_at
from iceberg_spark.io.spill_folder import SpillFolder
from iceberg_spark.read.bounded_cache import BoundedCache
from iceberg_spark.read.key_set import HashedKeys, KeySet, Mask, NumberKeys, key_set
from iceberg_spark.read.leaf_columns import LeafColumn
from iceberg_spark.read.projected_rows import projected_rows
from iceberg_spark.scan.task import DeleteFile


@dataclass(frozen=True, slots=True)
class EqualityDeletes:
    """All keys that a group of delete files deletes; `runs` together are the set."""

    keys: tuple[LeafColumn, ...]
    runs: tuple[KeySet, ...]
    folder: SpillFolder | None = None

    @property
    def size(self) -> int:
        """Bytes in memory, or on disk."""
        return sum(run.size for run in self.runs)

    def deleted(self, columns: Mapping[int, pa.Array]) -> Mask:
        """Return which rows are deleted; `columns` holds the key columns by field id."""
        keys = [key_column(leaf.kind, columns[leaf.field_id]) for leaf in self.keys]
        matches = np.zeros(len(keys[0]), bool)
        for run in self.runs:
            matches |= run.contains(keys)
        return matches


@dataclass(slots=True)
class _Builder:
    """Collects key columns; what passes `limit` bytes is sorted and goes to disk as a run."""

    limit: int
    held: list[list[pa.Array]] = field(default_factory=list)
    bytes: int = 0
    runs: list[KeySet] = field(default_factory=list)
    folder: SpillFolder | None = None

    def add(self, columns: list[pa.Array]) -> None:
        self.held.append(columns)
        self.bytes += sum(column.nbytes for column in columns)
        if self.bytes > self.limit:
            self._spill()

    def finish(self, keys: tuple[LeafColumn, ...]) -> EqualityDeletes:
        if self.folder is not None and self.held:
            self._spill()
        elif self.held:
            self.runs.append(key_set(self._joined()))
        return EqualityDeletes(keys, tuple(self.runs), self.folder)

    def _joined(self) -> list[pa.Array]:
        return [pa.concat_arrays(parts) for parts in zip(*self.held, strict=True)]

    def _spill(self) -> None:
        self.folder = self.folder or SpillFolder()
        self.runs.append(_on_disk(key_set(self._joined(), fast=False), self.folder))
        self.held, self.bytes = [], 0


def load_equality_deletes(
    io: FileIO,
    files: Sequence[DeleteFile],
    keys: tuple[LeafColumn, ...],
    names: Mapping[Path, int],
    cache: BoundedCache,
) -> EqualityDeletes:
    """Return the keys of delete files that all have the key columns `keys`.

    Key columns are read as the table's types. A set that takes more memory than the cache may
    hold is built in sorted runs on disk, mapped into memory when it is searched. Raises
    CorruptFileError, NoSuchFileError or StorageError naming a delete file.
    """
    read = sorted((f.file_path, f.file_size_in_bytes, stored_at(io, f.file_path)) for f in files)
    key = ("keys", tuple(read), keys)

    def load() -> tuple[EqualityDeletes, int]:
        builder = _Builder(cache.capacity // 4)  # the lookup tables of the keys need memory too
        for file in files:
            for columns in _key_columns(io, file, keys, names):
                builder.add(columns)
        deletes = builder.finish(keys)
        if deletes.folder is not None:  # counts for a quarter: the cache keeps few of these
            return deletes, builder.limit + 1
        return deletes, deletes.size

    loaded: EqualityDeletes = cache.get_or_load(key, load)
    return loaded


def _key_columns(
    io: FileIO, file: DeleteFile, keys: tuple[LeafColumn, ...], names: Mapping[Path, int]
) -> Iterator[list[pa.Array]]:
    for batch in projected_rows(io, file, [leaf.field for leaf in keys], names):
        if batch.num_rows:
            columns = [leaf.of(column) for leaf, column in zip(keys, batch.columns, strict=True)]
            yield [key_column(leaf.kind, c) for leaf, c in zip(keys, columns, strict=True)]


def groups_by_keys(files: Sequence[DeleteFile]) -> dict[tuple[int, ...], list[DeleteFile]]:
    """Return equality delete files by their key columns, whatever order a writer listed these in.

    Raises CorruptFileError for a file without any.
    """
    groups: dict[tuple[int, ...], list[DeleteFile]] = {}
    for file in files:
        if not file.equality_ids:
            raise CorruptFileError(f"Equality delete file {file.file_path} has no equality ids")
        groups.setdefault(tuple(sorted(set(file.equality_ids))), []).append(file)
    return groups


def _on_disk(keys: KeySet, folder: SpillFolder) -> KeySet:
    """Write a set's arrays to files and return it over memory maps of them."""
    if isinstance(keys, NumberKeys):
        return replace(keys, values=_mapped_array(keys.values, folder))
    batch = pa.RecordBatch.from_arrays(
        list(keys.columns), names=[str(i) for i in range(len(keys.columns))]
    )
    path = folder.next(".arrow")
    with pa.OSFile(path, "wb") as sink, pa.ipc.new_file(sink, batch.schema) as writer:
        writer.write_batch(batch)
    stored = pa.ipc.open_file(pa.memory_map(path)).get_batch(0)
    hashes = _mapped_array(keys.hashes, folder)
    return HashedKeys(hashes, tuple(stored.columns), keys.repeats, None)


def _mapped_array(values: Any, folder: SpillFolder) -> Any:
    path = folder.next(".npy")
    np.save(path, values)
    return np.load(path, mmap_mode="r") if len(values) else values
