"""Deletes applied to what Spark's own reader read: bitmaps by position, anti-joins by key.

Rules: specification, "Scan Planning"; Java: `DeleteFilter`. Nothing depends on the order of rows.
"""

from __future__ import annotations

from collections.abc import Mapping
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
from iceberg_spark.spark.deletes.files_with_deletes import KeyDeletes
from iceberg_spark.spark.deletes.limits import KEYS
from iceberg_spark.spark.deletes.loaded_deletes import (
    BITS,
    FILE_NUMBER,
    FILE_SCOPE,
    FILE_SEQUENCE,
    FIRST_WORD,
    WORDS,
    LoadedDeletes,
)
from iceberg_spark.spark.deletes.row_position import ROW_INDEX, no_place
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
    if loaded.dirty.has_positions:
        rows = _without_positions(rows, loaded)
    for number, deletes in enumerate(loaded.dirty.equality):
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
        value = _one_value(rows.frame.sparkSession, loaded.words.tobytes())
        frame = rows.frame.withColumn(WORDS, value.scalar())
        place = f"cast(shiftright({ROW_INDEX}, 6) as int) + {FIRST_WORD}"
    else:
        numbers = loaded.values[FILE_NUMBER]
        lists = pa.table({_OTHER_NUMBER: numbers, WORDS: loaded.lists})
        other = F.broadcast(rows.frame.sparkSession.createDataFrame(lists))
        same = F.col(FILE_NUMBER) == F.col(_OTHER_NUMBER)
        frame = rows.frame.join(other, same, "left_outer")
        place = f"cast(shiftright({ROW_INDEX}, 6) as int)"
    bit = f"getbit(get({WORDS}, {place}), cast({ROW_INDEX} & 63L as int)) = 1"
    no_bit = f"if({ROW_INDEX} is null, {no_place('boolean')}, false)"
    gone = f"if({ROW_INDEX} < {BITS}, {bit}, {no_bit})"
    if rows.keep_deleted:
        return replace(rows, frame=frame, deleted=F.expr(gone))
    return replace(rows, frame=frame.where(f"not {gone}"))


@lru_cache(maxsize=8)
def _one_value(session: SparkSession, words: bytes) -> DataFrame:
    """Return a row with a list of the words, `few_bytes` at most: to hand it to Java takes 8 ms."""
    kind = pa.list_(pa.field("element", pa.int64(), nullable=False))
    value = pa.array([np.frombuffer(words, np.int64)], kind)
    return session.createDataFrame(pa.table({"words": value}))


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
        gone &= F.col(FILE_SEQUENCE) < F.lit(newest)
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
        conditions.append(F.col(FILE_SCOPE) == F.col(prefix + SCOPE))
    if deletes.by_sequence:
        conditions.append(F.col(prefix + SEQUENCE) > F.col(FILE_SEQUENCE))
    hinted = F.broadcast(keys) if size <= KEYS.broadcast_bytes else keys.hint("merge")
    return rows.without_matches(hinted, reduce(and_, conditions), prefix + "marker")


def _size(deletes: KeyDeletes, mean_bytes: float) -> float:
    """Estimate the bytes of a hash table: rows have their overhead."""
    return (KEYS.hashed_row_bytes + mean_bytes) * deletes.record_count
