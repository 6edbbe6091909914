"""Equality delete files as sets of keys (specification, "Equality Delete Files")."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.arrow.arrays import distinct
from iceberg_spark.arrow.file_fields import Path
from iceberg_spark.arrow.key_columns import key_column
from iceberg_spark.arrow.row_hashes import Words, hash_rows, polars_frame
from iceberg_spark.bounded_cache import BoundedCache
from iceberg_spark.errors import CorruptFileError
from iceberg_spark.io.allowed_places import storage_server
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.io.spill_folder import SpillFolder
from iceberg_spark.lazy import LazyModule
from iceberg_spark.read.projected_rows import LeafColumn, projected_rows
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
    read = sorted(
        (f.file_path, f.file_size_in_bytes, storage_server(io, f.file_path)) for f in files
    )
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


# Sets of keys that whole columns are looked up in.
#
# `pyarrow.compute.is_in` builds its hash again for every batch: 2.3 s for 500k keys and 10M rows.
# A table that is built once takes 0.03 s where numbers lie close together and 0.15 s where not.

pl = LazyModule("polars")

Mask = npt.NDArray[np.bool_]
Longs = npt.NDArray[np.int64]

_SPREAD = np.uint64(0x9E3779B97F4A7C15)  # 2^64 by the golden ratio: spreads neighbours
_SLOTS_PER_KEY = 16


@dataclass(frozen=True, slots=True)
class Probe:
    """A table that says "surely not" to most values that are not in the set."""

    table: Mask
    shift: np.uint64

    def candidates(self, words: Words) -> npt.NDArray[np.intp]:
        """Return the places of the values that may be in the set."""
        return np.flatnonzero(self.table[(words * _SPREAD) >> self.shift])


@dataclass(frozen=True, slots=True)
class NumberKeys:
    """Keys of one column of 64-bit numbers.

    `values` are sorted and distinct. `present[i]` says whether `values[0] + i` is a key, where
    the keys lie close enough together for that; else `probe` stands before the search.
    """

    values: Longs
    has_null: bool
    present: Mask | None
    probe: Probe | None

    @property
    def size(self) -> int:
        """Bytes in memory."""
        return int(self.values.nbytes + _bytes_of(self.present) + _bytes_of_probe(self.probe))

    def contains(self, columns: Sequence[pa.Array]) -> Mask:
        """Return which rows of the one key column are keys."""
        (column,) = columns
        nulls = column.is_null().to_numpy(zero_copy_only=False) if column.null_count else None
        filled = column if nulls is None else pc.fill_null(column, 0)
        matches = self._has(filled.to_numpy(zero_copy_only=False))
        if nulls is not None:
            matches[nulls] = self.has_null
        return matches

    def _has(self, numbers: Longs) -> Mask:
        if not len(self.values):
            return np.zeros(len(numbers), bool)
        if self.present is not None:
            return self._in_table(numbers, self.present)
        if self.probe is None:
            return _search(self.values, numbers)
        matches = np.zeros(len(numbers), bool)
        candidates = self.probe.candidates(numbers.view(np.uint64))
        matches[candidates] = _search(self.values, numbers[candidates])
        return matches

    def _in_table(self, numbers: Longs, present: Mask) -> Mask:
        first, last = self.values[0], self.values[-1]
        inside = (numbers >= first) & (numbers <= last)
        matches: Mask = present[np.where(inside, numbers, first) - first] & inside
        return matches


@dataclass(frozen=True, slots=True)
class HashedKeys:
    """Keys of several columns, or of one of text or bytes: found by hash, then compared.

    `hashes` are sorted; `columns` hold the distinct keys in that order. `repeats` is how many
    keys share a hash at most (1 unless two keys collide).
    """

    hashes: Words
    columns: tuple[pa.Array, ...]
    repeats: int
    probe: Probe | None

    @property
    def size(self) -> int:
        """Bytes in memory."""
        held = sum(column.nbytes for column in self.columns)
        return int(self.hashes.nbytes + held + _bytes_of_probe(self.probe))

    def contains(self, columns: Sequence[pa.Array]) -> Mask:
        """Return which rows of the key columns are keys."""
        matches = np.zeros(len(columns[0]), bool)
        if not len(self.hashes):
            return matches
        words = hash_rows(polars_frame(columns))
        candidates = self.probe.candidates(words) if self.probe else np.arange(len(words))
        indices = np.searchsorted(self.hashes, words[candidates])
        for _ in range(self.repeats):
            indices = np.minimum(indices, len(self.hashes) - 1)
            hit = self.hashes[indices] == words[candidates]
            candidates, indices = candidates[hit], indices[hit]
            if not len(candidates):
                break
            matches[candidates] |= self._equal(columns, candidates, indices)
            indices = indices + 1
        return matches

    def _equal(self, columns: Sequence[pa.Array], row_numbers: Any, key_numbers: Any) -> Mask:
        rows, keys = pa.array(row_numbers), pa.array(key_numbers)
        same = np.ones(len(row_numbers), bool)
        for column, key in zip(columns, self.columns, strict=True):
            left, right = column.take(rows), key.take(keys)
            equal = pc.fill_null(pc.equal(left, right), fill_value=False)
            if left.null_count and right.null_count:
                equal = pc.or_(equal, pc.and_(left.is_null(), right.is_null()))
            same &= equal.to_numpy(zero_copy_only=False)
        return same


KeySet = NumberKeys | HashedKeys


def key_set(columns: Sequence[pa.Array], *, fast: bool = True) -> KeySet:
    """Build the set of the rows of key columns (`key_columns.key_column`).

    Without `fast` no lookup table is built for the keys: sets on disk have no memory for it.
    """
    if len(columns) == 1 and columns[0].type == pa.int64():
        return _number_keys(columns[0], fast=fast)
    return _hashed_keys(columns, fast=fast)


def _number_keys(column: pa.Array, *, fast: bool) -> NumberKeys:
    values = distinct(column.drop_null().to_numpy(zero_copy_only=False))
    has_null = column.null_count > 0
    if not fast or not len(values):
        return NumberKeys(values, has_null, None, None)
    span = int(values[-1]) - int(values[0]) + 1
    if span > _SLOTS_PER_KEY * len(values) + 1024:
        return NumberKeys(values, has_null, None, _probe(values.view(np.uint64)))
    present = np.zeros(span, bool)
    present[values - values[0]] = True
    return NumberKeys(values, has_null, present, None)


def _hashed_keys(columns: Sequence[pa.Array], *, fast: bool) -> HashedKeys:
    distinct = polars_frame(columns).unique(maintain_order=False)
    words = hash_rows(distinct)
    order = np.argsort(words, kind="stable")
    words = words[order]
    ordered = distinct.select(pl.all().gather(order)).to_arrow(compat_level=pl.CompatLevel.oldest())
    keys = tuple(
        _as(ordered.column(i).combine_chunks(), column.type) for i, column in enumerate(columns)
    )
    runs = np.diff(np.flatnonzero(np.concatenate(([True], words[1:] != words[:-1], [True]))))
    repeats = int(runs.max()) if len(words) else 1
    probe = _probe(words) if fast and len(words) else None
    return HashedKeys(words, keys, repeats, probe)


def _as(column: Any, kind: pa.DataType) -> pa.Array:
    array = pa.concat_arrays(column.chunks) if isinstance(column, pa.ChunkedArray) else column
    return array if array.type == kind else array.cast(kind)


def _probe(words: Words) -> Probe:
    bits = max(10, int(len(words) * _SLOTS_PER_KEY).bit_length())
    shift = np.uint64(64 - bits)
    table = np.zeros(1 << bits, bool)
    table[(words * _SPREAD) >> shift] = True
    return Probe(table, shift)


def _search(values: Longs, numbers: Longs) -> Mask:
    indices = np.minimum(np.searchsorted(values, numbers), len(values) - 1)
    matches: Mask = values[indices] == numbers
    return matches


def _bytes_of(array: Mask | None) -> int:
    return 0 if array is None else array.nbytes


def _bytes_of_probe(probe: Probe | None) -> int:
    return 0 if probe is None else probe.table.nbytes
