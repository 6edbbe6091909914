"""Keys of equality deletes as a hash table that is part of an expression: no join looks them up.

A join would make a job that reads the keys, collects, hashes and sends them, and one that waits for
it: 0.4 s for 300,000 keys, whatever the rows are. So the driver reads the keys once, and keeps a
table of slots, in two of which a row's key can be. Spark evaluates it in the code of its scan.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.arrow.cuckoo import cuckoo_slots
from iceberg_spark.arrow.position_set import PositionSet
from iceberg_spark.arrow.spark_hashes import can_hash, row_hashes
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.io.servers import stored_at
from iceberg_spark.read.delete_cache import process_cache
from iceberg_spark.scan.context import ScanContext
from iceberg_spark.spark.deletes.equality_keys import SCOPE, key_columns, local_keys
from iceberg_spark.spark.deletes.files_with_deletes import KeyDeletes
from iceberg_spark.spark.deletes.limits import KEYS
from iceberg_spark.spark.deletes.position_bitmaps import Words

SLOTS, MAYBE = "slots", "maybe"
_WHOLE = (pa.int32(), pa.int64(), pa.date32())
_SEEDS = range(1, 5)


@dataclass(frozen=True, slots=True, eq=False)
class KeyTable:
    """Distinct keys as lists, with their scope and newest sequence number where these count.

    The list MAYBE has bits that say which rows have to be looked up at all, for it stays in a
    processor's cache: by the number in column `told` less 64 times `first_word`, or by the hash of
    the columns that are `hashed`. The key of a row, if it is there, is at one of two numbers, which
    are in the list SLOTS: at that hash, with and without `seed` before the columns. All of it
    travels with each query, so whole numbers are as narrow as they may be, and `days` are numbers.
    """

    lists: Mapping[str, Any]
    hashed: tuple[str, ...]
    seed: int
    days: frozenset[str]
    told: str | None = None
    first_word: int = 0

    def is_equal(self, key: str, name: str, own: str) -> str:
        """Return an SQL condition: whether a key of column `name` is a row's own."""
        kept = self.lists[name]
        value = f"unix_date({own})" if name in self.days else own
        return f"{key} {'<=>' if kept.null_count else '='} {value}"

    @property
    def nbytes(self) -> int:
        """The bytes of all that travels with a query."""
        return sum(int(values.nbytes) for values in self.lists.values())

    def may_be(self, bits: str, columns: Mapping[str, str]) -> str:
        """Return an SQL condition: whether the key of a row may be there.

        `bits` is the list MAYBE, `columns` has the row's own columns for those of the keys.
        """
        if self.told is None:
            of = ", ".join(columns[name] for name in self.hashed)
            bit = f"(hash({of}) & {64 * len(self.lists[MAYBE]) - 1})"
            return f"getbit(get({bits}, shiftright({bit}, 6)), {bit} & 63) = 1"
        own, kept = columns[self.told], self.lists[self.told]
        number = f"cast({f'unix_date({own})' if self.told in self.days else own} as bigint)"
        place = f"try_cast(shiftright({number}, 6) - {self.first_word}L as int)"
        is_set = f"getbit(get({bits}, {place}), cast({number} & 63L as int)) = 1"
        return f"({own} is null or {is_set})" if kept.null_count else is_set

    def numbers(self, slots: str, columns: Mapping[str, str]) -> tuple[str, str]:
        """Return SQL expressions for the two numbers of a row; -1 is none.

        `slots` is the list SLOTS, `columns` as above.
        """
        of = ", ".join(columns[name] for name in self.hashed)
        mask = len(self.lists[SLOTS]) - 1
        seeded = f"{self.seed}, {of}"
        return f"get({slots}, hash({of}) & {mask})", f"get({slots}, hash({seeded}) & {mask})"


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

    found: pa.Table | None = process_cache().get_or_load(("keys", *_names(io, deletes)), made)
    return found


def key_table(io: FileIO, deletes: KeyDeletes, keys: pa.Table) -> KeyTable | None:
    """Return a table of keys that `read_keys` gave, which is kept too.

    None where the hash of none of their columns is known, or too many keys have one hash.
    """

    def made() -> tuple[KeyTable | None, int]:
        table = _made(keys, deletes)
        return table, 0 if table is None else table.nbytes

    found: KeyTable | None = process_cache().get_or_load(("slots", *_names(io, deletes)), made)
    return found


def _names(io: FileIO, deletes: KeyDeletes) -> tuple[Hashable, ...]:
    files = tuple(
        (file.key, file.file_size_in_bytes, stored_at(io, file.file_path), scope)
        for file, scope in zip(deletes.files, deletes.scopes, strict=True)
    )
    columns = tuple(leaf.field_id for leaf in deletes.keys)
    return columns, deletes.by_sequence, deletes.by_scope, files


def _made(keys: pa.Table, deletes: KeyDeletes) -> KeyTable | None:
    hashed = tuple(name for name in key_columns(deletes) if can_hash(keys.column(name).type))
    if not hashed:
        return None
    lists = {name: pa.concat_arrays(keys.column(name).chunks) for name in keys.column_names}
    columns = [lists[name] for name in hashed]
    size = _power_of_two(len(keys) * KEYS.slots_a_key)
    one = _slots(columns, size)
    for seed in _SEEDS:
        first = pa.array(np.full(len(keys), seed, np.int32))
        slots = cuckoo_slots(one, _slots([first, *columns], size), size)
        if slots is not None:
            return _with_bits(lists, slots, hashed, seed)
    return None


def _with_bits(lists: dict[str, Any], slots: Any, hashed: tuple[str, ...], seed: int) -> KeyTable:
    """Tell rows by the whole numbers of the column that has most of them, or by their hash."""
    days = frozenset(name for name, values in lists.items() if pa.types.is_date32(values.type))
    narrow = {name: _narrow(values) for name, values in lists.items()}
    narrow[SLOTS] = pa.array(slots)
    whole = [name for name in hashed if lists[name].type in _WHOLE and name != SCOPE]
    counts = {name: pc.count_distinct(lists[name]).as_py() for name in whole}
    told = max(counts, key=lambda name: counts[name], default=None)
    bits = None if told is None else range_bits(lists[told])
    if bits is not None:
        narrow[MAYBE] = pa.array(bits.words)
        return KeyTable(narrow, hashed, seed, days, told, bits.first_word)
    columns = [lists[name] for name in hashed]
    size = _power_of_two(len(columns[0]) * KEYS.bits_a_key)
    words = PositionSet.from_positions(np.unique(_slots(columns, size))).range_words()
    narrow[MAYBE] = pa.array(np.pad(words, (0, size // 64 - len(words))))
    return KeyTable(narrow, hashed, seed, days)


def _narrow(values: Any) -> Any:
    """Return whole numbers and days as the narrowest numbers that hold them."""
    if values.type not in _WHOLE or values.null_count == len(values):
        return values
    numbers = values.cast(pa.int32()) if pa.types.is_date32(values.type) else values
    ends = pc.min_max(numbers)
    for kind in (pa.int8(), pa.int16(), pa.int32()):
        try:
            pa.array([ends["min"].as_py(), ends["max"].as_py()], kind)
        except (pa.ArrowInvalid, OverflowError):
            continue
        return numbers.cast(kind)
    return numbers


def _power_of_two(least: float) -> int:
    return 1 << max(6, int(least - 1).bit_length())


def _slots(columns: Sequence[Any], size: int) -> Any:
    return (row_hashes(columns) & np.uint32(size - 1)).astype(np.int64)


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
