"""Which keys of joined relations are read to leave out rows of others, by what that costs.

What is left out of one relation leaves out rows of the next. Keys of many rows Spark reads itself,
where other keys leave few of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from math import prod

from iceberg_spark.read.limits import KEYS
from iceberg_spark.read.row_keys import Needed, RowKeys, is_readable, leaves_out_rows, read_keys
from iceberg_spark.spark.reading.joined_tables import Join, JoinedTable
from iceberg_spark.spark.reading.pushed_texts import pushed_texts


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """A join that leaves a share of a relation's rows, about; `keys` None are read by Spark."""

    join: Join
    keys: RowKeys | None
    share: float

    def is_as(self, other: Choice) -> bool:
        """Return whether both leave the same rows."""
        if (
            self.keys is None
            or other.keys is None
            or self.join.column_index != other.join.column_index
        ):
            return False
        return bool(self.keys.values.equals(other.keys.values))


@dataclass(slots=True, eq=False)
class ChosenKeys:
    """By the number of a relation: the keys that limit its rows, and those to filter it by.

    Keys that Spark meets at once, because it broadcasts the other side, are not in `filters`.
    """

    by_table: dict[int, list[Choice]] = field(default_factory=dict)
    filters: dict[int, list[Choice]] = field(default_factory=dict)


def chosen_keys(tables: Sequence[JoinedTable]) -> ChosenKeys:
    """Return the keys that pay; `tables` are those of a plan, those of few rows first.

    Raises what planning and reading raise.
    """
    cache, chosen = _KeyCache(), ChosenKeys()
    for table in tables:
        choices = list(cache.choices(table, table.rows))
        chosen.by_table[table.number] = choices
        by_spark = _by_spark(table, chosen, cache)
        chosen.filters[table.number] = [
            choice for choice in (*choices, *by_spark) if not choice.join.at_once
        ]
    _keep_same_scans(tables, chosen)
    return chosen


def share_of(choices: Sequence[Choice]) -> float:
    """Return the share of rows that several choices leave together."""
    return prod(choice.share for choice in choices)


def _by_spark(table: JoinedTable, chosen: ChosenKeys, cache: _KeyCache) -> Iterator[Choice]:
    """Yield joins whose keys Spark should read first, and the other side's rows twice for that.

    Not for rows that Spark broadcasts: these are few, and the other side meets them at once.
    """
    left = min((choice.share for choice in chosen.by_table[table.number]), default=1.0)
    for join in table.joins:
        share = share_of(chosen.by_table[join.of.number])
        cost = KEYS.job_cost + join.of.rows * KEYS.scan_cost
        pays = table.rows * left * (1 - share) >= cost and share <= KEYS.spark_share
        if pays and not join.is_built and not cache.are_known(join.of):
            yield Choice(join, None, share)


def _keep_same_scans(tables: Sequence[JoinedTable], chosen: ChosenKeys) -> None:
    """Leave scans alone that Spark does once, for several places, if these need other rows."""
    for _, same in groupby(sorted(tables, key=lambda table: table.scan), lambda table: table.scan):
        filter_lists = [chosen.filters[table.number] for table in same]
        first, *others = filter_lists
        for other in others:
            pairs = zip(first, other, strict=False)
            if len(first) != len(other) or not all(
                table.is_as(other_choice) for table, other_choice in pairs
            ):
                for filters in filter_lists:
                    filters.clear()


@dataclass(frozen=True, slots=True, eq=False)
class _TableKeys:
    """The keys of rows that stay, by field id, and their share of all rows, about."""

    share: float
    keys: Mapping[int, RowKeys]


@dataclass(slots=True, eq=False)
class _KeyCache:
    """Reads keys of relations as they are asked for, once each."""

    _by_table: dict[int, _TableKeys | None] = field(default_factory=dict)

    def choices(self, table: JoinedTable, rows: float) -> Iterator[Choice]:
        """Yield joins that leave out rows: for each column the best one, and the best one first.

        `rows` are those that it would be good for; each has to pay for what others left of them.
        """
        best: dict[int, Choice] = {}
        for join in table.joins:
            left = rows * min((choice.share for choice in best.values()), default=1.0)
            table_keys = self._of(join.of, left)
            keys = None if table_keys is None else table_keys.keys.get(join.key.field_id)
            if table_keys is None or keys is None:
                continue
            share = max(table_keys.share, len(keys) / max(table.rows, 1))
            before = best.get(join.column.field_id)
            if share <= (KEYS.share if before is None else before.share / 2):
                choice = Choice(join, RowKeys(join.column, keys.values), share)
                best[join.column.field_id] = choice
        yield from sorted(best.values(), key=lambda choice: choice.share)

    def are_known(self, table: JoinedTable) -> bool:
        """Return whether keys of a relation have been read."""
        return self._by_table.get(table.number) is not None

    def _of(self, table: JoinedTable, rows: float) -> _TableKeys | None:
        """Return the keys of a relation's rows that stay.

        None where reading them doesn't pay for `rows`, nothing leaves out any, or nothing tells.
        """
        if table.number not in self._by_table:
            if table.rows * KEYS.cost > rows:
                return None
            self._by_table[table.number] = self._read(table, rows)
        return self._by_table[table.number]

    def _read(self, table: JoinedTable, rows: float) -> _TableKeys | None:
        if table.registered.shows_deleted_rows:
            return None
        plan = table.filtered.plan
        if not is_readable(plan):
            return None
        filters = [one.keys for one in self.choices(table, rows) if one.keys is not None]
        texts = pushed_texts(table.registered.columns, table.relation.filters)
        if not filters and not texts and not leaves_out_rows(plan):
            return None
        fields = tuple(table.needed_keys.values())
        read = read_keys(plan, fields, Needed(filters, texts))
        pairs = zip(fields, read.keys, strict=True)
        keys = {one.field_id: RowKeys(one, values) for one, values in pairs}
        return _TableKeys(read.rows / table.all_rows, keys)
