"""Key values of a plan's rows: rows of joined tables must have one of them.

`orders JOIN lineitem` needs no line of an order that some condition, or another join, leaves out.
So the keys of the orders that stay are read here, and lines of others are left out where they are
read, before they are shuffled. What is left out of one table leaves out rows of the next.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.arrow.schema import to_arrow_type
from iceberg_spark.expr.logic import leaves
from iceberg_spark.expr.nodes import IsNull
from iceberg_spark.read.task_reader import read_ahead, read_task
from iceberg_spark.scan.plan import ScanPlan
from iceberg_spark.scan.task import FileScanTask
from iceberg_spark.spec import types as t
from iceberg_spark.spec.schema import Schema

COMPARABLE = (
    t.IntegerType, t.LongType, t.DateType, t.StringType, t.DecimalType, t.TimestampType,
    t.TimestamptzType,
)  # fmt: skip
"""Types whose equal values are equal to Spark and have one form: no floats."""
_LONG_DIGITS = 18
"""Digits of a decimal that a whole number of eight bytes holds."""


@dataclass(frozen=True, slots=True, eq=False)
class RowKeys:
    """The distinct values, without null, that a column of needed rows has one of."""

    field: t.NestedField
    values: pa.Array

    def __len__(self) -> int:
        return len(self.values)


@dataclass(frozen=True, slots=True)
class TextCondition:
    """Needed rows have a text in a column, or `at_end` of it: what no filter of a scan can say."""

    field: t.NestedField
    text: str
    at_end: bool = False

    def mask(self, column: Any) -> Any:
        """Return which values have the text; null of null."""
        return (pc.ends_with if self.at_end else pc.match_substring)(column, self.text)


@dataclass(frozen=True, slots=True, eq=False)
class Needed:
    """What rows need besides a plan's filter: keys of other tables, and texts."""

    keys: Sequence[RowKeys] = ()
    texts: Sequence[TextCondition] = ()

    @property
    def fields(self) -> Iterator[t.NestedField]:
        """The fields that it is about."""
        yield from (condition.field for condition in self.keys)
        yield from (condition.field for condition in self.texts)

    def rows(self, batch: Any, places: Sequence[int]) -> Any:
        """Return the rows of a batch that have it; `places` are the field ids of its columns."""

        def column(field: t.NestedField) -> Any:
            return batch.column(places.index(field.field_id))

        masks = [pc.is_in(column(condition.field), condition.values) for condition in self.keys]
        masks += [condition.mask(column(condition.field)) for condition in self.texts]
        return batch.filter(reduce(pc.and_, masks)) if masks else batch


@dataclass(frozen=True, slots=True, eq=False)
class KeysRead:
    """Key columns of rows: the values of each, in the order they were asked for.

    `rows` is the number of rows that have them.
    """

    rows: int
    keys: tuple[pa.Array, ...]


_NOTHING = Needed()


def can_be_key(kind: t.IcebergType) -> bool:
    """Return whether values of a type are compared as keys: texts, and what eight bytes hold."""
    is_wide = isinstance(kind, t.DecimalType) and kind.precision > _LONG_DIGITS
    return isinstance(kind, COMPARABLE) and not is_wide


def leaves_out_rows(plan: ScanPlan) -> bool:
    """Return whether a plan has a condition that may leave out keys.

    Spark asks for rows that are joined not to be null: that leaves all keys.
    """
    return not all(isinstance(leaf, IsNull) for leaf in leaves(plan.context.row_filter))


def is_readable(plan: ScanPlan) -> bool:
    """Return whether the keys of a plan's rows may be read: `KEYS` says how many."""
    of = plan.metrics
    return (
        len(plan) <= KEYS.files
        and of.total_record_count <= KEYS.rows
        and of.total_file_size_in_bytes <= KEYS.bytes
    )


def read_keys(
    plan: ScanPlan, fields: Sequence[t.NestedField], needed: Needed = _NOTHING
) -> KeysRead:
    """Return the values that fields have in those of a plan's rows that have what is needed.

    Raises what reading files raises.
    """
    read_fields = {field.field_id: field for field in (*fields, *needed.fields)}
    context = replace(plan.context, read_schema=Schema(*read_fields.values()))
    places = list(read_fields)

    def read(task: FileScanTask) -> Iterator[tuple[int, list[Any]]]:
        for batch in read_task(context, context.io, task):
            rows = needed.rows(batch, places)
            columns = [rows.column(places.index(field.field_id)) for field in fields]
            yield rows.num_rows, [pc.unique(column) for column in columns]

    rows, values_read = 0, [list[Any]() for _ in fields]
    for count, columns in read_ahead(plan, read, KEYS.readers):
        rows += count
        for values, column in zip(values_read, columns, strict=True):
            values.append(column)
    pairs = zip(fields, values_read, strict=True)
    return KeysRead(rows, tuple(_distinct(field, values) for field, values in pairs))


def whole_numbers(keys: RowKeys) -> bytes | None:
    """Return keys as numbers of eight bytes, the lowest first; None of texts.

    Days, microseconds, or decimals without their point.
    """
    match keys.field.field_type:
        case t.StringType():
            return None
        case t.DecimalType():
            pairs = np.frombuffer(keys.values.buffers()[1], "<i8")
            first = keys.values.offset * 2
            return bytes(pairs[first : first + len(keys) * 2 : 2].tobytes())
        case t.IntegerType() | t.DateType():
            numbers = keys.values.cast(pa.int32()).cast(pa.int64())
        case _:
            numbers = keys.values.cast(pa.int64())
    return bytes(numbers.to_numpy(zero_copy_only=False).astype("<i8").tobytes())


def _distinct(field: t.NestedField, values: Sequence[Any]) -> pa.Array:
    if not values:
        return pa.array([], to_arrow_type(field.field_type))
    unique = pc.unique(pa.chunked_array(values)).drop_null()
    return unique.combine_chunks() if isinstance(unique, pa.ChunkedArray) else unique


@dataclass(frozen=True, slots=True)
class JoinLimits:
    """When a small table's keys are read to prune a large one."""

    read_bytes: int = 8 * 1024 * 1024
    """Bytes of the small table's files: its key and what its condition asks for are read here."""
    rows: int = 1_000_000
    """Rows of the small table: as many keys are held."""
    pruned_bytes: int = 16 * 1024 * 1024
    """Bytes of the large table's files: Spark reads fewer in the time that reading keys takes."""
    files: int = 4
    """Files of the large table, at least."""
    kept_bytes: int = 16 * 1024 * 1024
    """Bytes of plans that joins have made smaller, and of those that they are told apart by."""
    kept_plan_bytes: int = 256 * 1024
    """Bytes that one counts for at least, so that they are 64 at most: each has a table's
    metadata."""


@dataclass(frozen=True, slots=True)
class KeyLimits:
    """When the keys of some rows are read to leave out rows of the tables they are joined with."""

    least_rows: int = 1_000_000
    """Rows that some relation of the query has: less is read in the time that keys take."""
    rows: int = 1_000_000
    """Rows of which keys are read: as many keys are held, ..."""
    bytes: int = 32 * 1024 * 1024
    """... bytes of their files, of which some columns are read, ..."""
    files: int = 64
    """... and files."""
    share: float = 0.5
    """Rows that keys leave of a relation, of all, about: a filter that leaves more costs more."""
    readers: int = 8
    """Files at once."""
    cost: float = 1.5
    """To read a row's key costs so many rows that Spark would have to shuffle, ..."""
    scan_cost: float = 0.8
    """... to have Spark read it so many, ..."""
    job_cost: int = 500_000
    """... and a job of Spark's for it so many."""
    spark_share: float = 0.2
    """Rows that other keys leave of a relation whose own keys Spark reads, of all, about."""
    listed: int = 10
    """Keys that are compared one by one, as Spark does with lists; more go to a Bloom filter."""
    bits: int = 8
    """Bits of a Bloom filter for each key: of a hundred rows without a match two pass."""


JOINS = JoinLimits()
KEYS = KeyLimits()
