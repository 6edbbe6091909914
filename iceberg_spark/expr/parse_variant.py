"""Conditions with fields of variants in SQL texts: `variant_get`, `try_variant_get`, casts."""

from __future__ import annotations

from typing import Any, TypeAlias

from sqlglot import exp

from iceberg_spark.errors import InvalidExpressionError
from iceberg_spark.expr.dialect import SPARK, Dialect
from iceberg_spark.expr.parse import check_functions, predicate_of
from iceberg_spark.expr.parse_condition import of_table, parts_of
from iceberg_spark.expr.parse_literal import with_texts
from iceberg_spark.expr.variant_filter import (
    NamedVariant,
    VariantPredicate,
    keys_of_extraction,
    type_of_extraction,
)

Node: TypeAlias = Any  # sqlglot's root class has changed its name between versions

_GETTERS = ("variant_get", "try_variant_get")
_VARIANT = "variant"


def variant_conjuncts(
    sql: str, alias: str | None = None, dialect: Dialect = SPARK
) -> tuple[VariantPredicate, ...]:
    """Return the conjuncts that are predicates on fields of variants; see `conjuncts`."""
    predicates = []
    for part in parts_of(sql, dialect):
        try:
            own = part if alias is None else of_table(part, alias)
            parsed = variant_predicate(own, sql, dialect)
        except (InvalidExpressionError, RecursionError):
            continue
        if parsed is not None:
            predicates.append(parsed)
    return tuple(predicates)


def variant_predicate(node: Node, sql: str, dialect: Dialect) -> VariantPredicate | None:
    """Return a part of a parsed text as a predicate, None if it names no field of a variant.

    Raises InvalidExpressionError for anything that is not a predicate.
    """
    if not any(_is_getter(getter) for getter in node.find_all(exp.Anonymous)):
        return None
    check_functions(sql, dialect)
    fields: dict[str, NamedVariant] = {}

    def named(getter: Node) -> Node:
        field = _field(getter)
        if field is None:
            return getter
        name = f"\0{len(fields)}"
        fields[name] = field
        return exp.Column(this=exp.to_identifier(name, quoted=True))

    tree = with_texts(node.copy(), sql, dialect).transform(named)
    return VariantPredicate(predicate_of(tree), fields) if fields else None


def _is_getter(node: Node) -> bool:
    return isinstance(node, exp.Anonymous) and str(node.this).lower() in _GETTERS


def _field(node: Node) -> NamedVariant | None:
    """Return the field of a variant that an expression is, None for any other."""
    if isinstance(node, exp.Cast):
        if type(node) not in (exp.Cast, exp.TryCast) or node.args.get("format"):
            return None
        inner = node.this.unnest()
        kind = node.to.sql("spark") if _is_getter(inner) else ""
        return _extracted(inner, kind) if kind and _type_name(inner) == _VARIANT else None
    return _extracted(node, _type_name(node)) if _is_getter(node) else None


def _type_name(getter: Node) -> str:
    """Return the type that a call names, by default a variant; "" if it is not a literal."""
    arguments = getter.expressions[2:]
    if not arguments:
        return _VARIANT
    is_text = (
        len(arguments) == 1 and isinstance(arguments[0], exp.Literal) and arguments[0].is_string
    )
    return str(arguments[0].this).strip().lower() if is_text else ""


def _extracted(getter: Node, type_name: str) -> NamedVariant | None:
    column, *arguments = getter.expressions
    kind = type_of_extraction(type_name)
    if kind is None or not arguments or not isinstance(arguments[0], exp.Literal):
        return None
    keys = keys_of_extraction(str(arguments[0].this)) if arguments[0].is_string else None
    name = _name(column)
    return None if keys is None or name is None else NamedVariant(name, keys, kind)


def _name(node: Node) -> str | None:
    match node:
        case exp.Paren():
            return _name(node.this)
        case exp.Column(this=exp.Identifier()):
            return ".".join(part.name for part in node.parts)
        case exp.Dot(expression=exp.Identifier()):
            inner = _name(node.this)
            return None if inner is None else f"{inner}.{node.expression.name}"
        case _:
            return None
