"""What a query needs of one of its tables: columns, and conditions that its rows must meet.

Only what is certain counts: a condition that is not supported prunes nothing, and a column is
left out only if its name does not occur in the text. The query itself runs unchanged, so nothing
here removes a row from its result.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Self, TypeAlias, TypeVar

from sqlglot import exp

from iceberg_spark.spark.sql.references import TableReference

Node: TypeAlias = Any  # the name of sqlglot's root class differs between versions
Answer = TypeVar("Answer")

_WORDS = re.compile(r"\w+")
_SEMI_ANTI = ("SEMI", "ANTI")


@dataclass(frozen=True, slots=True)
class Condition:
    """A conjunct over one table: `node` has only columns of that table, without qualifiers."""

    node: Node
    text: str


@dataclass(frozen=True, slots=True)
class Conditions:
    """The conjuncts that the rows of a table must meet, and the texts of the conjuncts left out."""

    taken: tuple[Condition, ...] = ()
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class QueryTree:
    """The syntax tree of a query, which nobody changes, and facts that its tables need.

    - `identifiers`: all names in the tree, folded.
    - `words`: all words of the text. The tree lacks names that sqlglot parses as a function or a
      unit (`current_user`).
    - `relations`: names of tables, parts of these, and aliases.
    - `stars`: all stars that mean columns.
    - `pivoted`: the SELECTs that turn rows into columns.
    - `names_at_run_time`: a string may name a column (Spark's IDENTIFIER clause).
    """

    root: Node
    identifiers: frozenset[str]
    words: frozenset[str]
    relations: tuple[str, ...]
    stars: tuple[Node, ...]
    pivoted: tuple[Node, ...]
    names_at_run_time: bool

    @classmethod
    def of(cls, root: Node, text: str) -> Self:
        """Collect the facts about a parsed query."""
        words = frozenset(_folded(word) for word in _WORDS.findall(text))
        identifiers, relations, at_run_time = set(), [], False
        stars, pivoted = [], []
        for node in root.walk():
            if isinstance(node, exp.Table | exp.Subquery) and node.args.get("pivots"):
                pivoted.append(node.find_ancestor(exp.Select))
            match node:
                case exp.Identifier():
                    identifiers.add(_folded(str(node.name)))
                case exp.Table():
                    relations += [str(part.name) for part in node.parts]
                case exp.TableAlias():
                    relations.append(str(node.name))
                case exp.Star():
                    stars.append(node)
                case exp.Anonymous():
                    at_run_time |= str(node.this).upper() == "IDENTIFIER"
                case _:
                    continue
        names = frozenset(identifiers), words, tuple(relations)
        return cls(root, *names, tuple(stars), tuple(pivoted), at_run_time)

    def names(self, column: str) -> bool:
        """Return whether the name of a column occurs in the query as a name."""
        return _folded(column) in self.identifiers

    def takes_every_column(self, select: Node) -> bool:
        """Return whether a SELECT may return columns of its tables that the text does not name."""
        return self.uses_every_name(select) or any(
            isinstance(star.parent, exp.Column | exp.Dot)  # `x.*`, wherever it is
            or (not isinstance(star.parent, exp.Count) and star.find_ancestor(exp.Select) is select)
            for star in self.stars
        )

    def uses_every_name(self, select: Node) -> bool:
        """Return whether the result of a SELECT depends on columns that it does not name."""
        joins = select.args.get("joins") or []
        return any(join.args.get("method") for join in joins) or self.is_pivoted(select)

    def is_pivoted(self, select: Node) -> bool:
        """Return whether a SELECT turns rows of one of its tables into columns."""
        return any(other is select for other in self.pivoted)


def needed_columns(
    tree: QueryTree, reference: TableReference, columns: Iterable[str]
) -> tuple[str, ...] | None:
    """Return the top-level columns whose names occur in the query, None for all of them."""
    select = select_of(reference)
    if select is None or tree.names_at_run_time or tree.takes_every_column(select):
        return None
    named = tree.identifiers | tree.words
    return tuple(name for name in columns if _folded(name) in named)


def conditions(
    tree: QueryTree,
    reference: TableReference,
    columns: Collection[str],
    *,
    case_sensitive: bool = False,
) -> Conditions:
    """Return the conjuncts of WHERE and ON that concern this table alone.

    A table on the side of an outer join that is filled with nulls takes only conjuncts of its
    own ON: a row that WHERE drops may prevent that a row of the other side is filled with nulls.
    """
    select = select_of(reference)
    if select is None or reference.node.args.get("sample") or tree.is_pivoted(select):
        return Conditions()
    conjuncts = _own_conjuncts(select, reference)
    return _sorted_out(conjuncts, _scope(tree, select, reference, columns, case_sensitive))


def _own_conjuncts(select: Node, reference: TableReference) -> list[Node]:
    """Return the conjuncts of WHERE and ON that hold for each result row of a table's row."""
    joins = select.args.get("joins") or []
    own_index = next(
        (index for index, join in enumerate(joins) if join.this is reference.node), None
    )
    conjuncts = [
        conjunct
        for join in _decisive(joins, own_index)
        for conjunct in _conjuncts(join.args.get("on"))
    ]
    if not _is_filled(joins, own_index) and not (
        own_index is not None and is_semi(joins[own_index])
    ):
        where = select.args.get("where")
        conjuncts += _conjuncts(where and where.this)
    return conjuncts


def _decisive(joins: list[Node], own_index: int | None) -> Iterator[Node]:
    """Yield the joins whose ON each row of the table must meet to be in the result."""
    own = None if own_index is None else joins[own_index]
    if own is not None and (is_semi(own) or _side(own) in ("", "LEFT")):
        yield own
    if _is_filled(joins, own_index) or (own is not None and is_semi(own)):
        return
    for later in joins[(-1 if own_index is None else own_index) + 1 :]:
        if _kind(later) == "SEMI" or (not _side(later) and _kind(later) != "ANTI"):
            yield later


def _is_filled(joins: list[Node], own_index: int | None) -> bool:
    """Return whether an outer join may fill the table's columns with nulls.

    `own_index` is the number of the table's own join; None for the table behind FROM.
    """
    own = None if own_index is None else joins[own_index]
    if own is not None and not is_semi(own) and _side(own) in ("LEFT", "FULL"):
        return True
    later = joins[(-1 if own_index is None else own_index) + 1 :]
    return any(_side(join) in ("RIGHT", "FULL") for join in later)


@dataclass(frozen=True, slots=True)
class _Scope:
    """How a query can name the columns of a table, so that a name certainly means one of them.

    `others` are names of other relations anywhere in the query: Spark resolves `b.x` as a column
    of b before it looks for a struct b. Columns of USING joins do not belong to one table.
    """

    columns: frozenset[str]
    qualifiers: tuple[tuple[str, ...], ...]
    others: frozenset[str]
    only_qualified: bool
    case_sensitive: bool

    def fold(self, name: str) -> str:
        """Return a name as this session compares it."""
        return name if self.case_sensitive else name.lower()

    def path(self, column: Node) -> tuple[str, ...] | None:
        """Return a column's path inside the table, None if it may belong to another table."""
        parts = [str(part.name) for part in column.parts]
        folded = [self.fold(part) for part in parts]
        for qualifier in self.qualifiers:
            if tuple(folded[: len(qualifier)]) == qualifier and folded[len(qualifier) :]:
                inside = folded[len(qualifier)] in self.columns
                return tuple(parts[len(qualifier) :]) if inside else None
        if self.only_qualified or (len(parts) > 1 and folded[0] in self.others):
            return None
        return tuple(parts) if folded[0] in self.columns else None


def _scope(
    tree: QueryTree, select: Node, reference: TableReference, columns: Iterable[str], case: bool
) -> _Scope:
    def fold(name: str) -> str:
        return name if case else name.lower()

    joins = select.args.get("joins") or []
    merged = any(join.args.get("using") or join.args.get("method") for join in joins)
    if reference.alias is not None:
        qualifiers: tuple[tuple[str, ...], ...] = ((fold(reference.alias),),)
    else:
        parts = tuple(fold(part) for part in reference.parts)
        qualifiers = tuple(parts[start:] for start in range(len(parts)))
    return _Scope(
        frozenset(fold(name) for name in columns),
        qualifiers,
        frozenset(map(fold, tree.relations)),
        merged,
        case,
    )


def _sorted_out(conjuncts: Iterable[Node], scope: _Scope) -> Conditions:
    taken, left_out = [], []
    for conjunct in conjuncts:
        if conjunct.find(exp.Query) is not None:
            left_out.append(conjunct.sql("spark"))
            continue
        mentioned = list(conjunct.find_all(exp.Column))
        own = [column for column in mentioned if scope.path(column) is not None]
        if own and len(own) == len(mentioned):
            taken.append(Condition(_balanced(_unqualified(conjunct, scope)), conjunct.sql("spark")))
    return Conditions(tuple(taken), tuple(left_out))


def _balanced(node: Node) -> Node:
    """Return `a OR b OR c OR ...` as a tree of little depth: Python's recursion is limited."""
    if not isinstance(node, exp.Or):
        return node
    terms = list(node.flatten())
    while len(terms) > 1:
        pairs = zip(terms[::2], terms[1::2], strict=False)
        joined = [exp.Or(this=left, expression=right) for left, right in pairs]
        terms = joined + terms[len(joined) * 2 :]
    return terms[0]


def select_of(reference: TableReference) -> Node | None:
    """Return the SELECT whose FROM or JOIN names the table directly."""
    node = reference.node
    parent, alias = node.parent, node.args.get("alias")
    if not isinstance(parent, exp.From | exp.Join) or node.args.get("joins"):
        return None
    if alias is not None and alias.args.get("columns"):
        return None  # FROM t AS x(b, a): its columns have other names
    return parent.parent if isinstance(parent.parent, exp.Select) else None


def _side(join: Node) -> str:
    return str(join.args.get("side") or "").upper()


def _kind(join: Node) -> str:
    return str(join.args.get("kind") or "").upper()


def is_semi(join: Node) -> bool:
    """Return whether a join returns no columns of its right side."""
    return _kind(join) in _SEMI_ANTI


def _conjuncts(node: Node | None) -> list[Node]:
    if node is None:
        return []
    inner = node.unnest()
    if not isinstance(inner, exp.And):
        return [inner]
    return [conjunct for child in inner.flatten() for conjunct in _conjuncts(child)]


def _folded(name: str) -> str:
    """Return a name so that names that Spark considers equal in any case are the same."""
    return name.upper().lower()


def _unqualified(node: Node, scope: _Scope) -> Node:
    def changed(part: Node) -> Node:
        if not isinstance(part, exp.Column):
            return part
        path = scope.path(part) or ()
        first, *rest = [exp.to_identifier(name, quoted=True) for name in path]
        column: Node = exp.Column(this=first)
        for field in rest:
            column = exp.Dot(this=column, expression=field)
        return column

    return node.copy().transform(changed)
