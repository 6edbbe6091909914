"""A plan of Spark's as a tree of what its JSON says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

Said: TypeAlias = Mapping[str, Any]
"""What Spark says of a node or an expression, as JSON."""

_PASSING = ("Project", "Filter")


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """A node of a plan; `place` is that of a leaf among all leaves, `number` that among all nodes.

    `above` is what Spark says of the projections and filters right above a leaf, `filters` the
    numbers of these filters among all of the plan.
    """

    said: Said
    children: tuple[Node, ...]
    place: int = -1
    number: int = 0
    above: tuple[Said, ...] = ()
    filters: tuple[int, ...] = ()

    @property
    def kind(self) -> str:
        """The name of its class, without packages."""
        return kind_of(self.said)

    @property
    def leaves(self) -> Iterator[Node]:
        """The leaves below it, itself if it is one."""
        if not self.children:
            yield self
        for child in self.children:
            yield from child.leaves

    @property
    def ids(self) -> set[int]:
        """The ids of a leaf's own columns; a union has those of its first child's too."""
        return {id_of(one) for (one, *_) in self.said.get("output") or ()}


def attributes_in(said: Any) -> Iterator[int]:
    """Yield the ids of all columns that some JSON of expressions names."""
    if isinstance(said, list):
        for one in said:
            yield from attributes_in(one)
    elif isinstance(said, dict):
        if said.get("class") is not None and kind_of(said) == "AttributeReference":
            yield id_of(said)
        for one in said.values():
            yield from attributes_in(one)


def tree_of(said: Sequence[Said]) -> Node:
    """Return the tree of nodes that are listed with each before its children."""
    at = leaves = filters = 0

    def read(above: tuple[Said, ...], numbers: tuple[int, ...]) -> Node:
        nonlocal at, leaves, filters
        number, own = at, said[at]
        at += 1
        count, kind = int(own["num-children"]), kind_of(own)
        if count and kind not in _PASSING:
            above, numbers = (), ()
        elif count:
            above = (*above, own)
        if kind == "Filter":
            numbers = (*numbers, filters)
            filters += 1
        if count:
            children = tuple(read(above, numbers) for _ in range(count))
            return Node(own, children, number=number)
        leaves += 1
        return Node(own, (), leaves - 1, number, above, numbers)

    return read((), ())


def kind_of(said: Said) -> str:
    """Return the class of a node or an expression, without packages."""
    return str(said["class"]).rpartition(".")[2]


def id_of(said: Said) -> int:
    """Return the id of a named expression."""
    return int(said["exprId"]["id"])


def attribute_of(said: Said) -> int | None:
    """Return the id of the column that an expression is, None for any other."""
    return id_of(said) if kind_of(said) == "AttributeReference" else None
