"""INSERT, DELETE, UPDATE, MERGE and TRUNCATE; queries, conditions and values stay texts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from iceberg_spark.errors import UnsupportedError
from iceberg_spark.expr.dialect import Dialect
from iceberg_spark.spark.session.error_conditions import NO_PARTITION_MANAGEMENT, with_condition
from iceberg_spark.spark.sql.statements.cursor import Cursor, tokens_of
from iceberg_spark.spark.sql.statements.properties import read_properties

Name: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Insert:
    """Rows of a query to insert into a table.

    - `overwrites`: replaces partitions, or the rows of `replace_where`.
    - `partition`: the columns of PARTITION (...) with their values as written, None if the query
      provides the value.
    - `options`: the options of the write.
    - `ctes`: the WITH clause before INSERT, with which `query` begins.
    - `head`: the text before the query, for inserts after FROM.
    """

    table: Name
    query: str
    columns: tuple[str, ...] = ()
    by_name: bool = False
    overwrites: bool = False
    replace_where: str | None = None
    partition: tuple[tuple[str, str | None], ...] = ()
    schema_evolution: bool = False
    options: Mapping[str, str] = field(default_factory=dict)
    ctes: str = field(default="", compare=False)
    head: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class MultiInsert:
    """Several inserts of the rows of one FROM."""

    inserts: tuple[Insert, ...]


@dataclass(frozen=True, slots=True)
class Truncate:
    """A table whose rows are all removed."""

    table: Name


@dataclass(frozen=True, slots=True)
class Delete:
    """Rows to delete; the condition "true" selects all of them."""

    table: Name
    alias: str | None
    condition: str


@dataclass(frozen=True, slots=True)
class Update:
    """Columns of rows to set to values."""

    table: Name
    alias: str | None
    values: tuple[tuple[Name, str], ...]
    condition: str


@dataclass(frozen=True, slots=True)
class WhenClause:
    """A WHEN of a MERGE. `columns` None stands for `*`; `values` are as written."""

    kind: Literal["matched", "not_matched", "by_source"]
    does: Literal["update", "delete", "insert"]
    condition: str | None = None
    columns: tuple[Name, ...] | None = None
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Merge:
    """A MERGE. `source` is a relation as after FROM, with its CTEs.

    `source_name` is the source's full name if it has no alias.
    """

    table: Name
    alias: str | None
    source: str
    source_alias: str
    on: str
    clauses: tuple[WhenClause, ...]
    schema_evolution: bool = False
    source_name: Name | None = None


Change: TypeAlias = Insert | Truncate | Delete | Update | Merge


def read_insert(cursor: Cursor, with_clause: str = "") -> Insert:
    """Read a statement that begins with INSERT, after `with_clause`. Raises InvalidInputError."""
    cursor.needs("INSERT")
    evolves = cursor.takes("WITH", "SCHEMA", "EVOLUTION")
    overwrites = cursor.takes_one_of("INTO", "OVERWRITE") == "OVERWRITE"
    cursor.takes("TABLE")
    table = cursor.name()
    options = _options(cursor)
    partition = partition_values(cursor, literals=True) if cursor.takes("PARTITION") else ()
    if cursor.takes("IF", "NOT", "EXISTS"):
        raise cursor.fault("INSERT OVERWRITE ... IF NOT EXISTS is not supported for Iceberg tables")
    replace_where = None
    if cursor.takes("REPLACE", "WHERE"):
        replace_where, overwrites = cursor.until(*_QUERY_BEGINS), True
    by_name = cursor.takes("BY", "NAME")
    columns: tuple[str, ...] = ()
    if cursor.sees_open() and not _is_query(cursor.fresh().brackets()):
        columns = tuple(item.identifier() for item in cursor.brackets().items())
    if cursor.takes("REPLACE", "WHERE"):
        replace_where, overwrites = cursor.until(*_QUERY_BEGINS), True
    if by_name and columns:
        raise cursor.fault("INSERT takes a list of columns or BY NAME, not both")
    query = cursor.rest()
    if with_clause and _BEGINS_WITH.match(query):  # its own CTEs hide those of the statement
        query = f"SELECT * FROM ({query})"  # noqa: S608 (the user's own text)
    if with_clause:
        query = f"{with_clause} {query}"
    return Insert(
        table,
        query,
        columns,
        by_name,
        overwrites,
        replace_where,
        partition,
        evolves,
        options,
        with_clause,
    )


def read_multi_insert(cursor: Cursor, with_clause: str = "") -> MultiInsert | None:
    """Read `FROM t INSERT INTO u SELECT ... INSERT INTO v SELECT ...`; None for a query.

    `with_clause` preceded it. Raises InvalidInputError.
    """
    start = cursor.position
    cursor.needs("FROM")
    cursor.before(*_INSERTS)
    if cursor.at_end:
        return None
    source = cursor.text[start : cursor.end]
    inserts = []
    for clause in cursor.clauses(*_INSERTS):
        text = clause.fresh().rest()
        insert = read_insert(clause)
        if not _SELECTS.match(insert.query):
            raise clause.fault("INSERT behind FROM takes SELECT")
        query = f"{with_clause} {source} {insert.query}".lstrip()
        inserts.append(replace(insert, query=query, head=text.removesuffix(insert.query)))
    return MultiInsert(tuple(inserts))


def _options(cursor: Cursor) -> dict[str, str]:
    """Read `WITH (...)`, the options of the write; `WITH a AS (...)` begins a query."""
    ahead = cursor.fresh()
    if not (ahead.takes("WITH") and ahead.sees_open()):
        return {}
    cursor.needs("WITH")
    return read_properties(cursor)


def partition_values(
    cursor: Cursor, *, literals: bool = False
) -> tuple[tuple[str, str | None], ...]:
    """Read the brackets after PARTITION: names, and values as written.

    The value of a name without one is None. If the values select a partition to write, they must
    be `literals`, as in Spark. Raises InvalidInputError.
    """
    values = []
    for item in cursor.brackets().items():
        name = item.identifier()
        read = _constant if literals else Cursor.rest
        values.append((name, read(item) if item.takes("=") else None))
        item.done()
    return tuple(values)


def _constant(item: Cursor) -> str:
    """Read a literal as Spark's grammar defines it there; `2024-01-01` would be 2022 otherwise.

    Raises InvalidInputError for an expression.
    """
    ahead = item.fresh()
    value = item.rest()
    if _PLAIN.fullmatch(value):
        return value
    if not ahead.sees_string():
        ahead.word()  # DATE '2024-01-01'
    is_text = ahead.sees_string()
    while ahead.sees_string():
        ahead.word()
    if not (is_text and ahead.at_end):
        raise item.fault(f"PARTITION takes a literal, not {value}; write a text in quotes")
    return value


def read_truncate(cursor: Cursor) -> Truncate:
    """Read a statement that begins with TRUNCATE. Raises InvalidInputError."""
    cursor.needs("TRUNCATE", "TABLE")
    table = cursor.name()
    if cursor.sees("PARTITION"):
        error = UnsupportedError("TRUNCATE TABLE ... PARTITION: use DELETE FROM ... WHERE")
        raise with_condition(error, NO_PARTITION_MANAGEMENT)
    cursor.done()
    return Truncate(table)


def read_delete(cursor: Cursor, with_clause: str = "") -> Delete:
    """Read a statement that begins with DELETE, after `with_clause`. Raises InvalidInputError."""
    cursor.needs("DELETE", "FROM")
    table = cursor.name()
    alias = _alias(cursor, "WHERE")
    condition = cursor.rest() if cursor.takes("WHERE") else "true"
    cursor.done()
    return Delete(table, alias, with_ctes(condition, with_clause, cursor.dialect))


def read_update(cursor: Cursor, with_clause: str = "") -> Update:
    """Read a statement that begins with UPDATE, after `with_clause`. Raises InvalidInputError."""
    cursor.needs("UPDATE")
    table = cursor.name()
    alias = _alias(cursor, "SET")
    cursor.needs("SET")
    values = _assignments(cursor, ("WHERE",))
    condition = cursor.rest() if cursor.takes("WHERE") else "true"
    cursor.done()
    if with_clause:
        assignments = [
            (name, with_ctes(text, with_clause, cursor.dialect)) for name, text in values
        ]
        values, condition = tuple(assignments), with_ctes(condition, with_clause, cursor.dialect)
    return Update(table, alias, values, condition)


def read_merge(cursor: Cursor, with_clause: str = "") -> Merge:
    """Read a statement that begins with MERGE. Raises InvalidInputError."""
    cursor.needs("MERGE")
    evolves = cursor.takes("WITH", "SCHEMA", "EVOLUTION")
    cursor.needs("INTO")
    table = cursor.name()
    alias = _alias(cursor, "USING")
    cursor.needs("USING")
    start = cursor.position
    name: Name | None = None
    if cursor.sees_open():
        cursor.brackets()
    else:
        name = cursor.name()
        if cursor.sees_open():  # a table-valued function
            cursor.brackets()
    source = cursor.text[start : cursor.end]
    source_alias = _alias(cursor, "ON")
    source_name = None if source_alias is not None else name
    if source_alias is None:
        source_alias = _NAMELESS if name is None else name[-1]
    cursor.needs("ON")
    on = cursor.until(("WHEN",))
    clauses = []
    while not cursor.at_end:
        clauses.append(_when(cursor))
    if not clauses:
        raise cursor.error("WHEN [NOT] MATCHED ... THEN is needed")
    if with_clause:
        source = f"({with_clause} SELECT * FROM {source})"  # noqa: S608 (the user's own text)
        on = with_ctes(on, with_clause, cursor.dialect)
        clauses = [_clause_with_ctes(clause, with_clause, cursor.dialect) for clause in clauses]
    return Merge(table, alias, source, source_alias, on, tuple(clauses), evolves, source_name)


def _clause_with_ctes(clause: WhenClause, with_clause: str, dialect: Dialect) -> WhenClause:
    condition = clause.condition and with_ctes(clause.condition, with_clause, dialect)
    values = tuple(with_ctes(text, with_clause, dialect) for text in clause.values)
    return replace(clause, condition=condition, values=values)


_PLAIN = re.compile(
    r"NULL|TRUE|FALSE|\?|:\w+|X\s*'[0-9A-F]*'"
    r"|-?\s*(\d+\.?\d*|\.\d+)(E[+-]?\d+)?(L|S|Y|F|D|BD)?",
    re.IGNORECASE,
)
_INSERTS = (("INSERT", "INTO"), ("INSERT", "OVERWRITE"), ("INSERT", "WITH"))
_SELECTS = re.compile(r"(SELECT|MAP|REDUCE)\b", re.IGNORECASE)
_QUERY_BEGINS = (("SELECT",), ("WITH",), ("VALUES",), ("TABLE",), ("FROM",))
_BEGINS_WITH = re.compile(r"WITH\b", re.IGNORECASE)
_NAMELESS = "__iceberg_spark_source"
"""The alias of a query without one that is the source of a merge."""
_WHEN_ENDS = (("WHEN",),)


def _is_query(cursor: Cursor) -> bool:
    return cursor.sees_open() or any(cursor.sees(*words) for words in _QUERY_BEGINS)


def _alias(cursor: Cursor, follows: str) -> str | None:
    if cursor.takes("AS"):
        return cursor.identifier()
    return None if cursor.at_end or cursor.sees(follows) else cursor.identifier()


def _assignments(cursor: Cursor, *stops: tuple[str, ...]) -> tuple[tuple[Name, str], ...]:
    assignments = []
    while True:
        name = cursor.name()
        cursor.needs("=")
        assignments.append((name, cursor.until((",",), *stops)))
        if not cursor.takes(","):
            return tuple(assignments)


def _when(cursor: Cursor) -> WhenClause:
    cursor.needs("WHEN")
    negated = cursor.takes("NOT")
    cursor.needs("MATCHED")
    kind: Literal["matched", "not_matched", "by_source"] = "matched"
    if negated:
        kind = "by_source" if cursor.takes("BY", "SOURCE") else "not_matched"
        cursor.takes("BY", "TARGET")
    condition = cursor.until(("THEN",)) if cursor.takes("AND") else None
    cursor.needs("THEN")
    if kind == "not_matched":
        return _insert_clause(cursor, condition)
    if cursor.takes("DELETE"):
        return WhenClause(kind, "delete", condition)
    cursor.needs("UPDATE", "SET")
    if cursor.takes("*"):
        return WhenClause(kind, "update", condition)
    values = _assignments(cursor, *_WHEN_ENDS)
    names = tuple(name for name, _ in values)
    return WhenClause(kind, "update", condition, names, tuple(text for _, text in values))


def _insert_clause(cursor: Cursor, condition: str | None) -> WhenClause:
    cursor.needs("INSERT")
    if cursor.takes("*"):
        return WhenClause("not_matched", "insert", condition)
    inner = cursor.brackets()
    names = inner.names()
    inner.done()
    cursor.needs("VALUES")
    values = tuple(item.needed() for item in cursor.brackets().items())
    if len(values) != len(names):
        raise cursor.fault(f"INSERT has {len(names)} columns and {len(values)} values")
    return WhenClause("not_matched", "insert", condition, names, values)


_QUERIES = ("SELECT", "FROM", "VALUES", "TABLE")


def with_ctes(text: str, with_clause: str, dialect: Dialect) -> str:
    """Return an expression whose outermost subqueries begin with a WITH clause.

    Spark gets the condition of a command without its statement, so it would not know the CTEs. A
    subquery's own CTEs follow. Raises InvalidInputError.
    """
    if not with_clause:
        return text
    pieces, position = [], 0
    tokens = tokens_of(text, dialect)
    for index, token in enumerate(tokens):
        cursor = Cursor(text, tokens[index:], dialect)
        if token.start < position or not cursor.sees_open():
            continue
        inner = cursor.brackets()
        start = inner.position
        if any(inner.sees(word) for word in _QUERIES):
            pieces += [text[position:start], f"{with_clause} ", text[start : cursor.end]]
            position = cursor.end
        elif inner.takes("WITH"):
            head = f"{_recursive(with_clause) if inner.takes('RECURSIVE') else with_clause}, "
            pieces += [text[position:start], head, text[inner.position : cursor.end]]
            position = cursor.end
    return "".join([*pieces, text[position:]])


def _recursive(with_clause: str) -> str:
    is_so = with_clause.split()[1].upper() == "RECURSIVE"
    return with_clause if is_so else f"WITH RECURSIVE {with_clause[len('WITH') :].lstrip()}"
