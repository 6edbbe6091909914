"""Filters by the keys of joined relations: rows that a join drops are left out when they are read.

Spark reads all lines to join them with the orders of one day, and shuffles them. Here the keys of
those orders are read while the query is planned, because all tables are pinned, and the lines are
filtered by them. Filters cascade: a nation gives its customers, these their orders, and these their
lines. If a relation has too many rows to read here, and other keys exclude most of them, Spark
collects its keys.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from iceberg_spark.read.row_keys import KEYS, RowKeys, whole_numbers
from iceberg_spark.spark.adapt.types import to_spark
from iceberg_spark.spark.catalyst.key_filters import (
    BloomSize,
    KeyFilter,
    OptimizedPlan,
    add_key_filter,
    bloom_filter,
    bloom_filter_of,
    java_values,
)
from iceberg_spark.spark.reading.chosen_keys import Choice, ChosenKeys, chosen_keys, share_of
from iceberg_spark.spark.reading.joined_tables import Join, JoinedTable
from iceberg_spark.spec.schema import Schema


def filter_by_keys(tables: Sequence[JoinedTable], plan: OptimizedPlan) -> None:
    """Filter the relations of a plan by keys where that pays.

    Raises what planning and reading raise.
    """
    if max((table.rows for table in tables), default=0) < KEYS.least_rows:
        return
    filters = _Filters(plan, chosen_keys(tables))
    for table in tables:
        for key_filter in filters.of(table):
            add_key_filter(plan, key_filter)


@dataclass(frozen=True, slots=True, eq=False)
class _Filters:
    """Builds filters from the chosen keys."""

    plan: OptimizedPlan
    chosen: ChosenKeys

    def of(self, table: JoinedTable) -> Iterator[KeyFilter]:
        """Yield the filters of a relation."""
        yield from self._key_filters(table, self.chosen.filters[table.number])

    def _key_filters(self, table: JoinedTable, choices: Sequence[Choice]) -> Iterator[KeyFilter]:
        for choice in choices:
            join, keys = choice.join, choice.keys
            values = self._by_spark(choice) if keys is None else self._values(join, keys)
            if values is not None:
                yield KeyFilter(table.number, join.column_index, values)

    def _values(self, join: Join, keys: RowKeys) -> Any:
        """Return the values to compare with: a list of a few keys, or a Bloom filter of more."""
        session, numbers = self.plan.session, whole_numbers(keys) if len(keys) else b""
        key_values = keys.values.to_pylist() if numbers is None else numbers
        kind = to_spark(Schema(keys.field)).fields[0].dataType
        values = java_values(session, kind, key_values)
        if values is None or len(keys) <= KEYS.listed:
            return values
        size = _bloom_size(len(keys), f"{len(keys):,} values", join)
        return bloom_filter(session, kind, values, size)

    def _by_spark(self, choice: Choice) -> Any:
        """Return a Bloom filter of keys that Spark collects."""
        of, choices = choice.join.of, self.chosen.by_table[choice.join.of.number]
        items = max(int(of.rows * share_of(choices)), KEYS.listed)
        return bloom_filter_of(
            self.plan,
            (of.number, choice.join.key_index),
            list(self._key_filters(of, choices)),
            _bloom_size(items, "values", choice.join),
        )


def _bloom_size(items: int, what: str, join: Join) -> BloomSize:
    return BloomSize(items, items * KEYS.bits, f"{what} of {join.of.name}.{join.key.name}")
