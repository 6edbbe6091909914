"""A SQL predicate in Spark's dialect as an unbound tree; sqlglot reads the SQL."""

from __future__ import annotations

import re
from decimal import Decimal
from functools import lru_cache
from typing import Any, TypeAlias

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from iceberg_spark.errors import InvalidExpressionError
from iceberg_spark.expr.dialect import SPARK, Dialect
from iceberg_spark.expr.evaluate import holds
from iceberg_spark.expr.grammar import grammar
from iceberg_spark.expr.literals import LooseText, Pattern, is_exact, keep_digits, plain
from iceberg_spark.expr.nodes import (
    And,
    Comparison,
    Constant,
    In,
    IsNaN,
    IsNull,
    Not,
    Op,
    Or,
    Reference,
    StartsWith,
    Unbound,
)
from iceberg_spark.expr.parse_literal import is_literal, literal_value, with_texts
from iceberg_spark.spec.values import compare

Node: TypeAlias = Any  # sqlglot's root class has changed its name between versions

ALLOWED = (
    "allowed are comparisons, IN, BETWEEN, LIKE 'x%', IS NULL, isnan(), AND, OR and NOT over "
    "columns and literals"
)


_LONGEST_KEPT = 20_000
"""Characters: the calls in a longer text are not cached."""
_CALLED = re.compile(
    r"\b(isnan|startswith|isnull|isnotnull|like|variant_get|try_variant_get|to_date|date"
    r"|(?:to_)?timestamp(?:_ltz|_ntz)?|int|bigint|smallint|tinyint|float|double|string|boolean"
    r"|binary|decimal)\b[`\"\s]*(?:\(|/\*|--)",
    re.IGNORECASE,
)
"""Functions that are read here, as casts some, where a text may call them: `udf.register` replaces
them all."""
_VARIABLE = "${"

_OPS: dict[type, Op] = {
    exp.LT: Op.LT,
    exp.LTE: Op.LE,
    exp.GT: Op.GT,
    exp.GTE: Op.GE,
    exp.EQ: Op.EQ,
    exp.NEQ: Op.NE,
}
_FLIPPED = {
    Op.LT: Op.GT,
    Op.LE: Op.GE,
    Op.GT: Op.LT,
    Op.GE: Op.LE,
    Op.EQ: Op.EQ,
    Op.NE: Op.NE,
}
# The arguments that are read here. A node with any other one set means something else
# (sqlglot keeps NOT LIKE as `negate`, BETWEEN SYMMETRIC as `symmetric`), so it is refused.
_DEFAULT_ARGS = frozenset({"this", "expression"})
_ARGS: dict[type, frozenset[str]] = {
    exp.In: frozenset({"this", "expressions"}),
    exp.Between: frozenset({"this", "low", "high"}),
    exp.Like: _DEFAULT_ARGS | {"negate"},
    exp.Anonymous: frozenset({"this", "expressions"}),
    exp.Column: frozenset({"this", "table", "db", "catalog"}),
}
_NULL_TESTS = {"isnull": False, "isnotnull": True}


def parse_sql(sql: str, dialect: Dialect = SPARK) -> Node:
    """Return the syntax tree of one expression; see `with_texts` for the texts in it.

    Raises InvalidExpressionError for text that can't be read, or not without the session.
    """
    if dialect.changed:
        raise InvalidExpressionError(
            f"'{sql}' can't be parsed while {dialect.changed[0]} is set, which may change its "
            "meaning: unset it, or build the predicate as in col('a') > 5"
        )
    if _VARIABLE in sql:
        raise InvalidExpressionError(
            f"'{sql}': Spark substitutes a variable for ${{; in a text write $\\{{"
        )
    try:
        trees = sqlglot.parse(sql, dialect=grammar(dialect))
    except SqlglotError as cause:
        reason = str(cause).splitlines()[0].rstrip(".")
        raise InvalidExpressionError(f"Predicate '{sql}' can't be parsed: {reason}") from cause
    if len(trees) != 1 or trees[0] is None:
        raise InvalidExpressionError(
            f"Predicate '{sql}' can't be parsed: it must be one expression"
        )
    return trees[0]


def parse_predicate(sql: str, dialect: Dialect = SPARK) -> Unbound:
    """Parse a WHERE condition. Raises InvalidExpressionError naming the unsupported part.

    Supported are comparisons of a column with a literal (either side), `<=>`, IN, BETWEEN, LIKE
    with a trailing %, startswith(), IS [NOT] NULL, TRUE or FALSE, isnan(), boolean columns,
    AND, OR, NOT, true and false.
    """
    try:
        return predicate(parse_sql(sql, dialect), sql, dialect)
    except RecursionError as cause:
        raise InvalidExpressionError(
            "The predicate is nested too deeply: use IN for long lists of values"
        ) from cause


def predicate(node: Node, sql: str, dialect: Dialect) -> Unbound:
    """Return a part of a parsed text as a predicate. Raises InvalidExpressionError."""
    check_functions(sql, dialect)
    return predicate_of(with_texts(node, sql, dialect))


def check_functions(sql: str, dialect: Dialect) -> None:
    """Raise InvalidExpressionError for a text that may call a replaced function."""
    if dialect.is_replaced is None:
        return
    for name in _called(sql):
        if dialect.is_replaced(name):
            raise InvalidExpressionError(
                f"'{sql}' can't be read: {name}() is a function of this session and not Spark's; "
                f"register it under another name, or build the predicate as in col('a') > 5"
            )


def calls_functions(sql: str) -> bool:
    """Return whether a text may call a function that a session can replace."""
    return bool(_called(sql))


def _called(sql: str) -> tuple[str, ...]:
    """Return the names of possible calls; cached, since a query's conditions share their text."""
    return _kept_calls(sql) if len(sql) <= _LONGEST_KEPT else _calls(sql)


def _calls(sql: str) -> tuple[str, ...]:
    return tuple(sorted({match[1].lower() for match in _CALLED.finditer(sql)}))


_kept_calls = lru_cache(maxsize=16)(_calls)


def _refuse(node: Node) -> InvalidExpressionError:
    return InvalidExpressionError(f"'{node.sql('spark')}' can't be used in a predicate: {ALLOWED}")


def _check_args(node: Node) -> None:
    names = {name for name, value in node.args.items() if value not in (None, False, [])}
    if not names <= _ARGS.get(type(node), _DEFAULT_ARGS):
        raise _refuse(node)


def predicate_of(node: Node) -> Unbound:
    """Return a parsed expression as a predicate. Raises InvalidExpressionError."""
    _check_args(node)
    match node:
        case exp.Paren():
            return predicate_of(node.this)
        case exp.And():
            return And(tuple(predicate_of(child) for child in node.flatten()))
        case exp.Or():
            return Or(tuple(predicate_of(child) for child in node.flatten()))
        case exp.Not():
            return Not(predicate_of(node.this))
        case exp.Boolean():
            return Constant(bool(node.this))
        case exp.Column() | exp.Dot():
            return Comparison(Op.EQ, _column(node), True)
        case _:
            return _test(node)


def _test(node: Node) -> Unbound:
    match node:
        case exp.NullSafeEQ():
            return _null_safe_equal(node)
        case exp.NullSafeNEQ():
            return Not(_null_safe_equal(node))
        case exp.Is():
            return _is(node)
        case exp.In():
            return _in(node)
        case exp.Between():
            low = _compare(Op.GE, node.this, node.args["low"], node)
            return And((low, _compare(Op.LE, node.this, node.args["high"], node)))
        case exp.Escape(this=exp.Like() as like):
            return _like(like, _text(node.expression), node)
        case exp.Like():
            return _like(node, "\\", node)
        case _ if type(node) in _OPS:
            return _compare(_OPS[type(node)], node.this, node.expression, node)
        case _:
            return _function(node)


def _function(node: Node) -> Unbound:
    match node:
        case exp.IsNan():
            return IsNaN(_column(node.this))
        case exp.StartsWith():
            prefix = _text(node.expression)
            if prefix is None:
                raise _refuse(node)
            return StartsWith(_column(node.this), prefix)
        case exp.Anonymous() if str(node.this).lower() in _NULL_TESTS and node.expressions:
            return IsNull(_column(node.expressions[0]), _NULL_TESTS[str(node.this).lower()])
        case _:
            raise _refuse(node)


def _column(node: Node) -> Reference:
    _check_args(node)
    match node:
        case exp.Paren():
            return _column(node.this)
        case exp.Column(this=exp.Identifier()):
            return Reference(".".join(part.name for part in node.parts))
        case exp.Dot(expression=exp.Identifier()):
            return Reference(f"{_column(node.this).name}.{node.expression.name}")
        case _:
            raise _refuse(node)


def _compare(op: Op, left: Node, right: Node, node: Node) -> Unbound:
    if is_literal(left) and is_literal(right):
        return _compare_literals(op, literal_value(left), literal_value(right), node)
    if is_literal(right):
        return Comparison(op, _column(left), literal_value(right))
    if is_literal(left):
        return Comparison(_FLIPPED[op], _column(right), literal_value(left))
    raise _refuse(node)


def _compare_literals(op: Op, left: Any, right: Any, node: Node) -> Unbound:
    if is_exact(left) and is_exact(right) and not keep_digits(left, right):
        raise _refuse(node)
    left, right = plain(left), plain(right)
    match left, right:
        case (bool(), _) | (_, bool()):
            raise _refuse(node)
        case (str(), str()) | (int() | Decimal(), int() | Decimal()):
            return Constant(holds(op, compare(left, right)))
        case (int() | Decimal() | float(), int() | Decimal() | float()):
            return Constant(holds(op, compare(float(left), float(right))))
        case LooseText(text=text), LooseText(text=other):
            return Constant(holds(op, compare(text, other)))
        case _:
            raise _refuse(node)


def _null_safe_equal(node: exp.NullSafeEQ | exp.NullSafeNEQ) -> Unbound:
    """`a <=> 5` is false for a null: AND IS NOT NULL makes its NOT true there."""
    left, right = node.this, node.expression
    if is_literal(left):
        left, right = right, left
    if not is_literal(right) or is_literal(left):
        raise _refuse(node)
    column, value = _column(left), literal_value(right)
    if value is None:
        return IsNull(column)
    return And((Comparison(Op.EQ, column, value), IsNull(column, negated=True)))


def _is(node: exp.Is) -> Unbound:
    column = _column(node.this)
    match node.expression:
        case exp.Null():
            return IsNull(column)
        case exp.Boolean(this=value):
            return And((Comparison(Op.EQ, column, bool(value)), IsNull(column, negated=True)))
        case _:
            raise _refuse(node)


def _in(node: exp.In) -> Unbound:
    values = node.expressions
    if not values or not all(is_literal(value) for value in values):
        raise _refuse(node)
    return In(_column(node.this), tuple(literal_value(value) for value in values))


def _text(node: Node) -> str | None:
    """Return the value of a literal that is a text, None for anything else."""
    value = literal_value(node) if is_literal(node) else None
    if isinstance(value, LooseText):
        return value.text
    return value if isinstance(value, str) else None


def _like(node: exp.Like, escape: str | None, root: Node) -> Unbound:
    _check_args(node)
    pattern = _text(node.expression)
    if pattern is None or escape is None or len(escape) != 1:
        raise _refuse(root)
    prefix, is_open = _prefix(pattern, escape, root)
    column = _column(node.this)
    test = StartsWith(column, prefix) if is_open else Comparison(Op.EQ, column, Pattern(prefix))
    return Not(test) if node.args.get("negate") else test


def _prefix(pattern: str, escape: str, node: Node) -> tuple[str, bool]:
    """Return the text before the wildcards of a LIKE pattern, and whether there are any."""
    text: list[str] = []
    rest = pattern
    while rest and (rest[0] == escape or rest[0] not in ("%", "_")):
        if rest[0] == escape:
            if rest[1:2] not in ("%", "_", escape):
                raise InvalidExpressionError(
                    f"'{node.sql('spark')}': {escape} may only stand before %, _ or itself"
                )
            rest = rest[1:]
        text.append(rest[0])
        rest = rest[1:]
    if rest.strip("%"):
        raise InvalidExpressionError(
            f"'{node.sql('spark')}': LIKE takes a prefix pattern only, like 'x%'; {ALLOWED}"
        )
    return "".join(text), bool(rest)
