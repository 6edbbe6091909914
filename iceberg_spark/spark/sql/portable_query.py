"""Whether a query means the same in Spark and in Trino.

Both engines parse far more than they agree on: `7 / 2` is 3.5 in Spark and 3 in Trino, and `upper`
treats other letters. So this is a list of what is known to be equal. Types decide much of it (NaN,
precision of decimals, strings compared with dates), hence each expression is given its type.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from sqlglot import exp

from iceberg_spark.errors import UnsupportedError
from iceberg_spark.spark.sql.portable_types import (
    ExpressionTypes,
    Output,
    Outputs,
    Relation,
    Scope,
    check_carried,
    check_comparable,
    common_type,
    describe_node,
    is_integer,
)
from iceberg_spark.spark.sql.references import Node
from iceberg_spark.spec.schema import Schema

ColumnsOf: TypeAlias = Callable[[tuple[str, ...]], Schema]
"""Returns the columns of the table that a query names."""

_BOTH = frozenset({"this", "expression"})
_THIS = frozenset({"this"})
_LIST = frozenset({"expressions"})
_ARGUMENTS: Mapping[type[Node], frozenset[str]] = {
    exp.Select: frozenset({
        "expressions", "from_", "joins", "where", "group", "having", "order", "limit", "distinct",
        "with_",
    }),
    exp.Union: _BOTH | {"distinct", "with_"},
    exp.Subquery: frozenset({"this", "alias"}),
    exp.From: _THIS,
    exp.Join: frozenset({"this", "on", "side", "kind"}),
    exp.Table: frozenset({"this", "db", "catalog", "alias"}),
    exp.TableAlias: frozenset({"this", "columns"}),
    exp.With: _LIST,
    exp.CTE: frozenset({"this", "alias"}),
    exp.Where: _THIS,
    exp.Group: _LIST,
    exp.Having: _THIS,
    exp.Order: _LIST,
    exp.Ordered: frozenset({"this", "desc", "nulls_first"}),
    exp.Limit: frozenset({"expression"}),
    exp.Distinct: _LIST,
    exp.Alias: frozenset({"this", "alias"}),
    exp.Column: frozenset({"this", "table"}),
    exp.Identifier: frozenset({"this", "quoted"}),
    exp.Star: frozenset(),
    exp.Literal: frozenset({"this", "is_string"}),
    exp.Boolean: _THIS,
    exp.Null: frozenset(),
    exp.Paren: _THIS,
    exp.And: _BOTH,
    exp.Or: _BOTH,
    exp.Not: _THIS,
    exp.EQ: _BOTH,
    exp.NEQ: _BOTH,
    exp.GT: _BOTH,
    exp.GTE: _BOTH,
    exp.LT: _BOTH,
    exp.LTE: _BOTH,
    exp.NullSafeEQ: _BOTH,
    exp.NullSafeNEQ: _BOTH,
    exp.Is: _BOTH,
    exp.In: frozenset({"this", "expressions"}),
    exp.Between: frozenset({"this", "low", "high"}),
    exp.Like: _BOTH,
    exp.Add: _BOTH,
    exp.Sub: _BOTH,
    exp.Mul: _BOTH,
    exp.Mod: _BOTH,
    exp.Neg: _THIS,
    exp.Abs: _THIS,
    exp.Case: frozenset({"this", "ifs", "default"}),
    exp.If: frozenset({"this", "true", "false"}),
    exp.Coalesce: frozenset({"this", "expressions"}),
    exp.Nullif: _BOTH,
    exp.Substring: frozenset({"this", "start", "length"}),
    exp.StartsWith: _BOTH,
    exp.Count: frozenset({"this", "big_int"}),
    exp.Sum: _THIS,
    exp.Avg: _THIS,
    exp.Min: _THIS,
    exp.Max: _THIS,
    exp.Cast: frozenset({"this", "to"}),
    exp.DataType: _THIS,
}  # fmt: skip
"""The nodes of a tree that may be there, with the parts that they may have."""
_Tables: TypeAlias = Mapping[str, Outputs]
"""The CTEs that a query sees, by their names in lower case."""


@dataclass(frozen=True, slots=True)
class PortableQuery:
    """The columns of a query that means the same in both engines, and its tables' nodes."""

    outputs: Outputs
    tables: tuple[Node, ...]


def portable_query(tree: Node, columns_of: ColumnsOf) -> PortableQuery:
    """Return what is known of a query that means the same in Spark and in Trino.

    Raises UnsupportedError with the reason if that is not certain.
    """
    queries = _Queries(columns_of)
    try:
        for node in tree.walk():
            _check_node(node)
        outputs = queries.outputs(tree, {})
    except RecursionError:
        raise UnsupportedError("it is nested too deeply") from None
    return PortableQuery(outputs, tuple(queries.read_tables))


def _check_node(node: Node) -> None:
    allowed = _ARGUMENTS.get(type(node))
    if allowed is None:
        raise UnsupportedError(f"it uses {describe_node(node)}")
    for name, value in node.args.items():
        if value and name not in allowed:
            raise UnsupportedError(f"it uses {describe_node(node)} with {name.strip('_')}")


@dataclass(frozen=True, slots=True)
class _Queries:
    columns_of: ColumnsOf
    read_tables: list[Node] = field(default_factory=list)

    def outputs(self, node: Node, tables: _Tables) -> Outputs:
        """Return the columns of a query that sees these CTEs."""
        if isinstance(node, exp.Subquery):
            return self._aliased(node, self.outputs(node.this, tables))
        tables = self._with_ctes(node, tables)
        if isinstance(node, exp.Union):
            return self._union(node, tables)
        if not isinstance(node, exp.Select):
            raise UnsupportedError(f"it uses {describe_node(node)}")
        return self._select(node, tables)

    def _with_ctes(self, node: Node, tables: _Tables) -> _Tables:
        clause = node.args.get("with_")
        for cte in clause.expressions if clause else ():
            outputs = self._aliased(cte, self.outputs(cte.this, tables))
            tables = {**tables, cte.alias.lower(): outputs}
        return tables

    def _aliased(self, node: Node, outputs: Outputs) -> Outputs:
        """Return columns with the names of `AS t (a, b)`."""
        names = node.alias_column_names
        if not names:
            return outputs
        if len(names) != len(outputs):
            raise UnsupportedError(f"{node.alias} names {len(names)} of {len(outputs)} columns")
        return tuple(Output(name, x.type) for name, x in zip(names, outputs, strict=True))

    def _union(self, node: Node, tables: _Tables) -> Outputs:
        left, right = (self.outputs(x, tables) for x in (node.this, node.expression))
        if len(left) != len(right):
            raise UnsupportedError("a UNION has queries of different numbers of columns")
        merged = tuple(
            Output(a.name, common_type([a.type, b.type])) for a, b in zip(left, right, strict=True)
        )
        if node.args.get("distinct"):
            check_comparable(merged)
        return merged

    def _select(self, node: Node, tables: _Tables) -> Outputs:
        scope = self._relations(node, tables)
        types = ExpressionTypes(scope)
        outputs = tuple(x for item in node.expressions for x in _item(item, scope, types))
        for clause in ("where", "having"):
            if node.args.get(clause):
                types.check_condition(node.args[clause].this)
        _check_having(node)
        _check_group(node, outputs, types)
        _check_order(node, outputs)
        if node.args.get("distinct"):
            if node.args["distinct"].expressions:
                raise UnsupportedError("it uses DISTINCT ON")
            check_comparable(outputs)
        return outputs

    def _relations(self, node: Node, tables: _Tables) -> Scope:
        source = node.args.get("from_")
        if source is None:
            return ()
        relations, has_cross = [self._relation(source.this, tables)], False
        for join in node.args.get("joins") or ():
            relations.append(self._relation(join.this, tables))
            has_cross = has_cross or not join.args.get("on")
            _check_join(join, has_cross=has_cross)
            if join.args.get("on"):
                ExpressionTypes(relations).check_condition(join.args["on"])
        return relations

    def _relation(self, node: Node, tables: _Tables) -> Relation:
        if isinstance(node, exp.Subquery):
            if not node.alias:
                raise UnsupportedError("a subquery has no alias")
            return Relation(node.alias.lower(), self.outputs(node, tables))
        if not isinstance(node, exp.Table) or not isinstance(node.this, exp.Identifier):
            raise UnsupportedError(f"it uses {describe_node(node)} as a table")
        parts = tuple(part.name for part in node.parts)
        outputs = tables.get(parts[0].lower()) if len(parts) == 1 else None
        if outputs is None:
            self.read_tables.append(node)
            outputs = tuple(Output(x.name, x.field_type) for x in self.columns_of(parts).fields)
        return Relation((node.alias or parts[-1]).lower(), self._aliased(node, outputs))


def _check_join(join: Node, *, has_cross: bool) -> None:
    side, kind = join.side.upper(), join.kind.upper()
    if kind not in ("", "INNER", "OUTER", "CROSS") or side not in ("", "LEFT", "RIGHT", "FULL"):
        raise UnsupportedError(f"it uses {side} {kind} JOIN".replace("  ", " "))
    if (kind == "CROSS") != (not join.args.get("on")):
        raise UnsupportedError("a join has no condition")
    if has_cross and side in ("RIGHT", "FULL"):  # a comma binds less than JOIN, CROSS JOIN does not
        raise UnsupportedError(f"it uses {side} JOIN behind a comma or CROSS JOIN")


def _check_having(node: Node) -> None:
    """Refuse an alias that hides a column: Spark and Trino choose differently in HAVING."""
    having = node.args.get("having")
    aliases = {item.alias.lower() for item in node.expressions if isinstance(item, exp.Alias)}
    for column in having.find_all(exp.Column) if having else ():
        if not column.table and column.name.lower() in aliases:
            raise UnsupportedError(f"HAVING uses {column.name}, which is also an alias")


def _check_group(node: Node, outputs: Outputs, types: ExpressionTypes) -> None:
    group = node.args.get("group")
    for item in group.expressions if group else ():
        if isinstance(item, exp.Column):
            check_comparable([Output(item.name, types.of(item))])
            continue
        has_star = any(x.is_star for x in node.expressions)
        position = int(item.name) if is_integer(item) else 0
        if has_star or not 0 < position <= len(outputs):
            raise UnsupportedError("GROUP BY has an expression: group by columns or positions")
        check_comparable([outputs[position - 1]])


def _check_order(node: Node, outputs: Outputs) -> None:
    """Allow `ORDER BY column LIMIT n`: without LIMIT only Spark returns a view's rows in order."""
    order, limit = node.args.get("order"), node.args.get("limit")
    if bool(order) != bool(limit):
        raise UnsupportedError("it uses ORDER BY or LIMIT alone, so rows may differ")
    if limit and not is_integer(limit.expression):
        raise UnsupportedError("LIMIT is not a number")
    for item in order.expressions if order else ():
        column = item.this if isinstance(item, exp.Ordered) else item
        names = [x for x in outputs if x.name and x.name.lower() == column.name.lower()]
        if not isinstance(column, exp.Column) or column.table or len(names) != 1:
            raise UnsupportedError("ORDER BY has something other than the name of a result column")
        check_comparable(names)


def _item(item: Node, scope: Scope, types: ExpressionTypes) -> Outputs:
    """Return the columns of one expression of a SELECT."""
    if isinstance(item, exp.Star) or (isinstance(item, exp.Column) and item.is_star):
        table = item.table.lower() if isinstance(item, exp.Column) else None
        relations = [x for x in scope if table in (None, x.name)]
        if not relations or (table and len(relations) > 1):
            raise UnsupportedError("a * has no table, or several of the same name")
        outputs = tuple(x for relation in relations for x in relation.columns)
        for output in outputs:
            check_carried(output.type)
        return outputs
    kind = types.of(item.this if isinstance(item, exp.Alias) else item)
    if kind is None:
        raise UnsupportedError("a column of the result is NULL without a type")
    return (Output(item.alias_or_name if isinstance(item, exp.Alias | exp.Column) else "", kind),)
