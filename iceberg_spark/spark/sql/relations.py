"""The relations that the SELECTs of a query read, and those visible at a position of its text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from sqlglot import exp

from iceberg_spark.spark.sql.qualifiers import Name
from iceberg_spark.spark.sql.references import Node

Columns: TypeAlias = Mapping[str, bool]
"""For each folded column name, whether the column is a struct."""


def _unknown() -> Columns | None:
    return None


@dataclass(frozen=True, slots=True, eq=False)
class Relation:
    """A relation that a SELECT reads, by its short name; names are folded.

    `full_name` is the full name of the table if it may qualify columns too. `look` returns the
    columns, None if they cannot be determined.
    """

    short_name: str
    full_name: Name = ()
    is_iceberg: bool = False
    look: Callable[[], Columns | None] = _unknown

    def has(self, column: str) -> bool | None:
        """Return whether the relation has such a column, None if that cannot be determined."""
        columns = self.look()
        return None if columns is None else column in columns

    def has_struct(self, column: str) -> bool:
        """Return whether the relation certainly has such a struct."""
        return bool((self.look() or {}).get(column))


Level: TypeAlias = tuple[Relation, ...]
"""The relations of one SELECT."""


@dataclass(frozen=True, slots=True, eq=False)
class Levels:
    """The relations of each SELECT in a tree, and the columns of the tree by their positions."""

    by_select: Mapping[int, Level]
    columns: Mapping[int, Node]

    @classmethod
    def of(
        cls,
        root: Node,
        tables: Mapping[int, Relation],
        outer: Sequence[Relation],
        fold: Callable[[str], str],
    ) -> Levels:
        """Return the levels of a tree. `tables` are the relations of its named tables, by node.

        `outer` are the outer relations of the outermost SELECT.
        """
        levels: dict[int, list[Relation]] = {id(root): list(outer)}
        for select, relation in _relations(root, tables, fold):
            levels.setdefault(id(select), []).append(relation)
        starts = (
            (column.parts[0].meta.get("start"), column) for column in root.find_all(exp.Column)
        )
        return cls(
            {select: tuple(level) for select, level in levels.items()},
            {start: column for start, column in starts if start is not None},
        )

    @property
    def every(self) -> Level:
        """All relations of all SELECTs."""
        return tuple(relation for level in self.by_select.values() for relation in level)

    def visible_from(self, start: int) -> list[Level] | None:
        """Return the relations that a column at `start` may belong to, innermost first.

        None if the tree has no column there.
        """
        node = self.columns.get(start)
        if node is None:
            return None
        levels = []
        while (node := node.find_ancestor(exp.Select)) is not None:
            levels.append(self.by_select.get(id(node), ()))
        return levels


def _relations(
    root: Node, tables: Mapping[int, Relation], fold: Callable[[str], str]
) -> Iterator[tuple[Node, Relation]]:
    for table in root.find_all(exp.Table):
        table_relation = tables.get(id(table))
        name = table.alias or (table.name if isinstance(table.this, exp.Identifier) else "")
        if table_relation is not None or name:
            relation = table_relation or Relation(fold(str(name)))
            yield table.find_ancestor(exp.Select), relation
    for alias in root.find_all(exp.TableAlias):
        if alias.name and not isinstance(alias.parent, exp.Table | exp.CTE):
            yield alias.parent.find_ancestor(exp.Select), Relation(fold(str(alias.name)))
