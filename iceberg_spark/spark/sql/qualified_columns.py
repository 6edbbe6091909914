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
class OuterScope:
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
        short_names = {full_name[-1] for full_name in self.renamed}
        every = [tuple(map(fold, path.parts)) for path in paths(text, dialect)]
        return any(name[0] in short_names or _size(full_names, name) for name in every)

    def name(self, index: int, short_name: str) -> str:
        """Return the short name of a relation; `short_name` is its usual one."""
        full_name = self.relations[index].full_name
        return full_name_alias(full_name) if full_name in self.renamed else short_name


@dataclass(frozen=True, slots=True)
class QualifiedColumns:
    """Edits of a text, and the aliases of tables with ambiguous names, by the tables' positions."""

    edits: tuple[Edit, ...] = ()
    names: Mapping[int, str] = field(default_factory=dict)


def full_name_alias(full_name: Name) -> str:
    """Return the name of a table for which the last part of its full name is ambiguous."""
    return ".".join(full_name)


@dataclass(frozen=True)
class QualifierResolver:
    """Resolves the tables that qualify columns. `relation_of` returns the relation of a table.

    `full_names` are the folded full names of Iceberg tables that may qualify columns. Without any
    there is nothing to do.
    """

    parsed: ParsedQuery
    relation_of: Callable[[TableReference], Relation]
    outer: OuterScope
    fold: Callable[[str], str]
    full_names: Sequence[Name]

    def resolve(self) -> QualifiedColumns:
        """Return the edits. Raises InvalidInputError if the table of a column is ambiguous."""
        if not self._paths or not (self._qualified_paths or self.outer.renamed):
            return QualifiedColumns()
        renamed = self.outer.renamed | self.ambiguous_names()
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
            start: full_name_alias(table.full_name)
            for start, table in tables
            if table.full_name in renamed
        }
        return QualifiedColumns(tuple(edits), names)

    def ambiguous_names(self) -> frozenset[Name]:
        """Return the full names of tables whose short names are ambiguous."""
        full_names = set()
        for path, size in self._qualified_paths:
            table = self._table(path, size)
            if table is not None and table.is_iceberg and self._is_ambiguous(path, table):
                full_names.add(table.full_name)
        return frozenset(full_names)

    @cached_property
    def _paths(self) -> list[Path]:
        if not (self.full_names or self.outer.renamed) or "." not in self.parsed.text:
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
        return Levels.of(parsed.tree.root, tables, self.outer.relations, self.fold)

    def _visible_levels(self, path: Path) -> list[Level]:
        """Return the relations that a path may refer to, innermost first; one level if unclear."""
        levels = None if self.parsed.is_rewritten else self._levels.visible_from(path.starts[0])
        return [self._levels.every] if levels is None else levels

    def _table(self, path: Path, size: int) -> Relation | None:
        """Return the table whose name qualifies a column, None if none that is visible does."""
        name = path.parts[:size]
        for level in self._visible_levels(path):
            tables = {
                relation.full_name: relation
                for relation in level
                if relation.full_name and relation.full_name[-size:] == name
            }
            if len(tables) > 1:
                raise self._ambiguity_error(path, tables.values())
            for relation in tables.values():
                return relation
        return None

    def _is_ambiguous(self, path: Path, table: Relation) -> bool:
        """Return whether the table's short name could mean something else where the path is."""
        innermost = self._visible_levels(path)[0]
        if all(relation.full_name != table.full_name for relation in innermost):
            return True  # a struct of an inner relation may have that name
        return any(
            relation.short_name == table.short_name and relation.full_name != table.full_name
            for relation in innermost
        )

    def _full_name_edits(self, path: Path, size: int, renamed: frozenset[Name]) -> list[Edit]:
        table = self._table(path, size)
        if table is None:  # it may belong to the first member of a union
            short_name = path.parts[size - 1]
            is_clear = sum(relation.short_name == short_name for relation in self._levels.every) < 2
            return [path.cut_before(size)] if is_clear and not renamed else []
        if not table.is_iceberg:
            return []
        for level in self._visible_levels(path):
            if any(relation.full_name == table.full_name for relation in level):
                break
            if any(_may_refer_to(relation, path) for relation in level):
                raise self._ambiguity_error(path, (table,))
        if table.full_name in renamed:
            return [path.behind(size, full_name_alias(table.full_name))]
        return [path.cut_before(size)]

    def _short_name_edits(self, path: Path, renamed: frozenset[Name]) -> list[Edit]:
        """Return edits that qualify `t.id` with the new name of its table, if that is renamed."""
        table = self._renamed_table(path, renamed)
        return [] if table is None else [path.behind(1, full_name_alias(table.full_name))]

    def _renamed_table(self, path: Path, renamed: frozenset[Name]) -> Relation | None:
        """Return the renamed table that a path refers to, None for anything that keeps its name."""
        short_name, column = path.parts[:2]
        may_be_inner = False
        levels = self._visible_levels(path)
        for depth, level in enumerate(levels):
            holders = [
                relation
                for relation in level
                if relation.short_name == short_name and _has(relation, column)
            ]
            renamed_holders = [relation for relation in holders if relation.full_name in renamed]
            if renamed_holders and (
                may_be_inner or len({relation.full_name for relation in holders}) > 1
            ):
                raise self._ambiguity_error(path, renamed_holders)
            if renamed_holders:
                return renamed_holders[0]
            if holders:
                self._check_outer_match(path, holders, levels[depth + 1 :], renamed)
                return None
            if any(relation.has(short_name) for relation in level):
                return None
            may_be_inner |= any(relation.has(short_name) is None for relation in level)
        return None

    def _check_outer_match(
        self,
        path: Path,
        holders: Sequence[Relation],
        outer_levels: Sequence[Level],
        renamed: frozenset[Name],
    ) -> None:
        """Raise InvalidInputError for a path that may refer to a relation further out instead."""
        short_name, column = path.parts[:2]
        named = [
            relation
            for level in outer_levels
            for relation in level
            if relation.short_name == short_name
        ]
        renamed_holders = [relation for relation in named if relation.full_name in renamed]
        is_known = any(relation.has(column) or column == "*" for relation in holders)
        if renamed_holders and len(renamed_holders) < len(named) and not is_known:
            raise self._ambiguity_error(path, renamed_holders)

    def _ambiguity_error(self, path: Path, tables: Iterable[Relation]) -> InvalidInputError:
        written = self.parsed.text[path.starts[0] : path.ends[-1]]
        names = ", ".join(dict.fromkeys(full_name_alias(table.full_name) for table in tables))
        return InvalidInputError(
            f"{written}: this column is ambiguous; give {names} an alias "
            "(AS x) and its columns that alias (x.column)"
        )


def _has(relation: Relation, column: str) -> bool:
    return column == "*" or relation.has(column) is not False


def _size(full_names: Sequence[Name], path: Name) -> int:
    """Return how many names of a path are the name of an Iceberg table, else 0."""
    sizes = range(len(path) - 1, 1, -1)
    return next(
        (n for n in sizes if any(full_name[-n:] == path[:n] for full_name in full_names)), 0
    )


def _may_refer_to(relation: Relation, path: Path) -> bool:
    """Return whether a path may refer to a relation if its first name is not a catalog's."""
    first, second = path.parts[:2]
    return relation.has_struct(first) or (relation.short_name == first and _has(relation, second))
