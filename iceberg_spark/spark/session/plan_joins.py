"""Joins of a classic frame's plan: which columns of relations are only needed where they are equal.

A row of `sales` that no row of `days` has the day of is in nothing that comes of their inner join;
so `sales` may be read without it, as far as nothing between the two counts or ranks rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from pyspark.sql import DataFrame

from iceberg_spark.spark.session.classic_plans import optimized_plan

Said: TypeAlias = Mapping[str, Any]
"""What Spark says of a node or an expression, as JSON."""
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
_BY_ROW = frozenset({"Project", "Filter", "Join", "Sort"})
"""Operators that a row passes on its own; an aggregate takes the rows of a group together."""
_SAME_VALUES = frozenset({*_BY_ROW, "GlobalLimit", "LocalLimit", "Window"})
"""Operators below which a column has the values that it has above, and maybe more."""


@dataclass(frozen=True, slots=True)
class RelationColumn:
    """A column of a relation with a mark; `place` numbers the plan's relations."""

    mark: str
    place: int
    name: str
    kind: str


@dataclass(frozen=True, slots=True)
class JoinedColumns:
    """Rows whose `column` is no value of `key`, a column of another relation, are not needed."""

    column: RelationColumn
    key: RelationColumn


@dataclass(frozen=True, slots=True, eq=False)
class _Node:
    """A node of a plan; `place` is that of a relation among all leaves."""

    said: Said
    children: tuple[_Node, ...]
    place: int

    @property
    def kind(self) -> str:
        return _kind(self.said)


@dataclass(frozen=True, slots=True)
class _Equal:
    """A column's id, and the subtree and id of the key that it has to be equal to."""

    column: int
    side: _Node
    key: int


def joined_columns(frame: DataFrame, option: str, *, most: int) -> list[JoinedColumns]:
    """Return columns of relations whose option is a mark, each with the key that it is joined by.

    Of a relation that the optimized plan has once. Raises one of PLAN_ERRORS.
    """
    marks, said = optimized_plan(frame, option, most=most)
    if not said:
        return []
    root = _tree(said)
    columns: dict[int, RelationColumn] = {}
    for leaf in _leaves(root):
        mark = marks[leaf.place]
        if mark is not None:
            columns |= _outputs(leaf, mark)
    found: list[JoinedColumns] = []

    def needed(equal: _Equal) -> None:
        column = columns.get(equal.column)
        key = columns.get(_origin(equal.side, equal.key) or -1)
        if column and key and column.kind == key.kind and marks.count(column.mark) == 1:
            found.append(JoinedColumns(column, key))

    _descend(root, (), needed)
    return found


def _descend(node: _Node, equal: Sequence[_Equal], needed: Callable[[_Equal], None]) -> None:
    """Say which columns of relations have to be equal to which keys.

    A pair goes down to both sides of a join: it is about the relation that has its column, if that
    is where the pair gets to.
    """
    if not node.children:
        own = _ids(node)
        for each in equal:
            if each.column in own:
                needed(each)
        return
    match node.kind:
        case "Join":
            for child, pairs in zip(node.children, _own_pairs(node), strict=True):
                _descend(child, (*equal, *pairs), needed)
        case kind if kind in _BY_ROW or kind == "Aggregate":
            passed = [
                _Equal(below, each.side, each.key)
                for each in equal
                if (below := _below(node, each.column)) is not None
            ]
            _descend(node.children[0], passed, needed)
        case _:
            for child in node.children:
                _descend(child, (), needed)


def _own_pairs(join: _Node) -> tuple[list[_Equal], list[_Equal]]:
    """Return what a join's condition asks of its left and of its right side."""
    left, right = join.children
    drops_left, drops_right = _DROPS.get(_join_type(join.said), (False, False))
    of_left: list[_Equal] = []
    of_right: list[_Equal] = []
    for one, other in _equalities(join.said.get("condition")):
        for mine, theirs in ((one, other), (other, one)):
            if drops_left:
                of_left.append(_Equal(mine, right, theirs))
            if drops_right:
                of_right.append(_Equal(mine, left, theirs))
    return of_left, of_right


def _join_type(said: Said) -> str:
    kind = said.get("joinType")
    return str(kind.get("object", "")).rpartition(".")[2] if isinstance(kind, dict) else ""


def _equalities(condition: Any) -> Iterator[tuple[int, int]]:
    """Yield the columns that a condition says to be equal, as Spark compares them: not by `<=>`."""
    if not isinstance(condition, list):
        return
    conjuncts = [_tree(condition)]
    while conjuncts:
        one = conjuncts.pop()
        if one.kind == "And":
            conjuncts += one.children
        elif one.kind == "EqualTo":
            ids = [_attribute(side.said) for side in one.children]
            if ids[0] is not None and ids[1] is not None:
                yield ids[0], ids[1]


def _origin(node: _Node, column: int) -> int | None:
    """Return the id that a column has in the relation it comes from, None where nothing tells."""
    if not node.children:
        return column if column in _ids(node) else None
    if node.kind not in _SAME_VALUES and node.kind != "Aggregate":
        return None
    below = _below(node, column)
    found = [] if below is None else [_origin(child, below) for child in node.children]
    known = [one for one in found if one is not None]
    return known[0] if known else None


def _below(node: _Node, column: int) -> int | None:
    """Return a column's id below a node; None where it is made there, or of several rows."""
    match node.kind:
        case "Project":
            return _renamed(node.said["projectList"]).get(column)
        case "Aggregate":
            grouped = {_attribute(one[0]) for one in node.said["groupingExpressions"]}
            below = _renamed(node.said["aggregateExpressions"]).get(column)
            return below if below in grouped else None
        case _:
            return column


def _renamed(expressions: Sequence[Sequence[Said]]) -> dict[int, int]:
    """Return, by the ids of columns that are others as they are, the ids of those."""
    found = {}
    for one, *inner in expressions:
        source = inner[0] if _kind(one) == "Alias" and len(inner) == 1 else one
        below = _attribute(source)
        if below is not None:
            found[_id(one)] = below
    return found


def _outputs(leaf: _Node, mark: str) -> dict[int, RelationColumn]:
    return {
        _id(one): RelationColumn(mark, leaf.place, str(one["name"]), str(one["dataType"]))
        for (one, *_) in leaf.said["output"]
    }


def _ids(leaf: _Node) -> set[int]:
    """Return the ids of a leaf's own columns; a union has those of its first child's too."""
    return {_id(one) for (one, *_) in leaf.said.get("output") or ()}


def _attribute(said: Said) -> int | None:
    return _id(said) if _kind(said) == "AttributeReference" else None


def _id(said: Said) -> int:
    return int(said["exprId"]["id"])


def _kind(said: Said) -> str:
    return str(said["class"]).rpartition(".")[2]


def _leaves(node: _Node) -> Iterator[_Node]:
    if not node.children:
        yield node
    for child in node.children:
        yield from _leaves(child)


def _tree(said: Sequence[Said]) -> _Node:
    """Return the tree of nodes that are listed with each before its children."""
    at, leaves = 0, 0

    def read() -> _Node:
        nonlocal at, leaves
        own = said[at]
        at += 1
        count = int(own["num-children"])
        if count:
            return _Node(own, tuple(read() for _ in range(count)), -1)
        leaves += 1
        return _Node(own, (), leaves - 1)

    return read()
