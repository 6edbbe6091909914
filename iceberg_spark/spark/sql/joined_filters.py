"""Joins in a query's text that leave out files: of a large table, by the keys of a small one."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa

from iceberg_spark.errors import IcebergError
from iceberg_spark.read.joined_keys import can_prune, is_large, is_small
from iceberg_spark.read.kept_joins import joined_plan
from iceberg_spark.scan.plan import ScanPlan
from iceberg_spark.spark.sql.pushdown import equal_columns
from iceberg_spark.spark.sql.table_planner import AskedQuery, QueriedTable
from iceberg_spark.spec import types as t
from iceberg_spark.spec.schema import Schema

_log = logging.getLogger(__name__)


def with_joined_filters(asked: AskedQuery, tables: Sequence[QueriedTable]) -> list[QueriedTable]:
    """Return the tables of a query, large ones with fewer files where joins prove that.

    A small table has conditions of its own and is read, its keys alone: `read.limits` says how
    much.
    """
    small = [one for one in tables if isinstance(one.scan, ScanPlan) and is_small(one.scan)]
    if not small or asked.is_read_otherwise:
        return list(tables)
    return [
        _pruned(asked, one, small) if isinstance(one.scan, ScanPlan) and is_large(one.scan) else one
        for one in tables
    ]


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
    return [(column, key) for column, key in pairs if can_prune(_scan(large), column, key)]


def _by_keys(
    large: QueriedTable, column: t.NestedField, other: QueriedTable, key: t.NestedField
) -> QueriedTable:
    """Return a table with the files that may hold one of the keys of another's rows."""
    joined = joined_plan(_scan(large), column, _scan(other), key)
    if joined.plan is None:
        return large
    text = f"{column.name} in {joined.keys:,} values of {other.reference.name}.{key.name}"
    return replace(large, scan=joined.plan, conditions=(*large.conditions, text))


def _scan(table: QueriedTable) -> ScanPlan:
    if not isinstance(table.scan, ScanPlan):
        raise TypeError(f"{table.reference.name} is a metadata table")
    return table.scan


def _schema(table: QueriedTable) -> Schema:
    return _scan(table).context.table_schema
