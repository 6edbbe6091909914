"""Files that a join leaves out: the keys of a small table's rows prune a large one by partition.

`sales JOIN days ON sold = day WHERE month = 11` has no condition on `sales`, and yet needs few of
its files. Java learns that from Spark while the query runs (dynamic partition pruning, of columns
that a partition is made from); Spark has no such filter for files of ours. Both tables are pinned
when the query is planned, so here the small one's keys are read then.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.arrow.arrays import concat
from iceberg_spark.errors import IcebergError
from iceberg_spark.expr.bind import bind
from iceberg_spark.expr.nodes import ALWAYS_TRUE, And, Bound, Comparison, In, Op, Or, Reference
from iceberg_spark.read.task_reader import read_task
from iceberg_spark.scan.plan import ScanPlan
from iceberg_spark.scan.planner import narrowed
from iceberg_spark.spark.sql.limits import JOINS
from iceberg_spark.spark.sql.pushdown import equal_columns
from iceberg_spark.spark.sql.table_planner import AskedQuery, QueriedTable
from iceberg_spark.spec import types as t
from iceberg_spark.spec.schema import Schema

_log = logging.getLogger(__name__)
_COMPARABLE = (
    t.IntegerType, t.LongType, t.DateType, t.StringType, t.DecimalType, t.TimestampType,
    t.TimestamptzType,
)  # fmt: skip
"""Types whose equal values are equal to Spark and have one form: no floats."""
_SPACED = (t.IntegerType, t.LongType, t.DateType)
"""Types between whose values there are gaps that can be counted."""


def with_joined_filters(asked: AskedQuery, tables: Sequence[QueriedTable]) -> list[QueriedTable]:
    """Return the tables of a query, large ones with fewer files where joins prove that.

    A small table has conditions of its own and is read, its keys alone: JOINS says how much.
    """
    small = [one for one in tables if _is_small(one)]
    if not small or asked.parsed.dialect.changed or asked.parsed.is_rewritten:
        return list(tables)
    return [_pruned(asked, one, small) if _is_large(one) else one for one in tables]


def _is_small(table: QueriedTable) -> bool:
    scan = table.scan
    if not isinstance(scan, ScanPlan) or scan.context.row_filter == ALWAYS_TRUE:
        return False
    of = scan.metrics
    return of.total_file_size_in_bytes <= JOINS.read_bytes and of.total_record_count <= JOINS.rows


def _is_large(table: QueriedTable) -> bool:
    scan = table.scan
    return (
        isinstance(scan, ScanPlan)
        and len(scan) >= JOINS.files
        and scan.metrics.total_file_size_in_bytes >= JOINS.pruned_bytes
    )


def _pruned(asked: AskedQuery, large: QueriedTable, small: Sequence[QueriedTable]) -> QueriedTable:
    for other in small:
        if other is large:
            continue
        for column, key in _pairs(asked, large, other):
            try:
                large = _by_keys(large, column, other, key)
            except (IcebergError, OSError, pa.ArrowException):
                _log.debug("A table is read with all of its files", exc_info=True)
    return large  # what is wrong with a table, its own scan says


def _pairs(
    asked: AskedQuery, large: QueriedTable, other: QueriedTable
) -> list[tuple[t.NestedField, t.NestedField]]:
    """Return columns that partitions are made from, each with the key that it is equal to."""
    own, theirs = _schema(large), _schema(other)
    sources = {
        number
        for spec in _scan(large).context.specs.values()
        for part in spec.fields
        for number in part.source_ids
    }
    names = equal_columns(
        asked.parsed.tree,
        (large.reference, [one.name for one in own.fields]),
        (other.reference, [one.name for one in theirs.fields]),
        case_sensitive=asked.case_sensitive,
    )
    case = asked.case_sensitive
    pairs = [
        (own.find_field(column, case_sensitive=case), theirs.find_field(key, case_sensitive=case))
        for column, key in names
    ]
    return [
        (column, key)
        for column, key in pairs
        if column.field_id in sources
        and column.field_type == key.field_type
        and isinstance(column.field_type, _COMPARABLE)
    ]


def _by_keys(
    large: QueriedTable, column: t.NestedField, other: QueriedTable, key: t.NestedField
) -> QueriedTable:
    """Return a table with the files that may hold one of the keys of another's rows."""
    scan, keys = _scan(large), _keys(_scan(other), key)
    fewer = narrowed(scan, _one_of(scan, column, keys)) if len(keys) else None
    if fewer is None and len(keys):
        return large
    paths = pa.array([], pa.string()) if fewer is None else concat(fewer.files.column("file_path"))
    stay = pc.is_in(scan.files.column("file_path"), paths.cast(pa.string()))
    rows = np.flatnonzero(stay.to_numpy())
    if len(rows) == len(scan):
        return large
    text = f"{column.name} in {len(keys):,} values of {other.reference.name}.{key.name}"
    return replace(large, scan=_with_files(scan, rows), conditions=(*large.conditions, text))


def _keys(scan: ScanPlan, key: t.NestedField) -> Any:
    """Return the distinct keys of a table's rows, sorted, as an array of numpy's."""
    context = replace(scan.context, read_schema=Schema(key))
    batches = [batch for task in scan for batch in read_task(context, context.io, task)]
    found = [pc.unique(batch.column(0)) for batch in batches]
    if not found:
        return pa.array([])
    keys = pc.unique(pa.chunked_array(found)).drop_null()
    return keys.take(pc.array_sort_indices(keys))


def _one_of(scan: ScanPlan, column: t.NestedField, keys: pa.Array) -> Bound:
    """Return that a column has one of sorted keys, of many that it lies between neighbours."""
    schema, term = scan.context.table_schema, Reference(column.name)
    if len(keys) <= JOINS.values:
        return bind(schema, In(term, tuple(keys.to_pylist())))
    ranges = (
        And((Comparison(Op.GE, term, least), Comparison(Op.LE, term, most)))
        for least, most in _ranges(column.field_type, keys)
    )
    return bind(schema, Or(tuple(ranges)))


def _ranges(kind: t.IcebergType, keys: pa.Array) -> Iterable[tuple[object, object]]:
    """Yield ranges that hold all keys, parted where the gaps between neighbours are widest.

    Of [1, 2, 3, 50, 51, 90], three at most: 1 to 3, 50 to 51, 90 to 90.
    """
    count = len(keys)
    if isinstance(kind, _SPACED):
        width = pa.int32() if isinstance(kind, t.DateType) else keys.type
        numbers = keys.cast(width).to_numpy().astype(np.float64)
        widest = np.argsort(np.diff(numbers))[::-1][: JOINS.ranges - 1]
        firsts = np.concatenate([[0], np.sort(widest) + 1])
    else:
        firsts = np.unique(np.linspace(0, count, JOINS.ranges, endpoint=False).astype(int))
    lasts = np.append(firsts[1:], count) - 1
    for first, last in zip(firsts, lasts, strict=True):
        yield keys[int(first)].as_py(), keys[int(last)].as_py()


def _with_files(scan: ScanPlan, rows: Any) -> ScanPlan:
    """Return a plan of some of its files, which its metrics count."""
    some, of = scan.subset(rows), scan.metrics
    size = int(some.files.column("file_size_in_bytes").to_numpy().sum())
    metrics = replace(
        of,
        result_data_files=len(some),
        skipped_files_by_partition=of.skipped_files_by_partition + len(scan) - len(some),
        total_file_size_in_bytes=size,
        skipped_file_size_in_bytes=of.skipped_file_size_in_bytes
        + of.total_file_size_in_bytes
        - size,
        total_record_count=int(some.files.column("record_count").to_numpy().sum()),
    )
    return replace(some, metrics=metrics)


def _scan(table: QueriedTable) -> ScanPlan:
    if not isinstance(table.scan, ScanPlan):
        raise TypeError(f"{table.reference.name} is a metadata table")
    return table.scan


def _schema(table: QueriedTable) -> Schema:
    return _scan(table).context.table_schema
