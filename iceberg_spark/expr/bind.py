"""Bind a predicate to a schema: names to field ids, literals to canonical values, NOT to leaves.

The result keeps a row exactly where Spark's WHERE would: comparisons are three-valued, so both
`a < 5` and `NOT a < 5` drop a null `a`; `IS NULL`, `isnan` and constants are two-valued. NaN is
the largest value and equals itself, -0.0 equals 0.0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, assert_never

import numpy as np

from iceberg_spark.errors import InvalidExpressionError, InvalidSchemaError
from iceberg_spark.expr.coerce import Band, Between, Exact, coerce, limits
from iceberg_spark.expr.literals import LooseText, as_compared, is_exact, of_integer, plain
from iceberg_spark.expr.logic import conjunction, disjunction, is_null, membership, not_null
from iceberg_spark.expr.nodes import (
    ALWAYS_FALSE,
    NEGATED,
    And,
    Bound,
    BoundReference,
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
    Term,
    Unbound,
)
from iceberg_spark.spec.nearest import did_you_mean, name_list
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.types import (
    PRIMITIVES,
    DoubleType,
    FloatType,
    GeographyType,
    GeometryType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    StringType,
    UnknownType,
    UUIDType,
)
from iceberg_spark.spec.values import is_nan


def bind(
    schema: Schema,
    unbound: Unbound,
    *,
    case_sensitive: bool = True,
    time_zone: str | None = None,
) -> Bound:
    """Return the bound form of a predicate.

    `time_zone` (an offset or region) is how literals without an offset are read against
    timestamptz columns. Raises InvalidExpressionError naming the column: unknown, ambiguous, in
    a list or map, or compared with a literal that its type can't be compared with.
    """
    try:
        return _Binder(schema, case_sensitive, time_zone).bind(unbound, negated=False)
    except RecursionError as cause:
        raise InvalidExpressionError(
            "The predicate is nested too deeply: use IN for long lists of values"
        ) from cause


@dataclass(frozen=True, slots=True)
class _Binder:
    schema: Schema
    case_sensitive: bool
    time_zone: str | None

    def bind(self, node: Unbound, negated: bool) -> Bound:
        match node:
            case Constant(value=value):
                return Constant(value != negated)
            case Not(child=child):
                return self.bind(child, not negated)
            case And(children=children) | Or(children=children):
                join = conjunction if isinstance(node, And) != negated else disjunction
                return join(self.bind(child, negated) for child in children)
            case IsNull(term=term, negated=own):
                return _null_test(self._reference(term), own != negated)
            case IsNaN(term=term, negated=own):
                return _is_nan(self._reference(term), own, negated)
            case Comparison(op=op, term=term, value=value):
                return self._comparison(NEGATED[op] if negated else op, term, value)
            case In(term=term, values=values, negated=own):
                return self._in(term, values, own != negated)
            case StartsWith(term=term, prefix=prefix, negated=own):
                return self._starts_with(term, prefix, own != negated)
            case _:
                assert_never(node)

    def _reference(self, term: Term) -> BoundReference:
        field_id = self._field_id(term)
        path = [self.schema.find_field(step) for step in self.schema.path_ids(field_id)]
        name = self.schema.find_column_name(field_id) or str(field_id)
        for step in path[:-1]:
            if isinstance(step.field_type, ListType | MapType):
                raise InvalidExpressionError(
                    f"Column '{name}' is in a list or map: a predicate can only name top-level "
                    "columns and fields of structs"
                )
        required = all(step.required for step in path)
        return BoundReference(field_id, path[-1].field_type, required, name)

    def _field_id(self, term: Term) -> int:
        match term:
            case BoundReference(field_id=field_id, name=name):
                bound_id = field_id if self.schema.get(field_id) is not None else None
            case Reference(name=name):
                try:
                    bound_id = self.schema.find_id(name, self.case_sensitive)
                except InvalidSchemaError as cause:
                    raise InvalidExpressionError(str(cause)) from cause
            case _:
                assert_never(term)
        if bound_id is None:
            column_names = self.schema.column_names
            raise InvalidExpressionError(
                f"No column '{name}' in the table, it has: {name_list(column_names)}"
                f"{did_you_mean(str(name), column_names)}"
            )
        return bound_id

    def _comparable(self, term: Term) -> BoundReference:
        ref = self._reference(term)
        kind = ref.field_type
        if not isinstance(kind, PRIMITIVES) or isinstance(kind, GeometryType | GeographyType):
            raise InvalidExpressionError(
                f"Column '{ref.name}' has type {kind}, which only IS NULL and IS NOT NULL take"
            )
        return ref

    def _comparison(self, op: Op, term: Term, value: Any) -> Bound:
        ref = self._comparable(term)
        if value is None or isinstance(ref.field_type, UnknownType):
            return ALWAYS_FALSE  # comparing with null gives null
        if not _is_ordered_exactly(op, ref, value):
            (value,) = _as_compared(ref, [value])
        match coerce(ref, value, self.time_zone):
            case Exact(value=float(number)) if math.isnan(number):
                return _compare_with_nan(op, ref)
            case Exact(value=canonical):
                return _compare(op, ref, canonical)
            case Between(below=below, above=above):
                return _compare_between(op, ref, below, above)
            case Band(low=low, high=high):
                return _compare_band(op, ref, low, high)

    def _in(self, term: Term, values: tuple[Any, ...], negated: bool) -> Bound:
        ref = self._comparable(term)
        if not values:
            return Constant(negated)  # Spark: IN over nothing is false, for null too
        if isinstance(ref.field_type, UnknownType) or (negated and None in values):
            return ALWAYS_FALSE  # null or false for every row
        literals = [value for value in values if value is not None]
        literals = _of_one_type(ref, literals)
        coerced = [coerce(ref, value, self.time_zone) for value in literals]
        bands = [
            _compare_band(Op.NE if negated else Op.EQ, ref, literal.low, literal.high)
            for literal in coerced
            if isinstance(literal, Band)
        ]
        exact = [literal.value for literal in coerced if isinstance(literal, Exact)]
        ordinary = [value for value in exact if not is_nan(value)]
        members = [membership(ref, ordinary, negated)] if ordinary or not bands else []
        nan = [] if len(ordinary) == len(exact) else [IsNaN(ref, negated)]
        join = conjunction if negated else disjunction
        return join([*members, *bands, *nan])

    def _starts_with(self, term: Term, prefix: str, negated: bool) -> Bound:
        ref = self._comparable(term)
        if isinstance(ref.field_type, UnknownType):
            return ALWAYS_FALSE
        if not isinstance(ref.field_type, StringType):
            raise InvalidExpressionError(
                f"Column '{ref.name}' has type {ref.field_type}: LIKE needs a string column"
            )
        if not prefix:
            return ALWAYS_FALSE if negated else not_null(ref)
        return StartsWith(ref, prefix, negated)


def _null_test(ref: BoundReference, negated: bool) -> Bound:
    if isinstance(ref.field_type, UnknownType):
        return Constant(not negated)
    return not_null(ref) if negated else is_null(ref)


def _is_nan(ref: BoundReference, own: bool, negated: bool) -> Bound:
    """Bind isnan, which is false for null (never null), so NOT isnan keeps nulls."""
    if not isinstance(ref.field_type, FloatType | DoubleType):
        raise InvalidExpressionError(
            f"Column '{ref.name}' has type {ref.field_type}: isnan() needs a float or double column"
        )
    leaf = IsNaN(ref, own != negated)
    return disjunction([leaf, is_null(ref)]) if negated else leaf


def _compare_with_nan(op: Op, ref: BoundReference) -> Bound:
    match op:
        case Op.EQ | Op.GE:
            return IsNaN(ref)
        case Op.NE | Op.LT:
            return IsNaN(ref, negated=True)
        case Op.LE:
            return not_null(ref)
        case Op.GT:
            return ALWAYS_FALSE
        case _:
            assert_never(op)


def _compare(op: Op, ref: BoundReference, value: Any) -> Bound:
    """Return a comparison, folded where the value is an end of the type's range."""
    low, high = limits(ref.field_type) or (None, None)
    match op:
        case Op.LT if value == low:
            return ALWAYS_FALSE
        case Op.GT if value == high:
            return ALWAYS_FALSE
        case Op.GE if value == low:
            return not_null(ref)
        case Op.LE if value == high:
            return not_null(ref)
        case _:
            return Comparison(op, ref, value)


def _compare_band(op: Op, ref: BoundReference, low: Any, high: Any) -> Bound:
    """Return a comparison with values low to high, which all equal the literal."""
    match op:
        case Op.EQ:
            return conjunction([_compare(Op.GE, ref, low), _compare(Op.LE, ref, high)])
        case Op.NE:
            return disjunction([_compare(Op.LT, ref, low), _compare(Op.GT, ref, high)])
        case Op.LT | Op.GE:
            return _compare(op, ref, low)
        case Op.LE | Op.GT:
            return _compare(op, ref, high)
        case _:
            assert_never(op)


def _of_one_type(ref: BoundReference, literals: list[Any]) -> list[Any]:
    """Return the values of an IN as Spark compares them: all in one type, the widest.

    Texts next to numbers are compared as doubles (ANSI mode), which a double column is already.

    Raises InvalidExpressionError for texts next to other values, and without ANSI mode for texts
    compared with a column that is not text.
    """
    texts = [literal for literal in literals if isinstance(literal, str | LooseText)]
    loose = any(isinstance(literal, LooseText) for literal in texts)
    if (
        texts
        and not isinstance(ref.field_type, StringType | UUIDType)
        and (loose or (len(texts) < len(literals) and not isinstance(ref.field_type, DoubleType)))
    ):
        raise InvalidExpressionError(
            f"Column '{ref.name}' has type {ref.field_type}: Spark compares texts in an IN list "
            "as texts; write values of the column's type"
        )
    if not any(isinstance(literal, float | np.floating) for literal in literals):
        typed = [of_integer(literal) if type(literal) is int else literal for literal in literals]
        return _as_compared(ref, typed)
    literals = [plain(literal) for literal in literals]
    return [
        float(literal) if isinstance(literal, int | Decimal) else literal for literal in literals
    ]


def _is_ordered_exactly(op: Op, ref: BoundReference, value: Any) -> bool:
    """Return whether no common type is needed: for integers Spark makes `i < 2` of `i < 1.5`.

    Source: Spark's DecimalPrecisionTypeCoercion.integralAndDecimalLiteral.
    """
    is_whole = isinstance(ref.field_type, IntegerType | LongType)
    return is_whole and isinstance(value, Decimal) and op not in (Op.EQ, Op.NE)


def _as_compared(ref: BoundReference, literals: list[Any]) -> list[Any]:
    """Return literals rounded as Spark rounds them to compare them with a column.

    Raises InvalidExpressionError if Spark would round the column.
    """
    if not all(is_exact(literal) for literal in literals):
        return [plain(literal) for literal in literals]
    compared = as_compared(ref.field_type, literals)
    if compared is None:
        raise InvalidExpressionError(
            f"Column '{ref.name}' has type {ref.field_type}, which Spark would round to compare it "
            f"with {', '.join(str(plain(literal)) for literal in literals)}: "
            "write it with fewer digits"
        )
    return list(compared)


def _compare_between(op: Op, ref: BoundReference, below: Any, above: Any) -> Bound:
    match op:
        case Op.EQ:
            return ALWAYS_FALSE
        case Op.NE:
            return not_null(ref)
        case Op.LT | Op.LE:
            if above is None:
                return not_null(ref)
            return ALWAYS_FALSE if below is None else _compare(Op.LE, ref, below)
        case Op.GT | Op.GE:
            if below is None:
                return not_null(ref)
            return ALWAYS_FALSE if above is None else _compare(Op.GE, ref, above)
        case _:
            assert_never(op)
