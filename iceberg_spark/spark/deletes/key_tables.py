"""Keys of equality deletes as a perfect hash table inside a Spark expression, without a join.

A row's key can be in one slot of the table only ("hash, displace, and compress"; Belazzougui,
Botelho and Dietzfelbinger, 2009). Spark's `hash` of the key selects a bucket, the bucket has a
number, and the hash of number and key selects the slot:

    bucket = hash(key) & (bucket count - 1)
    slot   = pmod(hash(numbers[bucket], key), slot count)
    is_deleted = keys[slot] = key

The driver builds the table, so it has to compute Spark's `hash` (Murmur3) itself. In return no
stage of a query waits for a broadcast of the keys, and the lookup is part of the scan's code.

The alternative is an anti-join, before which Spark's `might_contain` excludes most rows. For
500,000 keys of two columns and 10M rows it takes 2.3 times the CPU of this module for a count and
2.1 times for a sum (`benchmarks/results.md`). It replaces this module if it takes at most 1.2.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.arrow.position_set import PositionSet
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.read.process_cache import process_cache
from iceberg_spark.scan.context import ScanContext
from iceberg_spark.spark.deletes.equality_keys import SCOPE, SEQUENCE, cache_key, key_columns
from iceberg_spark.spark.deletes.files_with_deletes import KeyDeletes
from iceberg_spark.spark.deletes.limits import KEYS
from iceberg_spark.spark.deletes.position_bitmaps import IntegerBits, Words, integer_bits

Integers: TypeAlias = npt.NDArray[np.int64]
Hashes: TypeAlias = npt.NDArray[np.uint32]

_NUMBERS, _FILTER, _PACKED, _USED = "numbers", "filter", "packed", "used"
_INTEGER_TYPES = (pa.int32(), pa.int64())

EMPTY = -1
_MAX_NUMBERS = 2_000
"""Numbers that are tried for a bucket, ..."""
_MAX_BUCKET_ROWS = 64
"""... and rows of a bucket, at most: more rows have equal hashes, which no number separates."""

_MAX_PACKED = 2**62
"""Packed keys, and the values that they are computed from, stay below: nothing overflows."""

_HASH_SEED = 42
_MAX_LONG_DIGITS = 18
"""Decimals of more digits are not longs in Spark, which hashes their bytes instead."""


@dataclass(frozen=True, slots=True, eq=False)
class KeyTable:
    """A hash table of distinct keys, as lists that have one element for each slot.

    `lists` also has the numbers of the buckets, the words of the filter, and the newest sequence
    number of each key if it matters. Integer keys are `packed` into one list, other keys have a
    list for each column. Most rows need no lookup: a filter of bits, small enough for a processor's
    cache, excludes them first. It has the values of `filter_column` from 64 times `first_word` on,
    or the hashes of the columns `hashed`. Spark sends the lists with a query, once for each time
    that its plan names them.
    """

    lists: Mapping[str, Any]
    hashed: tuple[str, ...]
    slot_count: int
    packed: PackedKeys | None = None
    filter_column: str | None = None
    first_word: int = 0

    @property
    def nbytes(self) -> int:
        """The bytes of all lists."""
        return sum(int(values.nbytes) for values in self.lists.values())

    def has_key(self, prefix: str, row: Mapping[str, str]) -> str:
        """Return the SQL condition that a row is deleted: its key is in the table.

        The delete must also be newer than the row if sequence numbers matter. The condition may be
        NULL for a row that is not deleted. `row` maps key columns to the row's columns, with dates
        as integers; the names of the lists start with `prefix`.
        """
        conditions = [self._passes_filter(prefix, row)]
        if self.packed is None:
            slot = self._slot(prefix, ", ".join(row[name] for name in self.hashed))
            checks = [f"get({prefix}{_USED}, {slot})"] if _USED in self.lists else []
            checks += [self._is_equal(prefix, name, row[name], slot) for name in self._key_lists]
        else:
            conditions += self.packed.in_range(row, skip=self.filter_column)
            packed_key = self.packed.packed_key(row)
            slot = self._slot(prefix, packed_key)
            checks = [f"get({prefix}{_PACKED}, {slot}) = {packed_key}"]
        if SEQUENCE in self.lists:
            checks.append(f"get({prefix}{SEQUENCE}, {slot}) > {row[SEQUENCE]}")
        return f"if({' and '.join(conditions)}, {' and '.join(checks)}, false)"

    @property
    def _key_lists(self) -> list[str]:
        others = (_NUMBERS, _FILTER, _USED, SEQUENCE)
        return [name for name in self.lists if name not in others]

    def _slot(self, prefix: str, key: str) -> str:
        bucket = f"hash({key}) & {len(self.lists[_NUMBERS]) - 1}"
        return f"pmod(hash(get({prefix}{_NUMBERS}, {bucket}), {key}), {self.slot_count})"

    def _is_equal(self, prefix: str, name: str, value: str, slot: str) -> str:
        return f"get({prefix}{name}, {slot}) {'<=>' if _USED in self.lists else '='} {value}"

    def _passes_filter(self, prefix: str, row: Mapping[str, str]) -> str:
        words = f"{prefix}{_FILTER}"
        if self.filter_column is None:
            key = ", ".join(row[name] for name in self.hashed)
            bit = f"(hash({key}) & {64 * len(self.lists[_FILTER]) - 1})"
            return f"getbit(get({words}, shiftright({bit}, 6)), {bit} & 63) = 1"
        value = row[self.filter_column]
        integer = f"cast({value} as bigint)"
        word = f"try_cast(shiftright({integer}, 6) - {self.first_word}L as int)"
        is_set = f"getbit(get({words}, {word}), cast({integer} & 63L as int)) = 1"
        return f"({value} is null or {is_set})" if _USED in self.lists else is_set


def key_table(
    context: ScanContext, io: FileIO, deletes: KeyDeletes, keys: pa.Table
) -> KeyTable | None:
    """Return the hash table of keys that `cached_keys` returned; it is cached, too.

    None if the columns that can be hashed do not distinguish the keys.
    """

    def build() -> tuple[KeyTable | None, int]:
        table = _build(keys, deletes)
        return table, 0 if table is None else table.nbytes

    table: KeyTable | None = process_cache().get_or_load(
        ("slots", *cache_key(context, io, deletes)), build
    )
    return table


def _build(keys: pa.Table, deletes: KeyDeletes) -> KeyTable | None:
    columns = {name: _dates_as_integers(keys.column(name)) for name in key_columns(deletes)}
    hashed = tuple(name for name, values in columns.items() if _is_hashed(values))
    if not hashed or not _distinguish_keys(columns, hashed):
        return None
    packed = pack_keys(columns)
    hashed_values = [columns[name] for name in hashed] if packed is None else [pa.array(packed[1])]
    slot_count = int(len(keys) * KEYS.slots_a_key) + 1
    bucket_count = _power_of_two(len(keys) / KEYS.keys_a_bucket)
    slots = assign_slots(
        _hash_bits(hashed_values, bucket_count),
        bucket_count,
        slot_count,
        lambda rows, number: _slots(hashed_values, rows, number, slot_count),
    )
    if slots is None:
        return None
    lists = _lists(columns, slots, None if packed is None else packed[1])
    if deletes.by_sequence:
        lists[SEQUENCE] = _in_slots(keys.column(SEQUENCE).combine_chunks(), slots)
    filter_column, bits = _filter_column(columns, hashed)
    if filter_column is None or bits is None:
        filter_column, first_word = None, 0
        lists[_FILTER] = pa.array(_filter_of_hashes([columns[name] for name in hashed]))
    else:
        first_word = bits.first_word
        lists[_FILTER] = pa.array(bits.words)
    return KeyTable(lists, hashed, slot_count, packed and packed[0], filter_column, first_word)


def _is_hashed(values: Any) -> bool:
    """Return whether a column is hashed; long strings and bytes take a step for each word."""
    if not can_hash(values.type):
        return False
    if not (pa.types.is_string(values.type) or pa.types.is_binary(values.type)):
        return True
    longest = pc.max(pc.binary_length(values)).as_py()
    return longest is None or longest <= KEYS.hashed_value_bytes


def _distinguish_keys(columns: Mapping[str, Any], hashed: Sequence[str]) -> bool:
    """Return whether no two keys are equal in the columns that are hashed."""
    if len(hashed) == len(columns):
        return True
    distinct = pa.table({name: columns[name] for name in hashed})
    distinct = distinct.group_by(list(hashed)).aggregate([])
    return len(distinct) == len(columns[hashed[0]])


def _dates_as_integers(column: Any) -> Any:
    values = pa.concat_arrays(column.chunks) if isinstance(column, pa.ChunkedArray) else column
    return values.cast(pa.int32()) if pa.types.is_date32(values.type) else values


def _lists(columns: Mapping[str, Any], slots: Slots, packed: Integers | None) -> dict[str, Any]:
    lists = {_NUMBERS: pa.array(slots.numbers)}
    if packed is not None:
        lists[_PACKED] = pc.fill_null(_in_slots(pa.array(packed), slots), EMPTY)
        return lists
    if any(values.null_count for values in columns.values()):
        lists[_USED] = pa.array(slots.rows != EMPTY)
    return lists | {name: _narrow(_in_slots(values, slots)) for name, values in columns.items()}


def _in_slots(values: Any, slots: Slots) -> Any:
    """Return the values of the keys in the order of the slots; NULL for an empty slot."""
    return values.take(pa.array(slots.rows, mask=slots.rows == EMPTY))


def _filter_column(
    columns: Mapping[str, Any], hashed: Sequence[str]
) -> tuple[str | None, IntegerBits | None]:
    """Return the integer column with the most distinct values, and these as bits."""
    integers = [name for name in hashed if columns[name].type in _INTEGER_TYPES and name != SCOPE]
    counts = {name: pc.count_distinct(columns[name]).as_py() for name in integers}
    name = max(counts, key=lambda name: counts[name], default=None)
    return name, None if name is None else integer_bits(columns[name])


def _filter_of_hashes(columns: Sequence[Any]) -> Words:
    size = _power_of_two(len(columns[0]) * KEYS.bits_a_key)
    words = PositionSet.from_positions(np.unique(_hash_bits(columns, size))).range_words()
    return np.pad(words, (0, size // 64 - len(words)))


def _narrow(values: Any) -> Any:
    """Return integers as the narrowest type that holds them."""
    if values.type not in _INTEGER_TYPES or values.null_count == len(values):
        return values
    ends = pc.min_max(values)
    for kind in (pa.int8(), pa.int16(), pa.int32()):
        try:
            pa.array([ends["min"].as_py(), ends["max"].as_py()], kind)
        except (pa.ArrowInvalid, OverflowError):
            continue
        return values.cast(kind)
    return values


def _power_of_two(least: float) -> int:
    return 1 << max(6, int(least - 1).bit_length())


def _hash_bits(columns: Sequence[Any], size: int) -> Integers:
    """Return each row's hash modulo `size`, a power of two."""
    return (row_hashes(columns) & np.uint32(size - 1)).astype(np.int64)


def _slots(columns: Sequence[Any], rows: Integers, number: int, slot_count: int) -> Integers:
    """Return the slots of some rows, as the expression of `KeyTable` computes them."""
    chosen = [values.take(pa.array(rows)) for values in columns]
    numbers = pa.array(np.full(len(rows), number, np.int32))
    return np.mod(row_hashes([numbers, *chosen]).view(np.int32).astype(np.int64), slot_count)


# Packing: integer keys of several columns become one integer.


@dataclass(frozen=True, slots=True)
class KeyRange:
    """The range of a key column: `count` values from `least` on."""

    name: str
    least: int
    count: int

    @property
    def greatest(self) -> int:
        """The greatest value."""
        return self.least + self.count - 1


@dataclass(frozen=True, slots=True)
class PackedKeys:
    """How integer keys are packed into one integer; no two keys have the same.

    With columns from 0 to 9 and from 20 to 29, the key (3, 25) is 35, one of 0 to 99.
    """

    ranges: tuple[KeyRange, ...]

    def in_range(self, row: Mapping[str, str], *, skip: str | None) -> list[str]:
        """Return SQL conditions that are true if a row's key can be packed.

        `row` maps key columns to the row's columns. The filter has checked the column `skip`.
        """
        return [
            f"{row[key_range.name]} between {key_range.least}L and {key_range.greatest}L"
            for key_range in self.ranges
            if key_range.name != skip
        ]

    def packed_key(self, row: Mapping[str, str]) -> str:
        """Return the SQL of a row's packed key, a bigint; NULL if a column is NULL."""
        first, *others = self.ranges
        packed = f"(cast({row[first.name]} as bigint) - {first.least}L)"
        for key_range in others:
            digit = f"(cast({row[key_range.name]} as bigint) - {key_range.least}L)"
            packed = f"({packed} * {key_range.count}L + {digit})"
        return packed


def pack_keys(columns: Mapping[str, Any]) -> tuple[PackedKeys, Integers] | None:
    """Return how keys, columns of int32 and int64, are packed, and the packed keys.

    None for keys with other columns, with NULLs, or whose ranges are too wide together.
    """
    ranges = []
    for name, values in columns.items():
        if values.type not in _INTEGER_TYPES or values.null_count or not len(values):
            return None
        ends = pc.min_max(values)
        least, greatest = ends["min"].as_py(), ends["max"].as_py()
        if max(-least, greatest) > _MAX_PACKED:
            return None
        ranges.append(KeyRange(name, least, greatest - least + 1))
    if prod(key_range.count for key_range in ranges) > _MAX_PACKED:
        return None
    packed = np.zeros(len(next(iter(columns.values()))), np.int64)
    for key_range in ranges:
        values = columns[key_range.name].to_numpy(zero_copy_only=False).astype(np.int64)
        packed = packed * key_range.count + (values - key_range.least)
    return PackedKeys(tuple(ranges)), packed


# Slots: each bucket gets the first number that puts its rows into slots that are still empty.


@dataclass(frozen=True, slots=True, eq=False)
class Slots:
    """The number of each bucket, and the row in each slot, EMPTY if there is none."""

    numbers: npt.NDArray[np.int16]
    rows: npt.NDArray[np.int32]


def assign_slots(
    buckets: Integers,
    bucket_count: int,
    slot_count: int,
    slots_of: Callable[[Integers, int], Integers],
) -> Slots | None:
    """Return a slot for each row, no slot twice.

    `buckets` has each row's bucket; `slots_of(rows, number)` returns the slots of rows by a number.
    None if a bucket's numbers run out. With 0.8 rows a slot and 4 rows a bucket that is rare,
    unless rows of one bucket have the same slot by each number.
    """
    row_counts = np.bincount(buckets, minlength=bucket_count)
    if row_counts.max(initial=0) > _MAX_BUCKET_ROWS:
        return None
    order = np.argsort(buckets, kind="stable")
    starts = np.cumsum(row_counts) - row_counts
    placement = _Placement(
        np.zeros(bucket_count, np.int16), np.full(slot_count, EMPTY, np.int32), slots_of
    )
    # Large buckets come first, while most slots are empty: they are the hardest to place.
    for row_count in np.unique(row_counts[row_counts > 0])[::-1].tolist():
        chosen = np.flatnonzero(row_counts == row_count)
        rows = order[starts[chosen][:, None] + np.arange(row_count)]
        if not placement.assign(chosen, rows):
            return None
    return Slots(placement.numbers, placement.rows)


@dataclass(frozen=True, slots=True, eq=False)
class _Placement:
    numbers: npt.NDArray[np.int16]
    rows: npt.NDArray[np.int32]
    slots_of: Callable[[Integers, int], Integers]

    def assign(self, buckets: Integers, rows: Integers) -> bool:
        """Place buckets with equally many rows, a line of `rows` each; False if one has no place.

        The published algorithm places one bucket after the other. Here all of them try a number at
        once, in a few operations of numpy, and those that fit keep it.
        """
        for number in range(_MAX_NUMBERS):
            if not len(buckets):
                return True
            slots = self.slots_of(rows.ravel(), number).reshape(rows.shape)
            placed = self._fitting_lines(slots)
            self.rows[slots[placed]] = rows[placed]
            self.numbers[buckets[placed]] = number
            remaining = np.ones(len(buckets), np.bool_)
            remaining[placed] = False
            buckets, rows = buckets[remaining], rows[remaining]
        return not len(buckets)

    def _fitting_lines(self, slots: Integers) -> Integers:
        """Return the lines whose slots are all empty and are those of no other returned line."""
        in_order = np.sort(slots, axis=1)
        fits = (self.rows[slots] == EMPTY).all(axis=1)
        fits &= (in_order[:, 1:] != in_order[:, :-1]).all(axis=1)
        lines = np.flatnonzero(fits)
        owners = np.full(len(self.rows), EMPTY, np.int32)
        owners[slots[lines]] = lines[:, None]  # the last of several lines remains
        winners: Integers = lines[(owners[slots[lines]] == lines[:, None]).all(axis=1)]
        return winners


# Hashes: Spark's SQL function `hash`, which is Murmur3 with 32 bits and seed 42. Source:
# `org.apache.spark.sql.catalyst.expressions.HashExpression` and `Murmur3_x86_32`. A column's hash
# is the seed of the next column's, and a NULL leaves the seed unchanged.


def can_hash(kind: pa.DataType) -> bool:
    """Return whether `row_hashes` supports columns of this type."""
    types = pa.types
    if types.is_decimal(kind):
        return bool(kind.precision <= _MAX_LONG_DIGITS)
    predicates = (types.is_boolean, types.is_date32, types.is_string, types.is_binary)
    return kind in {pa.int32(), pa.int64(), pa.timestamp("us"), pa.timestamp("us", "UTC")} or any(
        predicate(kind) for predicate in predicates
    )


def row_hashes(columns: Sequence[Any]) -> Hashes:
    """Return the hash of each row of some columns, whose types `can_hash` accepts.

    `row_hashes([pa.array([1], pa.int32())])` is `[0xDEA578E3]`; as a signed integer this is
    -559580957, which `SELECT hash(1)` returns.
    """
    hashes = np.full(len(columns[0]), _HASH_SEED, np.uint32)
    for column in columns:
        array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        mixed = _hash_column(array, hashes)
        hashes = np.where(array.is_valid().to_numpy(zero_copy_only=False), mixed, hashes)
    return hashes


def _hash_column(array: Any, seeds: Hashes) -> Hashes:
    kind = array.type
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        return _hash_bytes(array, seeds)
    if pa.types.is_decimal(kind):
        words = np.frombuffer(array.buffers()[1], np.uint64)  # two a value, the low one first
        return _hash_longs(words[2 * array.offset :: 2][: len(array)], seeds)
    if pa.types.is_boolean(kind) or pa.types.is_date32(kind) or kind == pa.int32():
        return _hash_ints(_to_numpy(array, pa.int32()).view(np.uint32), seeds)
    return _hash_longs(_to_numpy(array, pa.int64()).view(np.uint64), seeds)


def _to_numpy(array: Any, kind: pa.DataType) -> npt.NDArray[Any]:
    values: npt.NDArray[Any] = pc.fill_null(pc.cast(array, kind), 0).to_numpy(zero_copy_only=False)
    return values


def _hash_ints(values: Hashes, seeds: Hashes) -> Hashes:
    return _finish(_mix_word(seeds, values), np.uint32(4))


def _hash_longs(values: npt.NDArray[np.uint64], seeds: Hashes) -> Hashes:
    low = values.astype(np.uint32)
    high = (values >> np.uint64(32)).astype(np.uint32)
    return _finish(_mix_word(_mix_word(seeds, low), high), np.uint32(8))


def _hash_bytes(array: Any, seeds: Hashes) -> Hashes:
    offsets = np.frombuffer(array.buffers()[1], np.int32)[array.offset :][: len(array) + 1]
    starts = offsets[:-1].astype(np.int64)
    lengths = np.diff(offsets).astype(np.int64)
    data = np.frombuffer(array.buffers()[2] or b"", np.uint8)
    hashes = seeds.copy()
    for block in range(int(lengths.max(initial=0)) // 4):
        rows = np.flatnonzero(lengths >= 4 * block + 4)
        words = np.zeros(len(rows), np.uint32)
        for byte in range(4):
            values = data[starts[rows] + (4 * block + byte)].astype(np.uint32)
            words |= values << np.uint32(8 * byte)
        hashes[rows] = _mix_word(hashes[rows], words)
    # Unlike the published Murmur3, Spark mixes each of the last bytes as a signed word of its own.
    for byte in range(3):
        rows = np.flatnonzero(lengths % 4 > byte)
        places = starts[rows] + lengths[rows] // 4 * 4 + byte
        words = data[places].astype(np.int8).astype(np.int32).view(np.uint32)
        hashes[rows] = _mix_word(hashes[rows], words)
    return _finish(hashes, lengths.astype(np.uint32))


def _mix_word(hashes: Hashes, words: Hashes) -> Hashes:
    mixed = _rotate_left(words * np.uint32(0xCC9E2D51), 15) * np.uint32(0x1B873593)
    return _rotate_left(hashes ^ mixed, 13) * np.uint32(5) + np.uint32(0xE6546B64)


def _rotate_left(words: Hashes, bits: int) -> Hashes:
    return (words << np.uint32(bits)) | (words >> np.uint32(32 - bits))


def _finish(hashes: Hashes, length: Any) -> Hashes:
    hashes = hashes ^ length
    hashes = (hashes ^ (hashes >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    hashes = (hashes ^ (hashes >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    return hashes ^ (hashes >> np.uint32(16))
