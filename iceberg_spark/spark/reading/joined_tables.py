"""The relations of a plan with the keys that their joins need."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from iceberg_spark.read.row_keys import can_be_key
from iceberg_spark.spark.catalyst.file_pruning import ScannedRelation
from iceberg_spark.spark.catalyst.key_filters import OptimizedPlan
from iceberg_spark.spark.catalyst.plan_joins import JoinedColumns, Node
from iceberg_spark.spark.reading.filtered_plan import FilteredPlan
from iceberg_spark.spark.reading.relation_registry import RegisteredRelation
from iceberg_spark.spec import types as t


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
