"""Short names of Iceberg tables in Spark's text, and columns that are qualified with full names.

In Spark's text a table is a DataFrame under a name of one part. `cat.db.t.id` becomes `t.id` if
that is unambiguous. Otherwise the table is named `cat.db.t`, in backticks, and its columns are
qualified with that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from iceberg_spark.errors import InvalidInputError
from iceberg_spark.expr.dialect import Dialect
from iceberg_spark.spark.sql.parsed_query import ParsedQuery
from iceberg_spark.spark.sql.qualifiers import Edit, Name, Path, paths
from iceberg_spark.spark.sql.references import TableReference
from iceberg_spark.spark.sql.relations import Level, Levels, Relation


@dataclass(frozen=True, slots=True)
class Around:
    """The outer relations of an expression: the target and the source of a command.

    `renamed` are the full names of the relations that have their full name as short name.
    """

    relations: tuple[Relation, ...] = ()
    renamed: frozenset[Name] = frozenset()

    def concerns(self, text: str, dialect: Dialect, fold: Callable[[str], str]) -> bool:
        """Return whether names in an expression may belong to these relations."""
        full_names = [relation.full_name for relation in self.relations if relation.full_name]
        if not full_names or "." not in text:
            return False
        own = {full_name[-1] for full_name in self.renamed}
        every = [tuple(map(fold, path.parts)) for path in paths(text, dialect)]
        return any(name[0] in own or _size(full_names, name) for name in every)

    def name(self, index: int, own: str) -> str:
        """Return the short name of a relation; `own` is its usual one."""
        full_name = self.relations[index].full_name
        return other_name(full_name) if full_name in self.renamed else own


@dataclass(frozen=True, slots=True)
class OwnNames:
    """Edits of a text, and unusual short names of tables, by the positions of the tables."""

    edits: tuple[Edit, ...] = ()
    names: Mapping[int, str] = field(default_factory=dict)


def other_name(full_name: Name) -> str:
    """Return the name of a table for which the last part of its full name is ambiguous."""
    return ".".join(full_name)


@dataclass(frozen=True)
class Naming:
    """How a text names tables and columns. `relation_of` returns the relation of a named table.

    `full_names` are the folded full names of Iceberg tables that may qualify columns. Without any
    there is nothing to do.
    """

    parsed: ParsedQuery
    relation_of: Callable[[TableReference], Relation]
    around: Around
    fold: Callable[[str], str]
    full_names: Sequence[Name]

    def own_names(self) -> OwnNames:
        """Return the edits. Raises InvalidInputError if the table of a column is ambiguous."""
        if not self._paths or not (self._qualified_paths or self.around.renamed):
            return OwnNames()
        renamed = self.around.renamed | self.needed()
        edits = []
        for path in self._paths:
            size = _size(self.full_names, path.parts)
            if size:
                edits += self._full_name_edits(path, size, renamed)
            elif any(path.parts[0] == full_name[-1] for full_name in renamed):
                edits += self._short_name_edits(path, renamed)
        named = self.parsed.references if renamed else ()
        tables = ((reference.start, self.relation_of(reference)) for reference in named)
        names = {
            start: other_name(table.full_name)
            for start, table in tables
            if table.full_name in renamed
        }
        return OwnNames(tuple(edits), names)

    def needed(self) -> frozenset[Name]:
        """Return the full names of tables whose short names are ambiguous."""
        full_names = set()
        for path, size in self._qualified_paths:
            table = self._table(path, size)
            if table is not None and table.is_ours and self._is_unclear(path, table):
                full_names.add(table.full_name)
        return frozenset(full_names)

    @cached_property
    def _paths(self) -> list[Path]:
        if not (self.full_names or self.around.renamed) or "." not in self.parsed.text:
            return []
        inside = [(reference.start, reference.name_end) for reference in self.parsed.references]
        return [
            Path(tuple(map(self.fold, path.parts)), path.starts, path.ends)
            for path in paths(self.parsed.text, self.parsed.dialect)
            if not any(start <= path.starts[0] < end for start, end in inside)
        ]

    @cached_property
    def _qualified_paths(self) -> list[tuple[Path, int]]:
        sized = ((path, _size(self.full_names, path.parts)) for path in self._paths)
        return [(path, size) for path, size in sized if size]

    @cached_property
    def _levels(self) -> Levels:
        parsed = self.parsed
        tables = {
            id(reference.node): self.relation_of(reference) for reference in parsed.references
        }
        return Levels.of(parsed.tree.root, tables, self.around.relations, self.fold)

    def _seen(self, path: Path) -> list[Level]:
        """Return the relations that a path may mean, innermost first; all at once if unclear."""
        seen = None if self.parsed.is_rewritten else self._levels.seen_from(path.starts[0])
        return [self._levels.every] if seen is None else seen

    def _table(self, path: Path, size: int) -> Relation | None:
        """Return the table whose name qualifies a column, None if none that is visible does."""
        name = path.parts[:size]
        for level in self._seen(path):
            tables = {
                relation.full_name: relation
                for relation in level
                if relation.full_name and relation.full_name[-size:] == name
            }
            if len(tables) > 1:
                raise self._unsure(path, tables.values())
            for relation in tables.values():
                return relation
        return None

    def _is_unclear(self, path: Path, table: Relation) -> bool:
        """Return whether the table's short name could mean something else where the path is."""
        innermost = self._seen(path)[0]
        if all(relation.full_name != table.full_name for relation in innermost):
            return True  # a struct of an inner relation may have that name
        return any(
            relation.own == table.own and relation.full_name != table.full_name
            for relation in innermost
        )

    def _full_name_edits(self, path: Path, size: int, renamed: frozenset[Name]) -> list[Edit]:
        table = self._table(path, size)
        if table is None:  # it may belong to the first member of a union
            own = path.parts[size - 1]
            is_clear = sum(relation.own == own for relation in self._levels.every) < 2
            return [path.cut_before(size)] if is_clear and not renamed else []
        if not table.is_ours:
            return []
        for level in self._seen(path):
            if any(relation.full_name == table.full_name for relation in level):
                break
            if any(_may_be_of(relation, path) for relation in level):
                raise self._unsure(path, (table,))
        if table.full_name in renamed:
            return [path.behind(size, other_name(table.full_name))]
        return [path.cut_before(size)]

    def _short_name_edits(self, path: Path, renamed: frozenset[Name]) -> list[Edit]:
        """Return edits that qualify `t.id` with the new name of its table, if that is renamed."""
        table = self._meant(path, renamed)
        return [] if table is None else [path.behind(1, other_name(table.full_name))]

    def _meant(self, path: Path, renamed: frozenset[Name]) -> Relation | None:
        """Return the renamed table that a path refers to, None for anything that keeps its name."""
        own, column = path.parts[:2]
        may_be_inner = False
        seen = self._seen(path)
        for depth, level in enumerate(seen):
            holders = [
                relation for relation in level if relation.own == own and _has(relation, column)
            ]
            news = [relation for relation in holders if relation.full_name in renamed]
            if news and (may_be_inner or len({relation.full_name for relation in holders}) > 1):
                raise self._unsure(path, news)
            if news:
                return news[0]
            if holders:
                self._check_found(path, holders, seen[depth + 1 :], renamed)
                return None
            if any(relation.has(own) for relation in level):
                return None
            may_be_inner |= any(relation.has(own) is None for relation in level)
        return None

    def _check_found(
        self,
        path: Path,
        holders: Sequence[Relation],
        beyond: Sequence[Level],
        renamed: frozenset[Name],
    ) -> None:
        """Refuse a path that may miss a column here and match another relation further out."""
        own, column = path.parts[:2]
        named = [relation for level in beyond for relation in level if relation.own == own]
        news = [relation for relation in named if relation.full_name in renamed]
        is_known = any(relation.has(column) or column == "*" for relation in holders)
        if news and len(news) < len(named) and not is_known:
            raise self._unsure(path, news)

    def _unsure(self, path: Path, tables: Iterable[Relation]) -> InvalidInputError:
        written = self.parsed.text[path.starts[0] : path.ends[-1]]
        names = ", ".join(dict.fromkeys(other_name(table.full_name) for table in tables))
        return InvalidInputError(
            f"{written}: it can't be told for certain whose column that is; give {names} an alias "
            "(AS x) and its columns that alias (x.column)"
        )


def _has(relation: Relation, column: str) -> bool:
    return column == "*" or relation.has(column) is not False


def _size(full_names: Sequence[Name], path: Name) -> int:
    """Return how many names of a path are an Iceberg table's, 0 if they are of another kind."""
    sizes = range(len(path) - 1, 1, -1)
    return next(
        (n for n in sizes if any(full_name[-n:] == path[:n] for full_name in full_names)), 0
    )


def _may_be_of(relation: Relation, path: Path) -> bool:
    """Return whether a path may refer to a relation if its first name is not a catalog's."""
    first, second = path.parts[:2]
    return relation.has_struct(first) or (relation.own == first and _has(relation, second))
