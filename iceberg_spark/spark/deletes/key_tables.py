"""Keys of equality deletes as a hash table that is part of an expression: no join looks them up.

A join would make a job that reads the keys, collects, hashes and sends them, and one that waits for
it: 0.4 s for 300,000 keys, whatever the rows are. So the driver reads the keys once, and keeps a
table in which one slot can have a row's key. Spark evaluates it in the code of its scan.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.arrow.displaced_slots import EMPTY, DisplacedSlots, Places, displaced_slots
from iceberg_spark.arrow.position_set import PositionSet
from iceberg_spark.arrow.spark_hashes import can_hash, row_hashes
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.io.servers import stored_at
from iceberg_spark.read.delete_cache import process_cache
from iceberg_spark.scan.context import ScanContext
from iceberg_spark.spark.deletes.equality_keys import SCOPE, SEQUENCE, key_columns, local_keys
from iceberg_spark.spark.deletes.files_with_deletes import KeyDeletes
from iceberg_spark.spark.deletes.limits import KEYS
from iceberg_spark.spark.deletes.packed_keys import PackedKeys, packed_keys
from iceberg_spark.spark.deletes.position_bitmaps import Words

_NUMBERS, _MAYBE, _PACKED, _USED = "numbers", "maybe", "packed", "used"
_WHOLE = (pa.int32(), pa.int64())


@dataclass(frozen=True, slots=True, eq=False)
class KeyTable:
    """Distinct keys as lists, a place a slot, with their newest sequence number where that counts.

    Keys of whole numbers are one number each where they are `packed`, others a list a column. The
    list of bits says which rows have to be looked up at all, for it stays in a processor's cache:
    by the number in column `told` less 64 times `first_word`, or by the hash of the columns that
    are `hashed`. A row's slot is its hash behind the number of its bucket, which another hash
    tells. All of it travels with each query, once for each time that it is named.
    """

    lists: Mapping[str, Any]
    hashed: tuple[str, ...]
    size: int
    packed: PackedKeys | None = None
    told: str | None = None
    first_word: int = 0

    @property
    def nbytes(self) -> int:
        """The bytes of all that travels with a query."""
        return sum(int(values.nbytes) for values in self.lists.values())

    def has_key(self, prefix: str, own: Mapping[str, str]) -> str:
        """Return an SQL condition, NULL for no: whether the key of a row is in the table.

        Newer than the row, where that counts. Before the names of lists stands `prefix`; `own` has
        the row's columns by the names of those of the keys, and days as numbers.
        """
        first = [self._may_be(prefix, own)]
        if self.packed is None:
            slot = self._slot(prefix, ", ".join(own[name] for name in self.hashed))
            checks = [f"get({prefix}{_USED}, {slot})"] if _USED in self.lists else []
            checks += [self._is_equal(prefix, name, own[name], slot) for name in self._keys]
        else:
            first += self.packed.in_range(own, beside=self.told)
            number = self.packed.number(own)
            slot = self._slot(prefix, number)
            checks = [f"get({prefix}{_PACKED}, {slot}) = {number}"]
        if SEQUENCE in self.lists:
            checks.append(f"get({prefix}{SEQUENCE}, {slot}) > {own[SEQUENCE]}")
        return f"if({' and '.join(first)}, {' and '.join(checks)}, false)"

    @property
    def _keys(self) -> list[str]:
        others = (_NUMBERS, _MAYBE, _USED, SEQUENCE)
        return [name for name in self.lists if name not in others]

    def _slot(self, prefix: str, hashed: str) -> str:
        bucket = f"hash({hashed}) & {len(self.lists[_NUMBERS]) - 1}"
        return f"pmod(hash(get({prefix}{_NUMBERS}, {bucket}), {hashed}), {self.size})"

    def _is_equal(self, prefix: str, name: str, own: str, slot: str) -> str:
        return f"get({prefix}{name}, {slot}) {'<=>' if _USED in self.lists else '='} {own}"

    def _may_be(self, prefix: str, own: Mapping[str, str]) -> str:
        bits = f"{prefix}{_MAYBE}"
        if self.told is None:
            of = ", ".join(own[name] for name in self.hashed)
            bit = f"(hash({of}) & {64 * len(self.lists[_MAYBE]) - 1})"
            return f"getbit(get({bits}, shiftright({bit}, 6)), {bit} & 63) = 1"
        number = f"cast({own[self.told]} as bigint)"
        place = f"try_cast(shiftright({number}, 6) - {self.first_word}L as int)"
        is_set = f"getbit(get({bits}, {place}), cast({number} & 63L as int)) = 1"
        return f"({own[self.told]} is null or {is_set})" if _USED in self.lists else is_set


def read_keys(context: ScanContext, io: FileIO, deletes: KeyDeletes, most: int) -> pa.Table | None:
    """Return the keys of some delete files as `local_keys` does, and keep them in this process.

    None where they are more than `most`, or too many files or bytes: then tasks have to read them.
    Raises CorruptFileError, NoSuchFileError or StorageError naming a delete file.
    """
    if deletes.record_count > most or len(deletes.files) > KEYS.local_files:
        return None

    def made() -> tuple[pa.Table | None, int]:
        keys = local_keys(context, io, deletes)
        return (None, 0) if keys is None else (keys.combine_chunks(), keys.nbytes)

    name = ("keys", *_names(context, io, deletes))
    found: pa.Table | None = process_cache().get_or_load(name, made)
    return found


def key_table(
    context: ScanContext, io: FileIO, deletes: KeyDeletes, keys: pa.Table
) -> KeyTable | None:
    """Return a table of keys that `read_keys` gave, which is kept too.

    None where the columns whose hashes are known don't tell the keys apart.
    """

    def made() -> tuple[KeyTable | None, int]:
        table = _made(keys, deletes)
        return table, 0 if table is None else table.nbytes

    name = ("slots", *_names(context, io, deletes))
    found: KeyTable | None = process_cache().get_or_load(name, made)
    return found


def _names(context: ScanContext, io: FileIO, deletes: KeyDeletes) -> tuple[Hashable, ...]:
    """Return all that keys depend on: files, and the columns with the types that they have now."""
    files = tuple(
        (
            file.key,
            file.file_size_in_bytes,
            stored_at(io, file.file_path),
            scope,
            file.data_sequence_number,
        )
        for file, scope in zip(deletes.files, deletes.scopes, strict=True)
    )
    return deletes.keys, context.name_mapping, deletes.by_sequence, deletes.by_scope, files


def _made(keys: pa.Table, deletes: KeyDeletes) -> KeyTable | None:
    columns = {name: _days_as_numbers(keys.column(name)) for name in key_columns(deletes)}
    hashed = tuple(name for name, values in columns.items() if _is_hashed(values))
    if not hashed or not _tell_apart(columns, hashed):
        return None
    packed = packed_keys(columns)
    asked = [columns[name] for name in hashed] if packed is None else [pa.array(packed[1])]
    size = int(len(keys) * KEYS.slots_a_key) + 1
    buckets = _power_of_two(len(keys) / KEYS.keys_a_bucket)
    places = displaced_slots(
        _masked(asked, buckets),
        buckets,
        size,
        lambda rows, number: _slots(asked, rows, number, size),
    )
    if places is None:
        return None
    lists = _lists(columns, places, None if packed is None else packed[1])
    if deletes.by_sequence:
        lists[SEQUENCE] = _in_slots(keys.column(SEQUENCE).combine_chunks(), places)
    told, bits = _told(columns, hashed)
    if told is None or bits is None:
        told, first_word = None, 0
        lists[_MAYBE] = pa.array(_bits_of_hashes([columns[name] for name in hashed]))
    else:
        first_word = bits.first_word
        lists[_MAYBE] = pa.array(bits.words)
    return KeyTable(lists, hashed, size, packed and packed[0], told, first_word)


def _is_hashed(values: Any) -> bool:
    """Return whether a column is hashed: long texts and bytes take as many steps as words."""
    if not can_hash(values.type):
        return False
    if not (pa.types.is_string(values.type) or pa.types.is_binary(values.type)):
        return True
    longest = pc.max(pc.binary_length(values)).as_py()
    return longest is None or longest <= KEYS.hashed_value_bytes


def _tell_apart(columns: Mapping[str, Any], hashed: Sequence[str]) -> bool:
    """Return whether no two keys are equal in the columns that are hashed."""
    if len(hashed) == len(columns):
        return True
    told = pa.table({name: columns[name] for name in hashed}).group_by(list(hashed)).aggregate([])
    return len(told) == len(columns[hashed[0]])


def _days_as_numbers(column: Any) -> Any:
    values = pa.concat_arrays(column.chunks) if isinstance(column, pa.ChunkedArray) else column
    return values.cast(pa.int32()) if pa.types.is_date32(values.type) else values


def _lists(columns: Mapping[str, Any], places: DisplacedSlots, packed: Any) -> dict[str, Any]:
    lists = {_NUMBERS: pa.array(places.numbers)}
    if packed is not None:
        lists[_PACKED] = pc.fill_null(_in_slots(pa.array(packed), places), EMPTY)
        return lists
    if any(values.null_count for values in columns.values()):
        lists[_USED] = pa.array(places.rows != EMPTY)
    return lists | {name: _narrow(_in_slots(values, places)) for name, values in columns.items()}


def _in_slots(values: Any, places: DisplacedSlots) -> Any:
    """Return values, one a row, in the order of the slots; NULL where a slot has no row."""
    return values.take(pa.array(places.rows, mask=places.rows == EMPTY))


def _told(columns: Mapping[str, Any], hashed: Sequence[str]) -> tuple[str | None, RangeBits | None]:
    """Return the column of whole numbers that has most of them, and these as bits."""
    whole = [name for name in hashed if columns[name].type in _WHOLE and name != SCOPE]
    counts = {name: pc.count_distinct(columns[name]).as_py() for name in whole}
    told = max(counts, key=lambda name: counts[name], default=None)
    return told, None if told is None else range_bits(columns[told])


def _bits_of_hashes(columns: Sequence[Any]) -> Words:
    size = _power_of_two(len(columns[0]) * KEYS.bits_a_key)
    words = PositionSet.from_positions(np.unique(_masked(columns, size))).range_words()
    return np.pad(words, (0, size // 64 - len(words)))


def _narrow(values: Any) -> Any:
    """Return whole numbers as the narrowest ones that hold them."""
    if values.type not in _WHOLE or values.null_count == len(values):
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


def _masked(columns: Sequence[Any], size: int) -> Places:
    """Return the last bits of each row's hash, for a power of two."""
    return (row_hashes(columns) & np.uint32(size - 1)).astype(np.int64)


def _slots(columns: Sequence[Any], rows: Places, number: int, size: int) -> Places:
    """Return the slots of some rows by a number: their hashes, signed, modulo `size`."""
    chosen = [values.take(pa.array(rows)) for values in columns]
    first = pa.array(np.full(len(rows), number, np.int32))
    return np.mod(row_hashes([first, *chosen]).view(np.int32).astype(np.int64), size)


@dataclass(frozen=True, slots=True, eq=False)
class RangeBits:
    """Whole numbers as bits from 64 times `first_word` on; `has_null`: one is NULL."""

    first_word: int
    words: Words
    has_null: bool


def range_bits(column: Any) -> RangeBits | None:
    """Return whole numbers or days as bits, None where too few would be set."""
    has_null = column.null_count > 0
    column = column.drop_null() if has_null else column
    if not len(column):
        return None
    column = column.cast(pa.int32()) if pa.types.is_date(column.type) else column
    numbers = column.to_numpy(zero_copy_only=False).astype(np.int64)
    first_word, last_word = int(numbers.min()) >> 6, int(numbers.max()) >> 6
    if 8 * (last_word - first_word) > KEYS.bitmap_bytes_per_key * len(numbers) + 4096:
        return None
    words = PositionSet.from_positions(numbers - (first_word << 6)).range_words()
    return RangeBits(first_word, words, has_null)
