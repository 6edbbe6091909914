"""Deletes applied to what Spark's own reader read: bitmaps by position, anti-joins by key.

Rules: specification, "Scan Planning"; Java: `DeleteFilter`. Nothing depends on the order of rows.
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from operator import and_
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - what every PySpark program calls it

from iceberg_spark.bounded_cache import BoundedCache
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.read.projected_rows import LeafColumn
from iceberg_spark.scan.plan import ScanPlan
from iceberg_spark.spark.adapt.arrow_rows import frame_of
from iceberg_spark.spark.deletes.equality_keys import (
    SCOPE,
    SEQUENCE,
    cached_keys,
    key_column_name,
    key_columns,
    mean_key_bytes,
    spark_keys,
)
from iceberg_spark.spark.deletes.files_with_deletes import DeleteGroup, KeyDeletes
from iceberg_spark.spark.deletes.key_tables import KeyTable, key_table
from iceberg_spark.spark.deletes.limits import KEPT_LIST_BYTES, KEYS, POSITIONS
from iceberg_spark.spark.deletes.per_file_values import ROW_INDEX, no_place
from iceberg_spark.spark.deletes.position_bitmaps import (
    IntegerBits,
    Words,
    integer_bits,
    position_words,
)
from iceberg_spark.spark.session.expressions import expression
from iceberg_spark.spec import types as t
from iceberg_spark.spec.reserved import DELETED

_OTHER_NUMBER = "__iceberg_other_number"


def key_name(field_id: int) -> str:
    """Return under which name a frame holds an equality column."""
    return f"__iceberg_key_{field_id}"


def apply_deletes(
    frame: DataFrame,
    columns: Mapping[str, Column],
    loaded: LoadedDeletes,
    plan: ScanPlan,
    io: FileIO,
) -> DataFrame:
    """Return the rows that no delete deletes, or all of them with `_deleted`.

    `frame` has the rows of the group's files with `loaded.values`, as columns or by
    `with_file_values`, and ROW_INDEX where the group has position deletes. `columns` are added to
    it: the group's key columns as `key_name(field id)`, in the table's types (UUIDs as bytes,
    nested ones NULL where a parent is), and others that the caller wants. More columns than these
    are left, to be selected away. Where the scan reads `_deleted`, that column is added. The driver
    reads small key sets now; the limits here bound them.
    """
    keep = any(field.field_id == DELETED.field_id for field in plan.context.read_schema.fields)
    frame = frame.withColumns(dict(columns)) if columns else frame
    rows = _Rows(frame, keep)
    if loaded.group.has_positions:
        rows = _without_positions(rows, loaded)
    for number, deletes in enumerate(loaded.group.equality):
        rows = _without_keys(rows, deletes, number, plan, io)
    if not keep:
        return rows.frame
    marks = F.lit(False) if rows.deleted is None else rows.deleted
    return rows.frame.withColumn(DELETED.name, marks)


@dataclass(frozen=True, slots=True)
class _Rows:
    """Rows so far; where deleted ones are kept, `deleted` says which they are."""

    frame: DataFrame
    keep_deleted: bool
    deleted: Column | None = None  # none so far

    def without(self, gone: Column) -> _Rows:
        """Drop, or mark, the rows for which `gone` is true (NULL means false)."""
        gone = F.coalesce(gone, F.lit(False))
        if not self.keep_deleted:
            return _Rows(self.frame.where(~gone), False)
        return _Rows(self.frame, True, gone if self.deleted is None else self.deleted | gone)

    def without_matches(self, keys: DataFrame, condition: Column, marker: str) -> _Rows:
        """Drop, or mark, the rows that a row of `keys` matches; at most one may where kept."""
        if not self.keep_deleted:
            return _Rows(self.frame.join(keys, condition, "left_anti"), False)
        marked = keys.withColumn(marker, F.lit(True))
        joined = self.frame.join(marked, condition, "left_outer")
        return _Rows(joined, True, self.deleted).without(F.col(marker))


def _without_positions(rows: _Rows, loaded: LoadedDeletes) -> _Rows:
    """Drop, or mark, rows whose position is deleted in their file.

    The words of all files are one value, of which a file's first word and number of bits tell its
    own; or a list that is joined by the file's number. As text: PySpark makes a dozen round trips
    to Java for each function that it calls.
    """
    if loaded.words is not None:
        name = hashlib.sha256(loaded.words.data).digest()
        words = list_column(rows.frame.sparkSession, name, pa.array(loaded.words))
        frame = rows.frame.withColumn(WORDS, words)
        word_index = f"cast(shiftright({ROW_INDEX}, 6) as int) + {FIRST_WORD}"
    else:
        numbers = loaded.values[FILE_NUMBER]
        lists = pa.table({_OTHER_NUMBER: numbers, WORDS: loaded.lists})
        other = F.broadcast(rows.frame.sparkSession.createDataFrame(lists))
        same = F.col(FILE_NUMBER) == F.col(_OTHER_NUMBER)
        frame = rows.frame.join(other, same, "left_outer")
        word_index = f"cast(shiftright({ROW_INDEX}, 6) as int)"
    bit = f"getbit(get({WORDS}, {word_index}), cast({ROW_INDEX} & 63L as int)) = 1"
    no_bit = f"if({ROW_INDEX} is null, {no_place('boolean')}, false)"
    is_deleted = f"if({ROW_INDEX} < {BITS}, {bit}, {no_bit})"
    if rows.keep_deleted:
        return replace(rows, frame=frame, deleted=expression(is_deleted))
    return replace(rows, frame=frame.where(f"not {is_deleted}"))


def _bit(words: Column, number: Column, first_word: int) -> Column:
    """Return whether a bit is set; NULL or false for one outside of the words."""
    word_index = (F.shiftright(number, 6) - F.lit(first_word)).try_cast("int")
    return F.getbit(F.get(words, word_index), number.bitwiseAND(F.lit(63)).cast("int")) == 1


def _without_keys(
    rows: _Rows, deletes: KeyDeletes, number: int, plan: ScanPlan, io: FileIO
) -> _Rows:
    countable = _is_countable(deletes)
    max_count = KEYS.bitmap_keys if countable else KEYS.local_keys
    keys = cached_keys(plan.context, io, deletes, max_count)
    if keys is None:
        return _without_joined(rows, deletes, number, plan, io)
    bits = integer_bits(keys.column(0).combine_chunks()) if countable else None
    if bits is not None:
        return _without_countable(rows, deletes, bits)
    few = len(keys) <= KEYS.local_keys
    table = key_table(plan.context, io, deletes, keys) if few else None
    if table is None:
        return _without_joined(rows, deletes, number, plan, io)
    return _without_table(rows, deletes, number, table)


def _is_countable(deletes: KeyDeletes) -> bool:
    """Return whether a key can be the number of a bit."""
    alone = len(deletes.keys) == 1 and not deletes.by_sequence and not deletes.by_scope
    return alone and isinstance(deletes.keys[0].kind, t.IntegerType | t.LongType | t.DateType)


def _countable(deletes: KeyDeletes) -> Column:
    (leaf,) = deletes.keys
    key = F.col(key_name(leaf.field_id))
    return (F.unix_date(key) if isinstance(leaf.kind, t.DateType) else key).cast("bigint")


def _without_countable(rows: _Rows, deletes: KeyDeletes, bits: IntegerBits) -> _Rows:
    if bits.has_null:
        rows = rows.without(F.col(key_name(deletes.keys[0].field_id)).isNull())
    name = hashlib.sha256(bits.words.data).digest()
    value = list_column(rows.frame.sparkSession, name, pa.array(bits.words))
    return rows.without(_bit(value, _countable(deletes), bits.first_word))


def _without_table(rows: _Rows, deletes: KeyDeletes, number: int, table: KeyTable) -> _Rows:
    """Delete the rows whose key is in a table; NULL is equal to NULL. As text, as positions are."""
    session, prefix = rows.frame.sparkSession, f"__iceberg_keys_{number}_"
    row_columns = {
        key_column_name(index): _number_or_own(key) for index, key in enumerate(deletes.keys)
    }
    row_columns |= {SCOPE: FILE_SCOPE, SEQUENCE: FILE_SEQUENCE}
    lists = {
        f"{prefix}{name}": list_column(session, (table, name), values)
        for name, values in table.lists.items()
    }
    frame = rows.frame.withColumns(lists)
    return replace(rows, frame=frame).without(expression(table.has_key(prefix, row_columns)))


def _number_or_own(leaf: LeafColumn) -> str:
    own = key_name(leaf.field_id)
    return f"unix_date({own})" if isinstance(leaf.kind, t.DateType) else own


def _without_joined(
    rows: _Rows, deletes: KeyDeletes, number: int, plan: ScanPlan, io: FileIO
) -> _Rows:
    """Delete by a join with keys that tasks read; NULL is equal to NULL."""
    mean = mean_key_bytes(plan.context, io, deletes)
    keys = spark_keys(plan.context, deletes, rows.frame.sparkSession, mean)
    size = (KEYS.hashed_row_bytes + mean) * deletes.record_count
    names = key_columns(deletes)
    sequences = {file.data_sequence_number for file in deletes.files}
    if deletes.by_sequence and (len(sequences) > 1 or rows.keep_deleted):
        keys = keys.groupBy(*names).agg(F.max(SEQUENCE).alias(SEQUENCE))
    elif rows.keep_deleted:
        keys = keys.select(*names).distinct()
    names = [*names, SEQUENCE] if deletes.by_sequence else names
    prefix = f"__iceberg_deleted_{number}_"
    keys = keys.select(*(F.col(name).alias(prefix + name) for name in names))
    conditions = []
    for name, leaf, may_be_null in zip(names, deletes.keys, deletes.may_be_null, strict=False):
        row, key = F.col(key_name(leaf.field_id)), F.col(prefix + name)
        conditions.append(row.eqNullSafe(key) if may_be_null else row == key)
    if deletes.by_scope:
        conditions.append(F.col(FILE_SCOPE) == F.col(prefix + SCOPE))
    if deletes.by_sequence:
        conditions.append(F.col(prefix + SEQUENCE) > F.col(FILE_SEQUENCE))
    hinted = F.broadcast(keys) if size <= KEYS.broadcast_bytes else keys.hint("merge")
    return rows.without_matches(hinted, reduce(and_, conditions), prefix + "marker")


_lists = BoundedCache(KEPT_LIST_BYTES)


def list_column(session: SparkSession, name: Hashable, values: Any) -> Column:
    """Return an Arrow array as one value, a list; `name` is the same for the same values only.

    A column of a subquery, so that no rule of Spark's optimizer looks into the list.
    """

    def make_frame() -> tuple[DataFrame, int]:
        element = pa.field("element", values.type, nullable=bool(values.null_count))
        offsets = pa.array([0, len(values)], pa.int32())
        lists = pa.ListArray.from_arrays(offsets, values, type=pa.list_(element))
        schema = pa.schema([pa.field("list", lists.type)])
        return frame_of(session, pa.table([lists], schema)), int(values.nbytes)

    frame: DataFrame = _lists.get_or_load((session, name), make_frame)
    return frame.scalar()


# What the driver reads of a group's deletes before Spark reads a row, and numbers of its files.
#
# `find_files_with_deletes` bounds the positions and the bits that one frame may ask for.

BITS, FIRST_WORD = "__iceberg_bits", "__iceberg_first_word"
"""How many of a file's rows have a bit that says whether they are deleted, and its first word."""
WORDS = "__iceberg_words"
FILE_NUMBER = "__iceberg_file_number"
FILE_SEQUENCE, FILE_SCOPE = "__iceberg_sequence", "__iceberg_scope"


@dataclass(frozen=True, slots=True, eq=False)
class LoadedDeletes:
    """Deletes of a group of files.

    `values` are numbers that each file has: columns that the relation needs. `words` are the bits
    of all files one after the other; where they are too many for a part of an expression, `lists`
    has those of each file, by FILE_NUMBER.
    """

    group: DeleteGroup
    values: Mapping[str, Any]
    words: Words | None = None
    lists: Any = None


def load_deletes(
    group: DeleteGroup, plan: ScanPlan, io: FileIO, *, padded: bool = False
) -> LoadedDeletes:
    """Read the positions of a group, and say what differs from file to file.

    With `padded` each file has as many bits as the others, where few bytes hold them: where a value
    of a file is an expression, that is one less. Raises CorruptFileError, NoSuchFileError or
    StorageError naming a delete file.
    """
    values: dict[str, Any] = {}
    files = plan.files.take(pa.array(group.rows))
    if any(deletes.by_sequence for deletes in group.equality):
        values[FILE_SEQUENCE] = files.column("data_sequence_number").combine_chunks()
    if any(deletes.by_scope for deletes in group.equality):
        values[FILE_SCOPE] = pa.array(group.scopes)
    if not group.has_positions:
        return LoadedDeletes(group, values)
    counts, parts = _bits(files, group, plan, io)
    most = int(counts.max())
    if padded and most * len(counts) * 8 <= POSITIONS.few_bytes:
        parts = [np.pad(part, (0, most - len(part))) for part in parts]
        counts = np.full(len(files), most)
    starts, joined = np.cumsum([0, *counts]), np.concatenate(parts)
    values[BITS] = pa.array(counts * 64)
    if joined.nbytes <= POSITIONS.few_bytes:
        values[FIRST_WORD] = pa.array(starts[:-1].astype(np.int32))
        return LoadedDeletes(group, values, words=joined)
    values[FILE_NUMBER] = pa.array(np.arange(len(files), dtype=np.int32))
    lists = pa.ListArray.from_arrays(pa.array(starts, pa.int32()), pa.array(joined))
    return LoadedDeletes(group, values, lists=lists)


def _bits(
    files: pa.Table, group: DeleteGroup, plan: ScanPlan, io: FileIO
) -> tuple[Words, list[Words]]:
    """Return the number of words of each file, and these; a file without deletes has none."""
    deleted = np.flatnonzero(pc.list_value_length(files.column("delete_rows")).to_numpy())
    words = position_words(io, plan.tasks_at(group.rows[deleted]))
    parts = [np.empty(0, np.int64)] * len(files)
    for index, part in zip(deleted.tolist(), words, strict=True):
        parts[index] = part
    return np.array([len(part) for part in parts], np.int64), parts
