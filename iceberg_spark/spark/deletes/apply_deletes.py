"""Deletes applied to what Spark's own reader read: bitmaps by position, anti-joins by key.

Rules: specification, "Scan Planning"; Java: `DeleteFilter`. Nothing depends on the order of rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, reduce
from operator import and_
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - what every PySpark program calls it

from iceberg_spark.arrow.position_set import PositionSet
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.scan.plan import ScanPlan
from iceberg_spark.spark.adapt.arrow_rows import frame_of
from iceberg_spark.spark.deletes.equality_keys import (
    SCOPE,
    SEQUENCE,
    key_columns,
    local_keys,
    mean_key_bytes,
    spark_keys,
)
from iceberg_spark.spark.deletes.files_with_deletes import DirtyFiles, KeyDeletes
from iceberg_spark.spark.deletes.limits import KEYS, POSITIONS
from iceberg_spark.spark.deletes.per_file_values import (
    FILE_OF_ROW,
    UNKNOWN_FILE,
    file_field,
    with_file_values,
)
from iceberg_spark.spark.deletes.position_bitmaps import (
    Words,
    padded,
    position_words,
    word_lists,
)
from iceberg_spark.spark.deletes.row_position import ROW_INDEX, no_place, or_raise
from iceberg_spark.spec import types as t
from iceberg_spark.spec.reserved import DELETED

_WORDS, _FILE_SEQUENCE, _FILE_SCOPE = "__iceberg_words", "__iceberg_sequence", "__iceberg_scope"


def key_name(field_id: int) -> str:
    """Return under which name a frame holds an equality column."""
    return f"__iceberg_key_{field_id}"


def apply_deletes(
    frame: DataFrame,
    columns: Mapping[str, Column],
    dirty: DirtyFiles,
    plan: ScanPlan,
    io: FileIO,
    file_values: Mapping[str, Any] | None = None,
) -> DataFrame:
    """Return the rows that no delete deletes, or all of them with `_deleted`.

    `frame` is one relation over the group's files, as Spark's reader made it; where the group has
    position deletes it has ROW_INDEX. `columns` are added to it: the group's key columns as
    `key_name(field id)`, in the table's types (UUIDs as bytes, nested ones NULL where a parent
    is), and others that the caller wants; `file_values` are joined to the rows, for each file of
    the group one. More columns than these are left, to be selected away.
    Where the scan reads `_deleted`, that column is added. The driver reads position deletes and
    small key sets now; `find_files_with_deletes` and the limits here bound them.
    """
    keep = any(field.field_id == DELETED.field_id for field in plan.context.read_schema.fields)
    words = position_words(io, plan.tasks_at(dirty.rows)) if dirty.has_positions else []
    apart = _can_tell_files_apart(dirty, words)
    added = dict(columns)
    more = file_values or {}
    if more or dirty.keys_need_file or (len(words) > 1 if apart else dirty.has_positions):
        added[FILE_OF_ROW] = file_field(frame, dirty.file_key)
    frame = frame.withColumns(added) if added else frame
    rows = _Rows(_with_files(frame, dirty, plan, [] if apart else words, more), keep)
    if apart:
        rows = _without_bits_of_files(rows, dirty, plan, words)
    elif dirty.has_positions:
        rows = rows.without(_bit(F.col(_WORDS), F.expr(or_raise(ROW_INDEX, "bigint")), 0))
    for number, deletes in enumerate(dirty.equality):
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


def _can_tell_files_apart(dirty: DirtyFiles, words: Sequence[Words]) -> bool:
    """Return whether an expression can find a row's bit, so that rows are joined with nothing."""
    few = (
        0 < len(words) <= POSITIONS.few_files
        and len(words) * _longest(words) * 8 <= POSITIONS.few_bytes
    )
    return few and dirty.file_key == "file_size"


def _without_bits_of_files(
    rows: _Rows, dirty: DirtyFiles, plan: ScanPlan, words: Sequence[Words]
) -> _Rows:
    """Drop, or mark, rows whose position is deleted in their file, which its size tells.

    The words of all files are one value, each file's as many as the longest's. The condition is
    short, for it becomes part of a method that the JVM compiles less well the longer it is. As
    text: PySpark makes a dozen round trips to Java for each function that it calls.
    """
    sizes = plan.files.column("file_size_in_bytes").to_numpy()[dirty.rows].tolist()
    length = _longest(words)
    place = f"cast(shiftright({ROW_INDEX}, 6) as int) + {_first_word(sizes, length)}"
    word = f"if({ROW_INDEX} < {64 * length}L, get({_WORDS}, {place}), 0L)"
    gone = f"coalesce(getbit({word}, cast({ROW_INDEX} & 63L as int)) = 1, {no_place('boolean')})"
    value = _one_value(rows.frame.sparkSession, padded(words, length).tobytes())
    frame = rows.frame.withColumn(_WORDS, value.scalar())
    if rows.keep_deleted:
        return replace(rows, frame=frame, deleted=F.expr(gone))
    return replace(rows, frame=frame.where(f"not {gone}"))


def _longest(words: Sequence[Words]) -> int:
    return max(map(len, words))


def _first_word(sizes: Sequence[int], length: int) -> str:
    if len(sizes) == 1:
        return "0"
    places = " ".join(f"when {size}L then {length * i}" for i, size in enumerate(sizes))
    unknown = f"cast(raise_error('{UNKNOWN_FILE}') as int)"
    return f"(case {FILE_OF_ROW} {places} else {unknown} end)"


@lru_cache(maxsize=8)
def _one_value(session: SparkSession, words: bytes) -> DataFrame:
    """Return a row with a list of the words, `few_bytes` at most: to hand it to Java takes 8 ms."""
    value = pa.array([np.frombuffer(words, np.int64)], pa.list_(pa.int64()))
    return session.createDataFrame(pa.table({"words": value}))


def _with_files(
    frame: DataFrame,
    dirty: DirtyFiles,
    plan: ScanPlan,
    words: Sequence[Words],
    more: Mapping[str, Any],
) -> DataFrame:
    """Add what differs from file to file, where it counts, and `more`."""
    values = dict(more)
    if words:
        values[_WORDS] = word_lists(words)
    files = plan.files.take(pa.array(dirty.rows))
    if any(deletes.by_sequence for deletes in dirty.equality):
        values[_FILE_SEQUENCE] = files.column("data_sequence_number")
    if any(deletes.by_scope for deletes in dirty.equality):
        values[_FILE_SCOPE] = pa.array(dirty.scopes)
    if not values:
        return frame
    return with_file_values(frame, dirty.file_key, files, pa.table(values))


def _bit(words: Column, number: Column, first_word: int) -> Column:
    """Return whether a bit is set; NULL or false for one outside of the words."""
    place = (F.shiftright(number, 6) - F.lit(first_word)).try_cast("int")
    return F.getbit(F.get(words, place), number.bitwiseAND(F.lit(63)).cast("int")) == 1


def _without_keys(
    rows: _Rows, deletes: KeyDeletes, number: int, plan: ScanPlan, io: FileIO
) -> _Rows:
    spark = rows.frame.sparkSession
    if deletes.record_count > (KEYS.bitmap_keys if _is_countable(deletes) else KEYS.local_keys):
        mean = mean_key_bytes(plan.context, io, deletes)
        keys = spark_keys(plan.context, deletes, spark, mean)
        return _without_joined(rows, deletes, number, keys, _size(deletes, mean))
    table = local_keys(plan.context, io, deletes)
    rows, table = _without_null_key(rows, deletes, table)
    found = _bits(table.column(0)) if _is_countable(deletes) and table.num_rows else None
    if found is not None:
        first_word, words = found
        bits = spark.createDataFrame(pa.table({"words": words})).scalar()
        return rows.without(_bit(bits, _countable(deletes), first_word))
    nulls = tuple(table.column(place).null_count > 0 for place in range(len(deletes.keys)))
    known = replace(deletes, may_be_null=nulls)
    if table.num_rows > KEYS.local_keys or table.nbytes > KEYS.local_bytes:
        mean = table.nbytes / len(table)
        keys = spark_keys(plan.context, known, spark, mean)
        return _without_joined(rows, known, number, keys, _size(known, mean))
    return _without_joined(rows, known, number, frame_of(spark, table), table.nbytes)


def _is_countable(deletes: KeyDeletes) -> bool:
    """Return whether a key can be the number of a bit."""
    alone = len(deletes.keys) == 1 and not deletes.by_sequence and not deletes.by_scope
    return alone and isinstance(deletes.keys[0].kind, t.IntegerType | t.LongType | t.DateType)


def _countable(deletes: KeyDeletes) -> Column:
    (leaf,) = deletes.keys
    key = F.col(key_name(leaf.field_id))
    return (F.unix_date(key) if isinstance(leaf.kind, t.DateType) else key).cast("bigint")


def _bits(keys: Any) -> tuple[int, Any] | None:
    """Return the number of the first word and one list of words, None where too few are set."""
    column = keys.combine_chunks()
    column = column.cast(pa.int32()) if pa.types.is_date(column.type) else column
    numbers = column.to_numpy().astype(np.int64)
    first_word, last_word = int(numbers.min()) >> 6, int(numbers.max()) >> 6
    if 8 * (last_word - first_word) > KEYS.bitmap_bytes_per_key * len(numbers) + 4096:
        return None
    words = PositionSet.from_positions(numbers - (first_word << 6)).range_words()
    return first_word, pa.array([words], pa.list_(pa.int64()))


def _without_null_key(rows: _Rows, deletes: KeyDeletes, table: pa.Table) -> tuple[_Rows, pa.Table]:
    """Delete by a NULL key of one column without a join: `=` joins quicker than `<=>`."""
    if len(deletes.keys) > 1 or deletes.by_scope or table.column(0).null_count == 0:
        return rows, table
    gone = F.col(key_name(deletes.keys[0].field_id)).isNull()
    missing = table.column(0).is_null()
    if deletes.by_sequence:
        newest = table.filter(missing).column(SEQUENCE)[0].as_py()
        gone &= F.col(_FILE_SEQUENCE) < F.lit(newest)
    return rows.without(gone), table.filter(pc.invert(missing))


def _without_joined(
    rows: _Rows, deletes: KeyDeletes, number: int, keys: DataFrame, size: float
) -> _Rows:
    """Delete by a join with the keys, which take some `size` bytes; NULL is equal to NULL."""
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
        conditions.append(F.col(_FILE_SCOPE) == F.col(prefix + SCOPE))
    if deletes.by_sequence:
        conditions.append(F.col(prefix + SEQUENCE) > F.col(_FILE_SEQUENCE))
    hinted = F.broadcast(keys) if size <= KEYS.broadcast_bytes else keys.hint("merge")
    return rows.without_matches(hinted, reduce(and_, conditions), prefix + "marker")


def _size(deletes: KeyDeletes, mean_bytes: float) -> float:
    """Estimate the bytes of a hash table: rows have their overhead."""
    return (KEYS.hashed_row_bytes + mean_bytes) * deletes.record_count
