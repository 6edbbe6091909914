"""Filters that Spark's optimizer pushed down to a relation, as Iceberg predicates.

A filter that cannot be converted is None and prunes nothing. Types are those after Spark's casts: a
literal has the type of the column that it is compared with, or the filter is not converted.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any, NamedTuple, Self

import numpy as np

from iceberg_spark.expr import nodes as n
from iceberg_spark.expr.literals import DateLiteral, TimestampLiteral
from iceberg_spark.expr.variant_filter import VariantFields, keys_of_extraction, type_of_extraction
from iceberg_spark.spark.catalyst.file_pruning import Expression
from iceberg_spark.spark.reading.column_plan import ColumnPlan
from iceberg_spark.spec import types as t
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.types import IcebergType

_COMPARISONS = {
    "EqualTo": (n.Op.EQ, n.Op.EQ),
    "LessThan": (n.Op.LT, n.Op.GT),
    "LessThanOrEqual": (n.Op.LE, n.Op.GE),
    "GreaterThan": (n.Op.GT, n.Op.LT),
    "GreaterThanOrEqual": (n.Op.GE, n.Op.LE),
}
"""Operators as they stand, and with their sides exchanged."""
_INTEGERS = ("byte", "short", "integer", "long")
_IN_SETS: Mapping[type[t.IcebergType], Callable[[str], Any]] = {
    t.IntegerType: int,
    t.LongType: int,
    t.DateType: lambda text: DateLiteral(int(text)),
    t.DecimalType: Decimal,
    t.StringType: str,
    t.TimestamptzType: lambda text: _instant(int(text)),
    t.TimestampType: lambda text: _wall_clock(int(text)),
}
"""How values of an `InSet` are read, which shows them as Spark keeps them."""


class PushedConditions:
    """Converts filters over the relation of a column plan.

    `variants` are the fields of variants in them, as columns without a name.
    """

    __slots__ = ("_columns", "variants")

    def __init__(self, columns: ColumnPlan, schema: Schema) -> None:
        self.variants = VariantFields(schema)
        self._columns = {
            column.requested.name: (column.requested, column.field)
            for column in (*columns.read, *columns.keys)
            if column.requested is not None and column.is_stored
        }

    @classmethod
    def of_schema(cls, read: Schema, schema: Schema) -> Self:
        """Return a converter for a relation that has the columns of a read schema unchanged."""
        reader = cls.__new__(cls)
        reader.variants = VariantFields(schema)
        reader._columns = {column.name: (column, column) for column in read.fields}
        return reader

    def predicate(self, filters: Sequence[Expression]) -> n.Unbound | None:
        """Return the predicate of those filters that can be converted; None if none can."""
        read = [self._read(condition) for condition in filters]
        understood = tuple(predicate for predicate in read if predicate is not None)
        return n.And(understood) if understood else None

    def exact_predicate(self, filters: Sequence[Expression]) -> n.Unbound | None:
        """Return the predicate of all filters; None if one of them cannot be converted."""
        read = [self._read(condition) for condition in filters]
        understood = tuple(predicate for predicate in read if predicate is not None)
        return n.And(understood) if len(understood) == len(read) else None

    def _read(self, of: Expression) -> n.Unbound | None:
        match of.kind, of.parts:
            case ("And" | "Or") as kind, parts:
                inner = [self._read(part) for part in parts]
                understood = tuple(predicate for predicate in inner if predicate is not None)
                if len(understood) < len(inner):
                    return None
                return n.And(understood) if kind == "And" else n.Or(understood)
            case "Not", (part,):
                negated = self._read(part)
                return None if negated is None else n.Not(negated)
            case ("IsNull" | "IsNotNull") as kind, (part,):
                term = self._term(part)
                return None if term is None else n.IsNull(term, negated=kind == "IsNotNull")
            case (("In" | "InSet" | "StartsWith"), _):
                return self._of_values(of)
            case "EqualNullSafe", (left, right):
                return self._same(left, right)
            case kind, (left, right) if kind in _COMPARISONS:
                return self._comparison(kind, left, right)
            case (("AttributeReference" | "GetStructField"), _):
                return self._is_true(of)
            case _:
                return None

    def _is_true(self, of: Expression) -> n.Unbound | None:
        """Return a boolean column as a condition: Spark simplifies `open = true` to `open`."""
        term = self._term(of)
        is_boolean = term is not None and isinstance(term.field_type, t.BooleanType)
        return n.Comparison(n.Op.EQ, term, True) if term is not None and is_boolean else None

    def _comparison(self, kind: str, left: Expression, right: Expression) -> n.Unbound | None:
        as_said, exchanged = _COMPARISONS[kind]
        if left.kind == "Literal":
            left, right, as_said = right, left, exchanged
        term = self._term(left)
        value = None if term is None else _value(term.field_type, right)
        return None if term is None or value is None else n.Comparison(as_said, term, value)

    def _same(self, left: Expression, right: Expression) -> n.Unbound | None:
        equal = self._comparison("EqualTo", left, right)
        if not isinstance(equal, n.Comparison):
            return None
        return n.And((n.IsNull(equal.term, negated=True), equal))

    def _of_values(self, of: Expression) -> n.Unbound | None:
        first, *others = of.parts
        term = self._term(first)
        if term is None:
            return None
        kind = term.field_type
        if of.kind == "InSet":
            values = _set_values(kind, of)
        else:
            values = [_value(kind, literal) for literal in others]
        if not values or any(value is None for value in values):
            return None
        if of.kind == "StartsWith":
            is_text = isinstance(kind, t.StringType)
            return n.StartsWith(term, str(values[0])) if is_text else None
        return n.In(term, tuple(values))

    def _term(self, of: Expression) -> n.BoundReference | None:
        """Return the column that an expression is, without its shield against Spark's filters."""
        match of.kind, of.parts:
            case "NaNvl", (inner, replaced) if _is_nan(replaced):
                return self._term(inner)
            case "Greatest", (operand, other) if operand == other:
                return self._term(operand) if operand.kind == "AttributeReference" else None
            case _:
                variant = pushed_variant(of)
                if variant is not None:
                    return self._variant(variant)
                fields = self._field(of)
        if fields is None or not isinstance(fields[1].field_type, t.PRIMITIVES):
            return None
        requested, own = fields
        if requested.field_type != own.field_type:
            return None
        return n.BoundReference(own.field_id, own.field_type, False, own.name)

    def _variant(self, of: PushedVariant) -> n.BoundReference | None:
        fields = self._field(of.column)
        if fields is None or not isinstance(fields[1].field_type, t.VariantType):
            return None
        return self.variants.reference(fields[1].field_id, of.keys, of.kind)

    def _field(self, of: Expression) -> tuple[t.NestedField, t.NestedField] | None:
        """Return a field with its names in the relation, and the table's field."""
        match of.kind, of.parts:
            case "AttributeReference", ():
                return self._columns.get(str(of.node["name"]))
            case "GetStructField", (outer,):
                around = self._field(outer)
                if around is None:
                    return None
                requested, own = (field.field_type for field in around)
                if not isinstance(requested, t.StructType) or not isinstance(own, t.StructType):
                    return None
                ordinal = int(of.node["ordinal"])
                name = _names(outer)[ordinal] if _names(outer) else None
                pairs = zip(requested.fields, own.fields, strict=True)
                return next((pair for pair in pairs if pair[0].name == name), None)
            case _:
                return None


def _names(of: Expression) -> list[str]:
    """Return the names of a struct's fields in the plan, which may have pruned some."""
    if of.kind != "AttributeReference":
        return []
    return [str(field["name"]) for field in struct_fields(of)]


def _is_nan(of: Expression) -> bool:
    return of.kind == "Literal" and of.node["value"] == "NaN"


def _set_values(kind: t.IcebergType, of: Expression) -> list[Any]:
    read = _IN_SETS.get(type(kind))
    try:
        return [] if read is None else [read(text) for text in of.node["values"]]
    except (TypeError, ValueError, InvalidOperation, OverflowError):
        return []


def _value(kind: t.IcebergType, of: Expression) -> Any:
    """Return a literal of the column's type; None for other types and for NULL."""
    if of.kind != "Literal" or of.node["value"] is None:
        return None
    try:
        return _read_value(kind, of.node["type"], of.node["value"])
    except (ValueError, InvalidOperation, OverflowError):
        return None


def _read_value(kind: t.IcebergType, spark_type: str, text: str) -> Any:
    match kind, spark_type:
        case ((t.IntegerType() | t.LongType()), integer) if integer in _INTEGERS:
            return int(text)
        case t.DecimalType(), decimal if decimal.startswith("decimal"):
            return Decimal(text)
        case t.StringType(), "string":
            return text
        case t.BooleanType(), "boolean":
            return text == "true"
        case t.DateType(), "date":
            return DateLiteral(int(text))
        case t.DoubleType(), "double":
            return float(text)
        case t.FloatType(), "float":
            return float(np.float32(text))
        case t.TimestamptzType(), "timestamp":
            return _instant(int(text))
        case t.TimestampType(), "timestamp_ntz":
            return _wall_clock(int(text))
        case _:
            return None


def _instant(micros: int) -> TimestampLiteral:
    return TimestampLiteral(micros * 1000, "UTC")


def _wall_clock(micros: int) -> TimestampLiteral:
    return TimestampLiteral(micros * 1000, is_local=True)


# Fields of variants in filters that Spark's optimizer pushed down to a relation.
#
# They are calls of `variant_get`, casts of these (as in `v:a::int`), or, if Spark reads such
# fields instead of the variants, fields of a struct whose metadata has the path.

_VARIANT = "variant"
_PATH_OF = "__VARIANT_METADATA_KEY"


class PushedVariant(NamedTuple):
    """A field of a variant: the column's expression, the keys, and the type it is cast to."""

    column: Expression
    keys: tuple[str, ...]
    kind: IcebergType


def pushed_variant(of: Expression) -> PushedVariant | None:
    """Return the field of a variant that an expression extracts, None for other expressions."""
    if of.kind == "Cast":
        (inner,) = of.parts
        extraction = _extraction(inner) or (inner, "$", _VARIANT)
        column, path, cast_from = extraction
        name = of.node["type"] if cast_from == _VARIANT else None
    else:
        extracted = _extraction(of)
        if extracted is None:
            return None
        column, path, name = extracted
    keys = keys_of_extraction(path)
    kind = type_of_extraction(name) if isinstance(name, str) else None
    return None if keys is None or kind is None else PushedVariant(column, keys, kind)


def _extraction(of: Expression) -> tuple[Expression, str, Any] | None:
    """Return the column, path and type name of an expression that extracts a field of a variant."""
    match of.kind, of.parts:
        case "VariantGet", (column, path):
            is_text = path.kind == "Literal" and path.node["type"] == "string"
            text = path.node["value"] if is_text else None
            return None if text is None else (column, str(text), of.node["type"])
        case "GetStructField", (column,):
            field = struct_fields(column)[int(of.node["ordinal"])]
            path = field.get("metadata", {}).get(_PATH_OF, {}).get("path")
            return None if path is None else (column, str(path), field["type"])
        case _:
            return None


def struct_fields(of: Expression) -> list[dict[str, Any]]:
    """Return the fields of a struct in the plan, as Spark's JSON of types."""
    kind = of.node.get("type", "")
    return json.loads(kind)["fields"] if kind.startswith("{") else []
