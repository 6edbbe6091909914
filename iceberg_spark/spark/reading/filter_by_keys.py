"""Filters by the keys of joined relations: rows that a join drops are left out when they are read.

Spark reads all lines to join them with the orders of one day, and shuffles them. Here the keys of
those orders are read while the query is planned, because all tables are pinned, and the lines are
filtered by them. Filters cascade: a nation gives its customers, these their orders, and these their
lines. If a relation has too many rows to read here, and other keys exclude most of them, Spark
collects its keys.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from math import prod
from typing import Any

from iceberg_spark.read.row_keys import (
    KEYS,
    Needed,
    RowKeys,
    TextCondition,
    can_be_key,
    is_readable,
    leaves_out_rows,
    read_keys,
    whole_numbers,
)
from iceberg_spark.spark.adapt.types import to_spark
from iceberg_spark.spark.catalyst.file_pruning import Expression, ScannedRelation
from iceberg_spark.spark.catalyst.key_filters import (
    BloomSize,
    KeyFilter,
    OptimizedPlan,
    add_key_filter,
    bloom_filter,
    bloom_filter_of,
    java_values,
)
from iceberg_spark.spark.catalyst.plan_joins import JoinedColumns, Node
from iceberg_spark.spark.reading.column_plan import ColumnPlan
from iceberg_spark.spark.reading.relation_registry import FilteredPlan, RegisteredRelation
from iceberg_spark.spec import types as t
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
            yield KeyFilter(table.number, join.column_index, values)

    def _values(self, join: Join, keys: RowKeys) -> Any:
        """Return the values to compare with: a list of a few keys, or a Bloom filter of more."""
        session, numbers = self.plan.session, whole_numbers(keys) if len(keys) else b""
        key_values = keys.values.to_pylist() if numbers is None else numbers
        kind = to_spark(Schema(keys.field)).fields[0].dataType
        values = java_values(session, kind, key_values)
        if len(keys) <= KEYS.listed:
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


# Which keys of joined relations to read for filtering other relations, by cost.
#
# A filtered relation filters the next one. If a relation has too many rows to read its keys here,
# and other keys exclude most of them, Spark reads the keys itself.


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """A join, and the estimated share of a relation's rows that its keys leave.

    `keys` is None if Spark reads them.
    """

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
    """Return the keys whose filters pay; `tables` are those of a plan, ordered by rows.

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
    """Return the share of rows that several filters leave together."""
    return prod(choice.share for choice in choices)


def _by_spark(table: JoinedTable, chosen: ChosenKeys, cache: _KeyCache) -> Iterator[Choice]:
    """Yield joins whose keys Spark should read first, although it reads those rows twice then.

    Joins whose rows Spark broadcasts are left out: these are few, and meet the other side at once.
    """
    left = min((choice.share for choice in chosen.by_table[table.number]), default=1.0)
    for join in table.joins:
        share = share_of(chosen.by_table[join.of.number])
        cost = KEYS.job_cost + join.of.rows * KEYS.scan_cost
        pays = table.rows * left * (1 - share) >= cost and share <= KEYS.spark_share
        if pays and not join.is_built and not cache.are_known(join.of):
            yield Choice(join, None, share)


def _keep_same_scans(tables: Sequence[JoinedTable], chosen: ChosenKeys) -> None:
    """Remove the filters of a scan that Spark reads once for several joins that need other rows."""
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
    """The keys of the remaining rows by field id, and their estimated share of all rows."""

    share: float
    keys: Mapping[int, RowKeys]


@dataclass(slots=True, eq=False)
class _KeyCache:
    """Reads the keys of relations on demand, each once."""

    _by_table: dict[int, _TableKeys | None] = field(default_factory=dict)

    def choices(self, table: JoinedTable, rows: float) -> Iterator[Choice]:
        """Yield joins that exclude rows of a table: the best one for each column, ordered by share.

        `rows` is the number of rows that a filter would apply to. Each join has to pay for the rows
        that the others leave.
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
        """Return whether the keys of a relation have been read."""
        return self._by_table.get(table.number) is not None

    def _of(self, table: JoinedTable, rows: float) -> _TableKeys | None:
        """Return the keys of a relation's remaining rows.

        Returns None if reading them does not pay for `rows`, or if no filter excludes any row.
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
        filters = [choice.keys for choice in self.choices(table, rows) if choice.keys is not None]
        texts = pushed_texts(table.registered.columns, table.relation.filters)
        if not filters and not texts and not leaves_out_rows(plan):
            return None
        fields = tuple(table.needed_keys.values())
        read = read_keys(plan, fields, Needed(filters, texts))
        pairs = zip(fields, read.keys, strict=True)
        keys = {field.field_id: RowKeys(field, values) for field, values in pairs}
        return _TableKeys(read.rows / table.all_rows, keys)


_AT_END = {"Contains": False, "EndsWith": True}


def pushed_texts(columns: ColumnPlan, filters: Iterable[Expression]) -> list[TextCondition]:
    """Return the conditions on texts among filters of the relation of a column plan."""
    fields = {
        column.requested.name: column.field
        for column in columns.read
        if column.requested is not None
        and column.is_stored
        and isinstance(column.requested.field_type, t.StringType)
        and isinstance(column.field.field_type, t.StringType)
    }
    conditions = []
    for filter_ in filters:
        if filter_.kind not in _AT_END:
            continue
        column, text = filter_.parts
        field = fields.get(str(column.node.get("name")))
        is_text = text.kind == "Literal" and text.node.get("type") == "string"
        if column.kind == "AttributeReference" and field is not None and is_text:
            value = text.node.get("value")
            conditions += (
                [] if value is None else [TextCondition(field, str(value), _AT_END[filter_.kind])]
            )
    return conditions


@dataclass(frozen=True, slots=True, eq=False)
class Join:
    """A column of a relation's rows has to be a key of another relation.

    `column_index` and `key_index` are their indices in both relations. `at_once` says that rows
    meet their match before they are shuffled, sorted or counted, `is_built` that Spark broadcasts
    them.
    """

    column: t.NestedField
    column_index: int
    of: JoinedTable
    key: t.NestedField
    key_index: int
    at_once: bool
    is_built: bool


@dataclass(slots=True, eq=False)
class JoinedTable:
    """A relation of a plan; `filtered` is its plan by its own filters.

    `rows` is the number of rows in the remaining files. `needed_keys` are the keys that larger
    relations need.
    """

    relation: ScannedRelation
    filtered: FilteredPlan
    leaf: Node
    rows: int
    joins: list[Join] = field(default_factory=list)
    needed_keys: dict[int, t.NestedField] = field(default_factory=dict)

    @property
    def number(self) -> int:
        """The number of the relation in the request."""
        return self.relation.number

    @property
    def registered(self) -> RegisteredRelation:
        """The relation in the registry."""
        return self.filtered.registered

    @property
    def name(self) -> str:
        """The last part of the table's location."""
        metadata = self.registered.plan.metadata
        return "" if metadata is None else metadata.location.rstrip("/").rpartition("/")[2]

    def column_index(self, number: int) -> int | None:
        """Return the index of a column by its id, None for a column that Spark computes."""
        ids = [column.number for column in self.leaf.columns]
        return ids.index(number) if number in ids else None

    @property
    def scan(self) -> str:
        """The scan and the filters above it. Spark reads equal scans of a query once."""
        relation = self.relation
        return repr((relation.mark, sorted(relation.columns or ()), relation.filters))

    @property
    def all_rows(self) -> int:
        """The estimated rows of its snapshot, more than those of its remaining files."""
        plan = self.registered.plan
        if plan.metadata is None or plan.context.snapshot_id is None:
            return self.rows
        summary = plan.metadata.snapshot(plan.context.snapshot_id).summary
        return max(int(summary.get("total-records", 0)), self.rows, 1)


def joined_tables(
    relations: Iterable[tuple[ScannedRelation, FilteredPlan]],
    rows: Mapping[int, int],
    plan: OptimizedPlan,
) -> list[JoinedTable]:
    """Return the relations of a plan with their joins, ordered by rows.

    `rows` are the rows of the remaining files by the numbers of the relations. Relations in
    subqueries have no joins.
    """
    leaves = {leaf.leaf_index: leaf for leaf in plan.root.leaves}
    tables = {
        relation.leaf_index: JoinedTable(
            relation, filtered, leaves[relation.leaf_index], rows[relation.number]
        )
        for relation, filtered in relations
        if relation.leaf_index in leaves
    }
    for joined in plan.joins:
        table, other = tables.get(joined.column.leaf_index), tables.get(joined.key.leaf_index)
        join = table and other and _join(table, other, joined)
        if join and table:
            table.joins.append(join)
    order = sorted(tables.values(), key=_order)
    for index, table in enumerate(order):
        earlier = [join for join in table.joins if join.of in order[:index]]
        table.joins[:] = sorted(earlier, key=lambda join: join.of.rows)
        for join in table.joins:
            join.of.needed_keys[join.key.field_id] = join.key
    return order


def _order(table: JoinedTable) -> tuple[int, bool]:
    """Order tables by rows; among equals, one that a smaller table filters comes first."""
    return table.rows, all(join.of.rows >= table.rows for join in table.joins)


def _join(table: JoinedTable, other: JoinedTable, joined: JoinedColumns) -> Join | None:
    own, key = table.registered.field(joined.column.name), other.registered.field(joined.key.name)
    column_index = table.column_index(joined.column.number)
    key_index = other.column_index(joined.key.number)
    if own is None or key is None or column_index is None or key_index is None:
        return None
    if own.field_type != key.field_type or not can_be_key(key.field_type):
        return None
    return Join(own, column_index, other, key, key_index, joined.at_once, joined.is_built)
