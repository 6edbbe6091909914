"""The predicates within a condition that Spark evaluates, for pruning and conflict checks.

A condition is any SQL expression. Its conjuncts that are predicates of one table are returned; the
others are ignored.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from iceberg_spark.errors import InvalidExpressionError
from iceberg_spark.expr.dialect import SPARK, Dialect
from iceberg_spark.expr.grammar import Spark4
from iceberg_spark.expr.nodes import Unbound
from iceberg_spark.expr.parse import Node, parse_sql, predicate

_PLAIN = (
    exp.Column, exp.Identifier, exp.Dot, exp.Paren, exp.Add, exp.Sub, exp.Mul, exp.Upper, exp.Lower,
)  # fmt: skip


def conjuncts(
    sql: str, alias: str | None = None, dialect: Dialect = SPARK
) -> tuple[tuple[Unbound, ...], bool]:
    """Return the conjuncts that are predicates, and whether those are all conjuncts.

    With an `alias`, columns are written `alias.column`; conjuncts with other columns are left out.
    """
    predicates: list[Unbound] = []
    parts = parts_of(sql, dialect)
    for part in parts:
        try:
            predicates.append(
                predicate(part if alias is None else of_table(part, alias), sql, dialect)
            )
        except (InvalidExpressionError, RecursionError):
            continue
    return tuple(predicates), bool(parts) and len(predicates) == len(parts)


def equalities(sql: str, alias: str, other: str, dialect: Dialect = SPARK) -> tuple[Equality, ...]:
    """Return the conjuncts that equate a column of `alias` with an expression over `other`.

    The expression consists of columns and arithmetic, whose text means the same to Spark as to
    this parser.
    """
    pairs = []
    for part in parts_of(sql, dialect):
        if not isinstance(part, exp.EQ | exp.NullSafeEQ):
            continue
        for column_side, other_side in ((part.this, part.expression), (part.expression, part.this)):
            columns = list(other_side.find_all(exp.Column))
            if not columns or any(_path(column)[0] != other for column in columns):
                continue
            if not all(_is_plain(inner) for inner in other_side.walk()):
                continue
            try:
                column = ".".join(_path(of_table(column_side, alias)))
            except InvalidExpressionError:
                continue
            safe = isinstance(part, exp.NullSafeEQ)
            pairs.append(Equality(column, other_side.sql(dialect=Spark4), safe))
    return tuple(pairs)


def _is_plain(node: Node) -> bool:
    return isinstance(node, _PLAIN) or (isinstance(node, exp.Literal) and not node.is_string)


def parts_of(sql: str, dialect: Dialect) -> list[Node]:
    """Return the conjuncts of a condition, none of one that can't be parsed."""
    try:
        return _flat(parse_sql(sql, dialect))
    except (InvalidExpressionError, RecursionError):
        return []


def _flat(node: Node) -> list[Node]:
    match node:
        case exp.Paren():
            return _flat(node.this)
        case exp.And():
            return [*_flat(node.this), *_flat(node.expression)]
        case _:
            return [node]


def _path(column: Node) -> list[str]:
    if not isinstance(column, exp.Column):
        raise InvalidExpressionError(f"'{column.sql('spark')}' is no column")
    return [part.name for part in column.parts]


def of_table(node: Node, alias: str) -> Node:
    """Return a copy without the table in its columns. Raises if one has another table."""

    def without(part: Node) -> Node:
        if not isinstance(part, exp.Column):
            return part
        first, *rest = _path(part)
        if first != alias or not rest or len(rest) > 3:
            raise InvalidExpressionError(f"'{part.sql('spark')}' is not a column of {alias}")
        names = [exp.to_identifier(name, quoted=True) for name in reversed(rest)]
        return exp.Column(**dict(zip(("this", "table", "db"), names, strict=False)))

    return node.copy().transform(without)


@dataclass(frozen=True, slots=True)
class Equality:
    """A conjunct `column = other`: a column of one table, and SQL over the other table only."""

    column: str
    other: str
    null_safe: bool
