"""What a query needs of one of its tables: columns, and conditions that its rows must meet.

Only what is certain is taken: a condition that is not understood prunes nothing, and a column is
left out only when its name stands nowhere in the text. The query itself runs unchanged, so
nothing taken here decides about rows that it would have kept.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from sqlglot import exp

from iceberg_spark.spark.sql.references import TableReference

Node: TypeAlias = Any  # sqlglot's root class has changed its name between versions

_SEMI_ANTI = ("SEMI", "ANTI")


@dataclass(frozen=True, slots=True)
class Condition:
    """A conjunct over one table: `node` has that table's columns only, without qualifiers."""

    node: Node
    text: str


@dataclass(frozen=True, slots=True)
class Conditions:
    """The conjuncts that a table's rows must meet, and the texts of those that were left out."""

    taken: tuple[Condition, ...] = ()
    left_out: tuple[str, ...] = ()


def needed_columns(
    tree: Node, reference: TableReference, columns: Iterable[str]
) -> tuple[str, ...] | None:
    """Return the top-level columns whose names stand in the query, None for all of them."""
    select = _select_of(reference)
    if select is None or _takes_every_column(select) or _names_at_run_time(tree):
        return None
    named = {str(one.name).lower() for one in tree.find_all(exp.Identifier)}
    return tuple(name for name in columns if name.lower() in named)


def conditions(reference: TableReference, columns: Collection[str]) -> Conditions:
    """Return the conjuncts of WHERE and ON that concern this table alone.

    A table on the side of an outer join that is filled with nulls takes only conjuncts of its
    own ON: rows that WHERE drops may be what keeps the other side's rows from being filled.
    """
    select = _select_of(reference)
    if select is None or reference.node.args.get("sample") or _is_pivoted(select):
        return Conditions()
    joins = select.args.get("joins") or []
    place = next((at for at, join in enumerate(joins) if join.this is reference.node), None)
    found = [one for join in _decisive(joins, place) for one in _conjuncts(join.args.get("on"))]
    if not _is_filled(joins, place) and not (place is not None and _is_semi(joins[place])):
        where = select.args.get("where")
        found += _conjuncts(where and where.this)
    return _sorted_out(found, reference, {name.lower() for name in columns})


def _decisive(joins: list[Node], place: int | None) -> Iterator[Node]:
    """Yield the joins whose ON every row of the table must meet to be in the result."""
    own = None if place is None else joins[place]
    if own is not None and (_is_semi(own) or _side(own) in ("", "LEFT")):
        yield own
    if _is_filled(joins, place) or (own is not None and _is_semi(own)):
        return
    for later in joins[(-1 if place is None else place) + 1 :]:
        if _kind(later) == "SEMI" or (not _side(later) and _kind(later) != "ANTI"):
            yield later


def _is_filled(joins: list[Node], place: int | None) -> bool:
    """Return whether an outer join may give the table's columns as nulls; `place` None is FROM."""
    own = None if place is None else joins[place]
    if own is not None and not _is_semi(own) and _side(own) in ("LEFT", "FULL"):
        return True
    later = joins[(-1 if place is None else place) + 1 :]
    return any(_side(join) in ("RIGHT", "FULL") for join in later)


def _sorted_out(found: Iterable[Node], reference: TableReference, names: set[str]) -> Conditions:
    taken, left_out = [], []
    for one in found:
        if one.find(exp.Query) is not None:
            left_out.append(one.sql("spark"))
            continue
        mentioned = list(one.find_all(exp.Column))
        own = [column for column in mentioned if _own_path(column, reference, names) is not None]
        if own and len(own) == len(mentioned):
            taken.append(Condition(_unqualified(one, reference, names), one.sql("spark")))
    return Conditions(tuple(taken), tuple(left_out))


def _select_of(reference: TableReference) -> Node | None:
    """Return the SELECT whose FROM or JOIN names the table directly."""
    parent = reference.node.parent
    if not isinstance(parent, exp.From | exp.Join) or reference.node.args.get("joins"):
        return None
    return parent.parent if isinstance(parent.parent, exp.Select) else None


def _takes_every_column(select: Node) -> bool:
    joins = select.args.get("joins") or []
    natural = any(join.args.get("method") == "NATURAL" for join in joins)
    return natural or _is_pivoted(select) or any(_stars(select))


def _stars(select: Node) -> Iterable[Node]:
    for star in select.find_all(exp.Star):
        counted = isinstance(star.parent, exp.Count)
        if not counted and star.find_ancestor(exp.Select) is select:
            yield star


def _is_pivoted(select: Node) -> bool:
    return any(
        table.args.get("pivots") and table.find_ancestor(exp.Select) is select
        for table in select.find_all(exp.Table)
    )


def _names_at_run_time(tree: Node) -> bool:
    """Return whether a column may be named by a text (Spark's IDENTIFIER clause)."""
    return any(str(call.this).upper() == "IDENTIFIER" for call in tree.find_all(exp.Anonymous))


def _side(join: Node) -> str:
    return str(join.args.get("side") or "").upper()


def _kind(join: Node) -> str:
    return str(join.args.get("kind") or "").upper()


def _is_semi(join: Node) -> bool:
    return _kind(join) in _SEMI_ANTI


def _conjuncts(node: Node | None) -> list[Node]:
    if node is None:
        return []
    inner = node.unnest()
    if not isinstance(inner, exp.And):
        return [inner]
    return [one for child in inner.flatten() for one in _conjuncts(child)]


def _own_path(column: Node, reference: TableReference, names: set[str]) -> tuple[str, ...] | None:
    """Return a column's path inside the table, None for a column of another table."""
    parts = [str(part.name) for part in column.parts]
    lower = [part.lower() for part in parts]
    qualifiers = _qualifiers(reference)
    for qualifier in qualifiers:
        if tuple(lower[: len(qualifier)]) == qualifier and lower[len(qualifier) :]:
            inside = lower[len(qualifier)] in names
            return tuple(parts[len(qualifier) :]) if inside else None
    return tuple(parts) if lower[0] in names else None


def _qualifiers(reference: TableReference) -> list[tuple[str, ...]]:
    if reference.alias is not None:
        return [(reference.alias.lower(),)]
    parts = tuple(part.lower() for part in reference.parts)
    return [parts[at:] for at in range(len(parts))]


def _unqualified(node: Node, reference: TableReference, names: set[str]) -> Node:
    def changed(part: Node) -> Node:
        if not isinstance(part, exp.Column):
            return part
        path = _own_path(part, reference, names) or ()
        first, *rest = [exp.to_identifier(name, quoted=True) for name in path]
        made: Node = exp.Column(this=first)
        for one in rest:
            made = exp.Dot(this=made, expression=one)
        return made

    return node.copy().transform(changed)
