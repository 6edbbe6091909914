"""Metadata columns of a query's tables: available by name, but not in a star, as in Java.

A DataFrame has no hidden columns. So a table is read with the metadata columns that the query
names, and each star that would include them gets an `EXCEPT`. `table._file` always belongs to the
table. A plain name belongs to something else in three cases:

- the table, or another one in the same SELECT, has a column of that name;
- the query defines an alias of that name;
- the SELECT has joins, and other SELECTs use the name: a join may bring that column along.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from iceberg_spark.errors import InvalidInputError
from iceberg_spark.expr.dialect import Dialect
from iceberg_spark.expr.grammar import grammar, tokenize
from iceberg_spark.spark.sql.pushdown import QueryTree, is_semi, select_of
from iceberg_spark.spark.sql.qualifiers import Edit
from iceberg_spark.spark.sql.references import TableReference, parse_query, table_references
from iceberg_spark.spec.quoted_name import quote
from iceberg_spark.spec.reserved import LINEAGE_NAMES, METADATA_COLUMN_NAMES

Node: TypeAlias = Any  # the name of sqlglot's root class differs between versions
HIDDEN = tuple(name for name in METADATA_COLUMN_NAMES if name != "_deleted")
"""Those that change no rows: a scan that shows `_deleted` returns deleted rows too."""
_BEFORE_A_STAR = ("SELECT", "DISTINCT", "ALL", ",", "(", ".")
_STAR = "iceberg_spark_star_"


@dataclass(frozen=True, slots=True)
class Hidden:
    """A table of a query and its metadata columns that the query names.

    `name` is the table's name in Spark's text if that is neither the alias nor its own name.
    """

    reference: TableReference
    columns: tuple[str, ...]
    name: str | None = None

    @property
    def texts(self) -> tuple[str, ...]:
        """The columns as the EXCEPT of a star names them."""
        name = quote(self.name or self.reference.alias or self.reference.parts[-1])
        return tuple(f"{name}.{column}" for column in self.columns)


def hidden_columns(
    tree: QueryTree,
    reference: TableReference,
    columns: Collection[str],
    *,
    has_lineage: bool,
    case_sensitive: bool,
    other_columns: Callable[[], Collection[str]] = frozenset,
) -> tuple[str, ...]:
    """Return the metadata columns of a table that a query names.

    `columns` are its own. `other_columns` returns the columns of the other tables that the same
    SELECT reads.
    """

    def fold(name: str) -> str:
        return name if case_sensitive else name.lower()

    candidates = (
        HIDDEN if has_lineage else [column for column in HIDDEN if column not in LINEAGE_NAMES]
    )
    own = set(map(fold, columns))
    names = [
        column for column in candidates if column in tree.identifiers and fold(column) not in own
    ]
    select = select_of(reference) if names else None
    if select is None or tree.uses_every_name(select):
        return ()
    use = _Use(tree.root, select, _qualifiers(reference), other_columns)
    return tuple(name for name in names if use.is_named(name))


@dataclass(frozen=True, slots=True)
class _Use:
    """How a query uses names that may be metadata columns of a table that `select` reads."""

    root: Node
    select: Node
    qualifiers: tuple[tuple[str, ...], ...]
    other_columns: Callable[[], Collection[str]]

    def is_named(self, name: str) -> bool:
        plain = elsewhere = False
        for column in self.root.find_all(exp.Column):
            path = [_folded(part) for part in column.parts]
            if self._is_qualified(path, name) and _is_below(column, self.select):
                return True
            if path[0] == name:
                here = column.find_ancestor(exp.Select) is self.select
                plain, elsewhere = plain or here, elsewhere or not here
        if not plain or self._is_given(name):
            return False
        is_joined = self.select.args.get("joins") or self.select.args.get("laterals")
        return not is_joined or not (elsewhere or name in self.other_columns())

    def _is_qualified(self, path: list[str], name: str) -> bool:
        return any(
            tuple(path[: len(qualifier)]) == qualifier
            and path[len(qualifier) : len(qualifier) + 1] == [name]
            for qualifier in self.qualifiers
        )

    def _is_given(self, name: str) -> bool:
        """Return whether an alias defines the name; `_file AS _file` is the column itself."""
        for alias in self.root.find_all(exp.Alias, exp.Aliases, exp.TableAlias):
            match alias:
                case exp.Alias(this=exp.Column() as column) if column.name == alias.alias:
                    continue
                case exp.Alias():
                    aliases = [alias.args["alias"]]
                case exp.Aliases():
                    aliases = list(alias.expressions)
                case _:
                    aliases = list(alias.args.get("columns") or ())
            if any(_folded(part) == name for part in aliases):
                return True
        return False


def _folded(part: Node) -> str:
    return str(part.name).lower()


def _qualifiers(reference: TableReference) -> tuple[tuple[str, ...], ...]:
    if reference.alias is not None:
        return ((reference.alias.lower(),),)
    parts = tuple(part.lower() for part in reference.parts)
    return tuple(parts[start:] for start in range(len(parts)))


def _is_below(node: Node, select: Node) -> bool:
    above = node.find_ancestor(exp.Select)
    while above is not None and above is not select:
        above = above.find_ancestor(exp.Select)
    return above is select


def stars_without(
    text: str, references: Sequence[TableReference], hidden: Sequence[Hidden], dialect: Dialect
) -> tuple[Edit, ...]:
    """Return edits that exclude metadata columns of tables from the stars of a query.

    `references` are all tables that the query names, in the order of the text. Raises
    InvalidInputError if the tables of a star cannot be determined.
    """
    if not hidden or "*" not in text:
        return ()
    stars = list(_stars(text, dialect))
    marked = _marked(text, stars)
    tree = parse_query(marked, dialect)
    again = table_references(tree, marked, dialect)
    columns = {node.name: node for node in tree.find_all(exp.Column) if node.name.startswith(_STAR)}
    if len(again) != len(references) or len(columns) != len(stars) or tree.find(exp.Star):
        raise InvalidInputError(
            "A star (*) together with metadata columns such as _file is not supported in this "
            "query: name the columns instead"
        )
    numbers = {reference.start: n for n, reference in enumerate(references)}
    tables = [(again[numbers[table.reference.start]], table.texts) for table in hidden]
    edits = []
    for number, star in enumerate(stars):
        left_out = list(_taken(columns[f"{_STAR}{number}"], tables))
        if left_out:
            names = ", ".join(left_out)
            position, has_except = star.inside or star.end, star.inside is not None
            edits.append(
                Edit(position, position, f"{names}, " if has_except else f" EXCEPT ({names})")
            )
    return tuple(edits)


def _taken(star: Node, tables: Iterable[tuple[TableReference, tuple[str, ...]]]) -> Iterator[str]:
    """Yield the metadata columns that a star would include."""
    path = tuple(str(part.name).lower() for part in star.parts)[:-1]
    if isinstance(star.parent, exp.Count):  # Spark refuses count(t.*)
        return
    for reference, columns in tables:
        select = select_of(reference)
        if path:
            takes = path in _qualifiers(reference) and _is_below(star, select)
        else:
            takes = star.find_ancestor(exp.Select) is select and not is_semi(reference.node.parent)
        if takes:
            yield from columns


@dataclass(frozen=True, slots=True)
class _Star:
    """A star in a text. `inside` is where the names in its EXCEPT begin, `clause_end` its end."""

    start: int
    end: int
    inside: int | None = None
    clause_end: int = 0


def _stars(text: str, dialect: Dialect) -> Iterator[_Star]:
    """Yield the stars that mean columns, not products."""
    tokens = tokenize(text, grammar(dialect))
    for index, token in enumerate(tokens[1:], start=1):
        before = tokens[index - 1]
        if token.token_type is not TokenType.STAR or before.token_type is TokenType.IDENTIFIER:
            continue
        if before.text.upper() in _BEFORE_A_STAR or before.token_type is TokenType.HINT:
            yield _star(token, tokens[index + 1 :])


def _star(token: Token, after: Sequence[Token]) -> _Star:
    start, end = token.start, token.end + 1
    if len(after) < 2 or after[0].text.upper() != "EXCEPT" or after[1].text != "(":
        return _Star(start, end)
    if len(after) > 2 and after[2].text.upper() in ("SELECT", "WITH", "FROM", "VALUES", "("):
        return _Star(start, end)  # the other side of a set operation
    close = next((other for other in after if other.token_type is TokenType.R_PAREN), after[-1])
    return _Star(start, end, after[1].end + 1, close.end + 1)


def _marked(text: str, stars: Sequence[_Star]) -> str:
    """Return a text with a generated column for each star."""
    pieces, position = [], 0
    for number, star in enumerate(stars):
        pieces += [text[position : star.start], f"{_STAR}{number}"]
        position = star.clause_end or star.end
    return "".join([*pieces, text[position:]])
