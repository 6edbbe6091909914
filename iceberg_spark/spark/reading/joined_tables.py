"""Relations of a frame, and what its joins say of their rows."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from iceberg_spark.read.row_keys import can_be_key
from iceberg_spark.spark.reading.marked_files import MarkedFiles, marked_files
from iceberg_spark.spark.session.key_filters import OptimizedPlan, PlanRelation
from iceberg_spark.spark.session.plan_joins import JoinedColumns
from iceberg_spark.spark.session.plan_tree import Node, attributes_in, kind_of
from iceberg_spark.spec import types as t

_IDS = re.compile(r'"exprId": \{[^}]*\}')


@dataclass(frozen=True, slots=True, eq=False)
class Join:
    """A column of a relation's rows has to be a key of another relation.

    `place` and `key_place` are their places in both relations. `at_once` says that rows meet their
    match before they are shuffled, sorted or counted, `is_built` that Spark broadcasts them.
    """

    column: t.NestedField
    place: int
    of: JoinedTable
    key: t.NestedField
    key_place: int
    at_once: bool
    is_built: bool


@dataclass(slots=True, eq=False)
class JoinedTable:
    """A relation of a frame; `place` is its number in the analysed plan, `rows` those of its files.

    `asked` are the keys that larger relations ask for. `is_elsewhere` says that a subquery that
    stays one reads the same files: Spark may do that once.
    """

    place: int
    ids: tuple[int, ...]
    mark: str
    marked: MarkedFiles
    leaf: Node
    rows: int
    is_elsewhere: bool
    joins: list[Join] = field(default_factory=list)
    asked: dict[int, t.NestedField] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """What people call it."""
        metadata = self.marked.plan.metadata
        return "" if metadata is None else metadata.location.rstrip("/").rpartition("/")[2]

    def column_place(self, number: int) -> int | None:
        """Return the place of a column by its id, None for what Spark made of another."""
        return self.ids.index(number) if number in self.ids else None

    @property
    def needed_columns(self) -> tuple[int, ...]:
        """The ids of columns that are asked for, in its order; none where all may be."""
        if not any(kind_of(one) == "Project" for one in self.leaf.above):
            return ()
        named = set(attributes_in(list(self.leaf.above)))
        found = tuple(number for number in self.ids if number in named)
        return found if len(found) < len(self.ids) else ()

    @property
    def scan(self) -> tuple[str, str]:
        """What is read, and what is done with it at once: Spark does the same one once."""
        return self.mark, _IDS.sub("", json.dumps(self.leaf.above))

    @property
    def all_rows(self) -> int:
        """The rows that its snapshot has, about: more than those of its files."""
        plan = self.marked.plan
        if plan.metadata is None or plan.context.snapshot_id is None:
            return self.rows
        summary = plan.metadata.snapshot(plan.context.snapshot_id).summary
        return max(int(summary.get("total-records", 0)), self.rows, 1)


def joined_tables(relations: Sequence[PlanRelation], plan: OptimizedPlan) -> list[JoinedTable]:
    """Return the relations of a frame that its optimized plan has once, those of few rows first.

    What the optimizer has copied would be filtered in all of its places by the joins of one.
    """
    tables = _tables(relations, plan)
    for joined in plan.joins:
        table, other = tables.get(joined.column.place), tables.get(joined.key.place)
        made = table and other and _join(table, other, joined)
        if made and table:
            table.joins.append(made)
    order = sorted(tables.values(), key=_order)
    for at, table in enumerate(order):
        earlier = [join for join in table.joins if join.of in order[:at]]
        table.joins[:] = sorted(earlier, key=lambda join: join.of.rows)
        for join in table.joins:
            join.of.asked[join.key.field_id] = join.key
    return order


def _order(table: JoinedTable) -> tuple[int, bool]:
    """Order tables by their rows; first of those with as many is one that a smaller one tells."""
    return table.rows, all(join.of.rows >= table.rows for join in table.joins)


def _tables(relations: Sequence[PlanRelation], plan: OptimizedPlan) -> dict[int, JoinedTable]:
    """Return the relations by their places in the optimized plan."""
    times = Counter(number for one in relations for number in one.ids)
    owner = {number: at for at, one in enumerate(relations) for number in one.ids}
    seen: Counter[int] = Counter()
    copied = set()
    for one in plan.relations:
        owners = {owner[number] for number in one.ids if number in owner}
        if len(owners) == 1:
            seen[owners.pop()] += 1
        else:
            copied.add(one.mark)
    leaves = [(leaf, _owner(leaf, owner)) for leaf in plan.root.leaves]
    inside = Counter(relations[at].mark for _, at in leaves if at is not None)
    elsewhere = Counter(one.mark for one in plan.relations) - inside
    found = {}
    for leaf, at in leaves:
        if at is None or seen[at] != 1 or relations[at].mark in copied:
            continue
        one = relations[at]
        marked = marked_files(one.mark)
        if marked is not None and all(times[number] == 1 for number in one.ids):
            others = one.mark in elsewhere
            found[leaf.place] = JoinedTable(
                at, one.ids, one.mark, marked, leaf, _rows(marked, plan.sizes[leaf.number]), others
            )
    return found


def _rows(marked: MarkedFiles, size: int) -> int:
    """Return how many rows a relation reads, maybe of fewer files than were marked: by its size."""
    width = marked.files.row_bytes
    return min(marked.rows, int(size / width)) if width else marked.rows


def _owner(leaf: Node, owner: Mapping[int, int]) -> int | None:
    """Return the place of the relation of the analysed plan that a leaf is, None for any other."""
    return next((owner[number] for number in leaf.ids if number in owner), None)


def _join(table: JoinedTable, other: JoinedTable, joined: JoinedColumns) -> Join | None:
    own, key = table.marked.field(joined.column.name), other.marked.field(joined.key.name)
    place = table.column_place(joined.column.number)
    key_place = other.column_place(joined.key.number)
    if own is None or key is None or place is None or key_place is None:
        return None
    if own.field_type != key.field_type or not can_be_key(key.field_type):
        return None
    return Join(own, place, other, key, key_place, joined.at_once, joined.is_built)
