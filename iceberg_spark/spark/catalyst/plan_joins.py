"""The joins of a plan: which columns of relations are needed only where they equal a key.

Example: a row of `sales` whose day is not in `days` does not contribute to their inner join. So
`sales` may be read without it, if nothing between the two counts or ranks rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

_DROPS: Mapping[str, tuple[bool, bool]] = {
    "Inner$": (True, True),
    "Cross$": (True, True),
    "LeftSemi$": (True, True),
    "LeftAnti$": (False, True),
    "LeftOuter$": (False, True),
    "RightOuter$": (True, False),
}
"""Kinds of joins, and whether a row of the left or right side that matches nothing is in nothing
that comes of them."""
_BUILDS: Mapping[str, tuple[bool, bool]] = {
    "Inner$": (True, True),
    "Cross$": (True, True),
    "LeftSemi$": (False, True),
    "LeftAnti$": (False, True),
    "LeftOuter$": (False, True),
    "RightOuter$": (True, False),
}
"""Kinds of joins, and whether Spark can broadcast their left or right side."""
_EQUAL_VALUES = frozenset({"Inner$", "Cross$", "LeftSemi$"})
"""Kinds of joins of which each row has equal values where the condition says so."""
_SHOWS_RIGHT = frozenset({"Inner$", "Cross$", "LeftOuter$", "RightOuter$", "FullOuter$"})
"""Kinds of joins that have the columns of their right side."""
_BY_ROW = frozenset({"Project", "Filter", "Join", "Sort"})
"""Operators that a row passes on its own; an aggregate takes the rows of a group together."""
_SAME_VALUES = frozenset({*_BY_ROW, "GlobalLimit", "LocalLimit", "Window"})
"""Operators below which a column has the values that it has above, and maybe more."""


@dataclass(frozen=True, slots=True)
class JoinedColumns:
    """Rows are needed only if their `column` is a value of `key`, a column of another relation.

    `at_once` says that a row meets its match before it is shuffled, sorted or counted, because
    Spark broadcasts the other side. `is_built` says that Spark broadcasts the row's own side.
    """

    column: RelationColumn
    key: RelationColumn
    at_once: bool = False
    is_built: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class _Equal:
    """A column's id, and the subtree and id of the key that it has to be equal to."""

    column: int
    side: Node
    key: int
    at_once: bool
    is_built: bool


def joined_columns(
    root: Node, is_broadcast: Callable[[Node], bool] = lambda _: False
) -> list[JoinedColumns]:
    """Return columns of a plan's relations, each with the keys that it has to be equal to.

    Every leaf counts as a relation. `is_broadcast` tells whether Spark estimates that a side of a
    join is small enough to broadcast. Nothing is left out below a node that is not deterministic:
    a random value of a row depends on the rows before it.
    """
    joined: dict[tuple[RelationColumn, RelationColumn], JoinedColumns] = {}

    def needed(leaf: Node, equal: _Equal) -> None:
        column = _column(leaf, equal.column)
        for other, number in _origins(equal.side, equal.key):
            key = _column(other, number)
            if column and key and column.kind == key.kind and leaf is not other:
                before = joined.get((column, key), JoinedColumns(column, key))
                joined[column, key] = replace(
                    before,
                    at_once=before.at_once or equal.at_once,
                    is_built=before.is_built or equal.is_built,
                )

    _Descent(needed, is_broadcast).go(root, ())
    return list(joined.values())


@dataclass(frozen=True, slots=True, eq=False)
class _Descent:
    """Finds the columns of relations that have to be equal to a key."""

    needed: Callable[[Node, _Equal], None]
    is_broadcast: Callable[[Node], bool]

    def go(self, node: Node, equal: Sequence[_Equal]) -> None:
        """Pass pairs down to a node. A pair belongs to the relation that has its column.

        A pair passes to both sides of a join.
        """
        if not node.children:
            own = node.ids
            for pair in equal:
                if pair.column in own:
                    self.needed(node, pair)
            return
        match node.kind:
            case _ if not node.is_deterministic:
                self._go_on(node, ())
            case "Join":
                builds = _broadcast_sides(node, self.is_broadcast)
                own_pairs = _own_pairs(node, builds)
                for child, pairs, built, other in zip(
                    node.children, own_pairs, builds, reversed(builds), strict=True
                ):
                    passed = [
                        replace(
                            pair, at_once=pair.at_once and other, is_built=pair.is_built or built
                        )
                        for pair in _with_same(node, equal)
                    ]
                    self.go(child, (*passed, *pairs))
            case kind if kind in _BY_ROW or kind == "Aggregate":
                passed = [
                    replace(pair, column=below, at_once=pair.at_once and kind != "Aggregate")
                    for pair in equal
                    if (below := _below(node, pair.column)) is not None
                ]
                self._go_on(node, passed)
            case _:
                self._go_on(node, ())

    def _go_on(self, node: Node, equal: Sequence[_Equal]) -> None:
        for child in node.children:
            self.go(child, equal)


def _with_same(join: Node, equal: Sequence[_Equal]) -> list[_Equal]:
    """Return the pairs, and the same pairs for columns that a join makes equal to theirs."""
    pairs = list(equal)
    if equal and join.join_type in _EQUAL_VALUES:
        for left, right in join.equalities:
            for mine, theirs in ((left, right), (right, left)):
                pairs += [replace(pair, column=theirs) for pair in equal if pair.column == mine]
    return pairs


def _broadcast_sides(join: Node, is_broadcast: Callable[[Node], bool]) -> tuple[bool, bool]:
    left, right = _BUILDS.get(join.join_type, (False, False))
    left_child, right_child = join.children
    return left and is_broadcast(left_child), right and is_broadcast(right_child)


def _own_pairs(join: Node, builds: tuple[bool, bool]) -> tuple[list[_Equal], list[_Equal]]:
    """Return the pairs that the condition of a join gives for its left and its right side."""
    left, right = join.children
    drops_left, drops_right = _DROPS.get(join.join_type, (False, False))
    of_left: list[_Equal] = []
    of_right: list[_Equal] = []
    for left_column, right_column in join.equalities:
        for mine, theirs in ((left_column, right_column), (right_column, left_column)):
            if drops_left:
                of_left.append(_Equal(mine, right, theirs, builds[1], builds[0]))
            if drops_right:
                of_right.append(_Equal(mine, left, theirs, builds[0], builds[1]))
    return of_left, of_right


def _origins(node: Node, column: int) -> Iterator[tuple[Node, int]]:
    """Yield relations and columns that contain all values of a column but NULL."""
    if not node.children:
        if column in node.ids:
            yield node, column
        return
    if node.kind not in _SAME_VALUES and node.kind != "Aggregate":
        return
    below = _below(node, column)
    if below is None:
        return
    if node.kind != "Join":
        yield from _origins(node.children[0], below)
        return
    kind = node.join_type
    equal: set[int] = set()
    if kind in _EQUAL_VALUES:
        for left_column, right_column in node.equalities:
            equal |= {left_column, right_column} if below in (left_column, right_column) else set()
    left, right = node.children
    for origin in sorted(equal | {below}):
        yield from _origins(left, origin)
    for origin in sorted(equal | {below} if kind in _SHOWS_RIGHT else equal - {below}):
        yield from _origins(right, origin)


def _below(node: Node, column: int) -> int | None:
    """Return a column's id below a node; None if the node computes it, or from several rows."""
    match node.kind:
        case "Project":
            return node.passed.get(column)
        case "Aggregate":
            below = node.passed.get(column)
            return below if below in node.grouped else None
        case _:
            return column


def _column(leaf: Node, number: int) -> RelationColumn | None:
    return next((column for column in leaf.columns if column.number == number), None)


# A plan of Spark's optimizer as a tree, for finding the columns that have to be equal.
#
# `PlanTree` in `PlanJson.java` writes it as JSON.


@dataclass(frozen=True, slots=True)
class RelationColumn:
    """A column of a leaf; `leaf_index` is the number of the leaf among all leaves of the plan.

    `number` is the id that Spark gave the column, `kind` its Spark type.
    """

    leaf_index: int
    number: int
    name: str
    kind: str


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """A node of a plan.

    `number` is its number among all nodes, `leaf_index` the number of a leaf among all leaves.
    `size` is the size in bytes that Spark estimates. `equalities` are the pairs of columns that the
    condition of a join compares by `=`. `passed` are the columns that a projection or an aggregate
    passes on, by their ids above it; `grouped` are the columns that an aggregate groups by.
    """

    kind: str
    number: int
    children: tuple[Node, ...]
    leaf_index: int = -1
    size: int = 0
    is_deterministic: bool = True
    join_type: str = ""
    equalities: tuple[tuple[int, int], ...] = ()
    passed: Mapping[int, int] = field(default_factory=dict)
    grouped: frozenset[int] = frozenset()
    columns: tuple[RelationColumn, ...] = ()

    @property
    def ids(self) -> set[int]:
        """The ids of a leaf's columns."""
        return {column.number for column in self.columns}

    @property
    def leaves(self) -> Iterator[Node]:
        """The leaves below the node, itself if it is one."""
        if not self.children:
            yield self
        for child in self.children:
            yield from child.leaves


def tree_of(root: Mapping[str, Any]) -> Node:
    """Return the tree of a plan's JSON."""
    numbers, leaf_indices = count(), count()

    def read(node: Mapping[str, Any]) -> Node:
        number = next(numbers)
        children = tuple(map(read, node["children"]))
        leaf_index = -1 if children else next(leaf_indices)
        return Node(
            kind=node["kind"],
            number=number,
            children=children,
            leaf_index=leaf_index,
            size=int(node.get("size", 0)),
            is_deterministic=node.get("deterministic", True),
            join_type=node.get("join_type", ""),
            equalities=tuple((left, right) for left, right in node.get("equalities", ())),
            passed=dict(node.get("passed", ())),
            grouped=frozenset(node.get("grouped", ())),
            columns=tuple(
                RelationColumn(leaf_index, column["id"], column["name"], column["type"])
                for column in node.get("columns", ())
            ),
        )

    return read(root)
