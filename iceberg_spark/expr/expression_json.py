"""Predicates as the JSON that catalogs and clients exchange (Iceberg's expressions specification).

The specification's predicates are true or false for null and NaN; those of `nodes` are null for
null, and NaN is their largest value. Both directions translate that, so `a != 5` is sent as
`a != 5 AND a IS NOT NULL`. Sent predicates have the older form with `term` and `value`, which every
server reads. Both forms are parsed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any, TypeAlias, assert_never

from iceberg_spark.errors import (
    CorruptFileError,
    InvalidInputError,
    InvalidSchemaError,
    UnsupportedError,
)
from iceberg_spark.expr.logic import conjunction, disjunction, is_null, membership, not_null
from iceberg_spark.expr.nodes import (
    ALWAYS_FALSE,
    And,
    Bound,
    BoundReference,
    Comparison,
    Constant,
    In,
    IsNaN,
    IsNull,
    Leaf,
    Op,
    Or,
    StartsWith,
    Term,
)
from iceberg_spark.spec.json_values import value_from_json, value_to_json
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.types import (
    PRIMITIVES,
    BinaryType,
    DateType,
    DoubleType,
    FixedType,
    FloatType,
    ListType,
    MapType,
    TimestampNanoType,
    TimestampType,
    TimestamptzNanoType,
    TimestamptzType,
)

NameOf: TypeAlias = Callable[[Term], str | None]
"""The name of a column for the receiver, None if the receiver does not know the column."""

OPS: Mapping[Op, str] = {
    Op.LT: "lt",
    Op.LE: "lt-eq",
    Op.GT: "gt",
    Op.GE: "gt-eq",
    Op.EQ: "eq",
    Op.NE: "not-eq",
}
_OF_TEXT = {text: op for op, text in OPS.items()}
_NEGATED = {
    "lt": "gt-eq", "lt-eq": "gt", "gt": "lt-eq", "gt-eq": "lt", "eq": "not-eq", "not-eq": "eq",
    "in": "not-in", "not-in": "in", "starts-with": "not-starts-with",
    "not-starts-with": "starts-with", "is-null": "not-null", "not-null": "is-null",
    "is-nan": "not-nan", "not-nan": "is-nan",
}  # fmt: skip
_WITHOUT_LITERAL = (BinaryType, FixedType)
"""Types whose literals Java's server cannot read."""
_WITH_YEAR = (
    DateType, TimestampType, TimestamptzType, TimestampNanoType, TimestamptzNanoType,
)  # fmt: skip
_FLOATS = (FloatType, DoubleType)


class _Inexpressible(Exception):
    """The part of a predicate has no JSON form, or the receiver lacks its column."""


def to_json(node: Bound, name_of: NameOf) -> Any:
    """Return a predicate that is true wherever `node` is.

    A part that has no JSON form is sent as `true`, so the receiver's result has to be filtered
    again.

    Example:
        >>> ref = BoundReference(1, LongType(), required=True, name="id")
        >>> to_json(Comparison(Op.EQ, ref, 5), lambda term: term.name)
        {'type': 'eq', 'term': 'id', 'value': 5}
    """
    match node:
        case Constant(value=value):
            return value
        case And(children=children):
            return _and(to_json(child, name_of) for child in children)
        case Or(children=children):
            return _or(to_json(child, name_of) for child in children)
        case _:
            try:
                return _leaf(node, name_of)
            except _Inexpressible:
                return True


def binary(kind: str, parts: Iterable[Any]) -> Any:
    """Return AND or OR of predicates, which has two sides in JSON."""
    return reduce(lambda left, right: {"type": kind, "left": left, "right": right}, parts)


def _and(parts: Iterable[Any]) -> Any:
    conditions = [part for part in parts if part is not True]
    return binary("and", conditions) if conditions else True


def _or(parts: Iterable[Any]) -> Any:
    several = list(parts)
    return True if any(part is True for part in several) else binary("or", several)


def _leaf(leaf: Leaf, name_of: NameOf) -> Any:
    name = name_of(leaf.term)
    if name is None or not isinstance(_type(leaf.term), PRIMITIVES):
        raise _Inexpressible
    match leaf:
        case IsNull(negated=negated):
            return _test("not-null" if negated else "is-null", name)
        case IsNaN(negated=negated):
            return _and(_not_null("not-nan", name)) if negated else _test("is-nan", name)
        case Comparison():
            return _comparison(leaf, name)
        case In(values=values, negated=negated):
            literals = [_literal(leaf.term, value) for value in _with_both_zeros(values)]
            node = {"type": "not-in" if negated else "in", "term": name, "values": literals}
            return _and((node, _test("not-null", name))) if negated else node
        case StartsWith(prefix=prefix, negated=negated):
            kind = "not-starts-with" if negated else "starts-with"
            node = {"type": kind, "term": name, "value": prefix}
            return _and((node, _test("not-null", name))) if negated else node
        case _:
            assert_never(leaf)


def _test(kind: str, name: str) -> dict[str, Any]:
    return {"type": kind, "term": name}


def _not_null(kind: str, name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    return _test(kind, name), _test("not-null", name)


def _comparison(leaf: Comparison, name: str) -> Any:
    """Return a comparison; of floats, one that servers with any order of zeros and NaN can prune.

    Java's bounds order -0.0 before 0.0 and leave out NaN, which is the largest value here.
    """
    op, value = leaf.op, leaf.value

    def compared(with_op: Op, with_value: Any) -> Any:
        literal = _literal(leaf.term, with_value)
        return {"type": OPS[with_op], "term": name, "value": literal}

    if not isinstance(_type(leaf.term), _FLOATS):
        node = compared(op, value)
        return _and((node, _test("not-null", name))) if op is Op.NE else node
    low, high = (-0.0, 0.0) if value == 0 else (value, value)
    match op:
        case Op.EQ:
            pair = (compared(Op.GE, low), compared(Op.LE, high))
            return compared(Op.EQ, value) if value else _and(pair)
        case Op.NE:
            return _and((compared(Op.NE, value), _test("not-null", name)))
        case Op.LT:
            return compared(Op.LT, low)
        case Op.LE:
            return compared(Op.LE, high)
        case Op.GT:
            return _or((compared(Op.GT, high), _test("is-nan", name)))
        case Op.GE:
            return _or((compared(Op.GE, low), _test("is-nan", name)))
        case _:
            assert_never(op)


def _with_both_zeros(values: tuple[Any, ...]) -> tuple[Any, ...]:
    zeros = any(isinstance(value, float) and value == 0 for value in values)
    return (*(value for value in values if value != 0), -0.0, 0.0) if zeros else values


def _literal(term: Term, value: Any) -> Any:
    kind = _type(term)
    if isinstance(kind, _WITHOUT_LITERAL):
        raise _Inexpressible
    if isinstance(value, float) and not math.isfinite(value):
        raise _Inexpressible
    try:
        text = value_to_json(kind, value)
    except (InvalidInputError, ValueError, OverflowError) as error:
        raise _Inexpressible from error
    if isinstance(text, str) and isinstance(kind, _WITH_YEAR) and not text[:4].isdecimal():
        raise _Inexpressible  # a year below 0 or above 9999, which servers write differently
    return text


def _type(term: Term) -> Any:
    return term.field_type if isinstance(term, BoundReference) else None


def from_json(node: Any, schema: Schema) -> Bound:
    """Return the predicate of a server's JSON over a schema, with the specification's meaning.

    Raises:
        UnsupportedError: a function, or a column that the schema does not have.
        CorruptFileError: the JSON is not a predicate.
    """
    try:
        return _Parser(schema).parsed(node, negated=False)
    except (KeyError, TypeError, AttributeError, RecursionError, InvalidInputError) as error:
        raise CorruptFileError(f"The catalog's filter is not a predicate: {error!r}") from error


@dataclass(frozen=True, slots=True)
class _Parser:
    """Parses predicates; NOT is pushed to the leaves, whose negation is true for null."""

    schema: Schema

    def parsed(self, node: Any, *, negated: bool) -> Bound:
        if isinstance(node, bool):
            return Constant(node != negated)
        kind = str(node["type"]).lower().replace("_", "-")
        match kind:
            case "literal" | "true" | "false":
                value = node["value"] if kind == "literal" else kind == "true"
                return Constant(bool(value) != negated)
            case "not":
                return self.parsed(node["child"], negated=not negated)
            case "and" | "or":
                join = conjunction if (kind == "and") != negated else disjunction
                sides = (node["left"], node["right"])
                return join([self.parsed(side, negated=negated) for side in sides])
            case _ if kind in _NEGATED:
                return self._leaf(_NEGATED[kind] if negated else kind, node, kind)
            case _:
                raise UnsupportedError(f"The catalog's filter has a '{kind}', which is not known")

    def _leaf(self, kind: str, node: Mapping[str, Any], written: str) -> Bound:
        operand = next((node[key] for key in ("term", "child", "left") if key in node), None)
        ref = self._reference(operand)
        match kind:
            case "is-null":
                return is_null(ref)
            case "not-null":
                return not_null(ref)
            case "is-nan":
                return IsNaN(ref)
            case "not-nan":
                return disjunction([IsNaN(ref, negated=True), is_null(ref)])
            case "in" | "not-in":
                values = [self._value(ref, value) for value in _values(node["values"])]
                members = membership(ref, values, negated=kind == "not-in")
                return disjunction([members, is_null(ref)]) if kind == "not-in" else members
            case "starts-with" | "not-starts-with":
                prefix = str(self._value(ref, _value(node)))
                if kind == "starts-with":
                    return StartsWith(ref, prefix) if prefix else not_null(ref)
                test = StartsWith(ref, prefix, negated=True) if prefix else ALWAYS_FALSE
                return disjunction([test, is_null(ref)])
            case _:
                value = self._value(ref, _value(node))
                return _compared(_OF_TEXT[kind], ref, value, is_negation=kind != written)

    def _reference(self, operand: Any) -> BoundReference:
        node = {"name": operand} if isinstance(operand, str) else dict(operand)
        if str(node.get("type", "reference")).lower() != "reference":
            raise UnsupportedError(f"The catalog's filter has a function: {node.get('type')}")
        name = node.get("name", node.get("term"))
        field_id = node["id"] if "id" in node else self._find(str(name))
        if not isinstance(field_id, int) or self.schema.get(field_id) is None:
            raise UnsupportedError(
                f"The catalog's filter is about column {name or field_id}, which the table's "
                "schema does not have"
            )
        path = [self.schema.find_field(step) for step in self.schema.path_ids(field_id)]
        if any(isinstance(step.field_type, ListType | MapType) for step in path[:-1]):
            raise UnsupportedError(f"The catalog's filter is about {name}, inside a list or map")
        required = all(step.required for step in path)
        shown = self.schema.find_column_name(field_id) or str(field_id)
        return BoundReference(field_id, path[-1].field_type, required, shown)

    def _find(self, name: str) -> int | None:
        try:
            return self.schema.find_id(name, as_spelled=True)
        except InvalidSchemaError as error:
            raise UnsupportedError(f"The catalog's filter is about a column: {error}") from error

    def _value(self, ref: BoundReference, node: Any) -> Any:
        if isinstance(node, Mapping):
            if str(node.get("type")).lower() != "literal":
                raise UnsupportedError("The catalog's filter compares two columns or functions")
            node = node["value"]
        if node is None:
            raise InvalidInputError("The catalog's filter compares a column with null")
        value = value_from_json(ref.field_type, node)
        return value + 0.0 if isinstance(value, float) else value  # -0.0 + 0.0 is 0.0


def _value(node: Mapping[str, Any]) -> Any:
    return node["value"] if "value" in node else node["right"]


def _values(node: Any) -> Any:
    return node["values"] if isinstance(node, Mapping) else node


def _compared(op: Op, ref: BoundReference, value: Any, *, is_negation: bool) -> Bound:
    """Return a comparison; the negation of one is true for null and, if it is ordered, for NaN.

    `a < 5` and `a > 5` are false for NaN, so `NOT a < 5` (here `a >= 5`) is true for it.
    """
    comparison = Comparison(op, ref, value)
    is_float = isinstance(ref.field_type, _FLOATS)
    if op is Op.NE or (is_negation and op is not Op.EQ):
        nan = [IsNaN(ref)] if is_float and op in (Op.LT, Op.LE) else []
        return disjunction([comparison, *nan, is_null(ref)])
    if is_float and op in (Op.GT, Op.GE):
        return conjunction([comparison, IsNaN(ref, negated=True)])
    return comparison
