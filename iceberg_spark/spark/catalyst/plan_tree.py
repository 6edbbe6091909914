"""A plan of Spark's optimizer as a tree, for finding the columns that have to be equal.

`PlanTree` in `PlanJson.java` writes it as JSON.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any


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
