"""Predicates on fields of variants: `variant_get(column, '$.path', 'type')` and its like.

They only prune files without a matching row: they filter no rows and never prove a match. A field
acts as a column that the schema does not have, with the type of the cast.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace

from iceberg_spark.errors import InvalidInputError
from iceberg_spark.expr.bind import bind
from iceberg_spark.expr.logic import conjunction, disjunction, leaves
from iceberg_spark.expr.nodes import (
    ALWAYS_TRUE,
    And,
    Bound,
    BoundReference,
    Constant,
    Not,
    Or,
    Unbound,
)
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.types import (
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IcebergType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    TimestampType,
    TimestamptzType,
    VariantType,
)

_PATH = re.compile(r"""\$(?:\.[^.\[\s][^.\[]*|\['[^'?\s][^'?]*'\]|\["[^"?\s][^"?]*"\])*""")
_STEP = re.compile(r"""\.([^.\[]+)|\['([^'?]+)'\]|\["([^"?]+)"\]""")
_TYPES: Mapping[str, IcebergType] = {
    "boolean": BooleanType(),
    "int": IntegerType(),
    "integer": IntegerType(),
    "long": LongType(),
    "bigint": LongType(),
    "float": FloatType(),
    "real": FloatType(),
    "double": DoubleType(),
    "date": DateType(),
    "timestamp": TimestamptzType(),
    "timestamp_ltz": TimestamptzType(),
    "timestamp_ntz": TimestampType(),
    "string": StringType(),
}
_DECIMAL = re.compile(r"(?:decimal|dec|numeric)\s*\(\s*(\d{1,2})\s*,\s*(\d{1,2})\s*\)")
_MOST_DIGITS = 38


@dataclass(frozen=True, slots=True)
class VariantField:
    """A field of a variant column: the keys that lead to it, and the type it is cast to."""

    column_id: int
    keys: tuple[str, ...]
    kind: IcebergType


@dataclass(frozen=True, slots=True)
class VariantFilter:
    """A predicate that all selected rows satisfy; `fields` are by ids in `bound` of no column."""

    bound: Bound
    fields: Mapping[int, VariantField]


@dataclass(frozen=True, slots=True)
class NamedVariant:
    """A field of a variant column that is named, and not bound to a schema yet."""

    column: str
    keys: tuple[str, ...]
    kind: IcebergType


@dataclass(frozen=True, slots=True)
class VariantPredicate:
    """A predicate in which the names of `fields` stand for fields of variants."""

    predicate: Unbound
    fields: Mapping[str, NamedVariant]


@dataclass(slots=True)
class VariantFields:
    """Fields of a schema's variants, gathered while predicates are read."""

    schema: Schema
    _ids: dict[VariantField, int] = field(default_factory=dict)

    def reference(self, column_id: int, keys: tuple[str, ...], kind: IcebergType) -> BoundReference:
        """Return the reference that stands for a field in predicates."""
        field_id = self._ids.setdefault(VariantField(column_id, keys, kind), -1 - len(self._ids))
        return BoundReference(field_id, kind, False, name_of_field(field_id))

    def bind(
        self, predicate: Unbound, *, case_sensitive: bool = True, time_zone: str | None = None
    ) -> Bound:
        """Return a predicate over columns and such fields. Raises as `expr.bind` does."""
        added = [
            NestedField(field_id, name_of_field(field_id), field.kind, required=False)
            for field, field_id in self._ids.items()
        ]
        extended = Schema(*self.schema.fields, *added)
        return bind(extended, predicate, case_sensitive=case_sensitive, time_zone=time_zone)

    def filter(self, bound: Bound) -> VariantFilter | None:
        """Return a filter for pruning, None if the predicate has no field of a variant."""
        fields = {field_id: field for field, field_id in self._ids.items()}
        return VariantFilter(bound, fields) if _has_field(bound) else None


def name_of_field(field_id: int) -> str:
    """Return a field's name in predicates, which no column can have in a SQL text."""
    return f"\0{field_id}"


def of_columns(bound: Bound) -> Bound:
    """Return the predicate reduced to columns: true wherever the full predicate is."""
    match bound:
        case Constant():
            return bound
        case And(children=children):
            return conjunction(of_columns(child) for child in children)
        case Or(children=children):
            return disjunction(of_columns(child) for child in children)
        case _:
            return ALWAYS_TRUE if _has_field(bound) else bound


def _has_field(bound: Bound) -> bool:
    terms = (leaf.term for leaf in leaves(bound))
    return any(isinstance(term, BoundReference) and term.field_id < 0 for term in terms)


def variant_filter(
    schema: Schema,
    predicates: Iterable[VariantPredicate],
    *,
    case_sensitive: bool = True,
    time_zone: str | None = None,
) -> VariantFilter | None:
    """Return the filter of all predicates together, None if none can be used.

    A predicate that can't be bound prunes nothing.
    """
    variant_fields = VariantFields(schema)
    bounds = []
    for predicate in predicates:
        columns = {
            name: _column(schema, field, case_sensitive) for name, field in predicate.fields.items()
        }
        terms = {
            name: variant_fields.reference(
                column, predicate.fields[name].keys, predicate.fields[name].kind
            )
            for name, column in columns.items()
            if column is not None
        }
        if len(terms) < len(columns):
            continue
        with suppress(InvalidInputError):
            unbound = _with_terms(predicate.predicate, terms)
            bounds.append(
                variant_fields.bind(unbound, case_sensitive=case_sensitive, time_zone=time_zone)
            )
    return variant_fields.filter(conjunction(bounds))


def _column(schema: Schema, named: NamedVariant, case_sensitive: bool) -> int | None:
    """Return the id of a variant column outside lists and maps, None for any other."""
    try:
        field_id = schema.find_id(named.column, case_sensitive)
    except InvalidInputError:
        return None
    if field_id is None or not isinstance(schema.find_type(field_id), VariantType):
        return None
    around = [schema.find_type(step) for step in schema.path_ids(field_id)]
    return None if any(isinstance(kind, ListType | MapType) for kind in around) else field_id


def _with_terms(node: Unbound, terms: Mapping[str, BoundReference]) -> Unbound:
    match node:
        case Constant():
            return node
        case Not(child=child):
            return Not(_with_terms(child, terms))
        case And(children=children) | Or(children=children):
            return replace(node, children=tuple(_with_terms(child, terms) for child in children))
        case _:
            name = node.term.name
            return replace(node, term=terms[name]) if name in terms else node


def keys_of_extraction(path: str) -> tuple[str, ...] | None:
    """Return the keys of a path of `variant_get`; None for array items and invalid paths.

    Spark skips blanks before a step and before a key: such paths are None too.
    """
    if not _PATH.fullmatch(path):
        return None
    return tuple(plain or single or double for plain, single, double in _STEP.findall(path))


def type_of_extraction(text: str) -> IcebergType | None:
    """Return the type of a type name in `variant_get`, None for types without bounds."""
    name = " ".join(text.lower().split())
    if match := _DECIMAL.fullmatch(name):
        precision, scale = (int(digits) for digits in match.groups())
        is_real = 0 < precision <= _MOST_DIGITS and scale <= precision
        return DecimalType(precision, scale) if is_real else None
    return _TYPES.get(name)
