"""Hypothesis strategies of types, values, schemas and metadata."""

import uuid
from decimal import Decimal

from hypothesis import strategies as st

from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestampNanoType,
    TimestampType,
    TimestamptzNanoType,
    TimestamptzType,
    TimeType,
    UUIDType,
)

INTS = st.integers(-(1 << 31), (1 << 31) - 1)
LONGS = st.integers(-(1 << 63), (1 << 63) - 1)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
VALUES = {
    BooleanType: st.booleans(),
    IntegerType: INTS,
    LongType: LONGS,
    FloatType: st.floats(width=32, allow_nan=False, allow_infinity=False),
    DoubleType: st.floats(allow_nan=False, allow_infinity=False),
    DateType: INTS,
    TimeType: st.integers(0, 86_400_000_000 - 1),
    TimestampType: LONGS,
    TimestamptzType: LONGS,
    TimestampNanoType: LONGS,
    TimestamptzNanoType: LONGS,
    StringType: TEXTS,
    UUIDType: st.uuids(version=4) | st.just(uuid.UUID(int=0)),
    BinaryType: st.binary(),
}


@st.composite
def decimal_types(draw):
    precision = draw(st.integers(1, 38))
    return DecimalType(precision, draw(st.integers(0, precision)))


def primitives():
    simple = st.sampled_from([kind() for kind in VALUES])
    return simple | decimal_types() | st.integers(1, 40).map(FixedType)


def values_of(kind):
    if isinstance(kind, DecimalType):
        largest = 10**kind.precision - 1
        return st.integers(-largest, largest).map(lambda n: _decimal(n, kind.scale))
    if isinstance(kind, FixedType):
        return st.binary(min_size=kind.length, max_size=kind.length)
    return VALUES[type(kind)]


def _decimal(number, scale):
    return Decimal((number < 0, tuple(int(one) for one in str(abs(number))), -scale))


@st.composite
def typed_values(draw):
    kind = draw(primitives())
    return kind, draw(values_of(kind))


@st.composite
def fields(draw, next_id, depth=2):
    names = draw(st.lists(TEXTS.filter(bool), min_size=1, max_size=4, unique=True))
    found = []
    for name in names:
        number = next_id()
        kind = draw(types(next_id, depth))
        default = draw(st.none() | values_of(kind)) if type(kind) in VALUES else None
        doc = draw(st.none() | TEXTS)
        found.append(NestedField(number, name, kind, draw(st.booleans()), doc, default, default))
    return tuple(found)


@st.composite
def types(draw, next_id, depth):
    shape = draw(st.sampled_from(["primitive"] * 3 + ["struct", "list", "map"] * (depth > 0)))
    if shape == "struct":
        return StructType(*draw(fields(next_id, depth - 1)))
    if shape == "list":
        return ListType(next_id(), draw(types(next_id, depth - 1)), draw(st.booleans()))
    if shape == "map":
        key, value = next_id(), next_id()
        below = types(next_id, depth - 1)
        return MapType(key, draw(below), value, draw(below), draw(st.booleans()))
    return draw(primitives())


@st.composite
def schemas(draw):
    """Schemas whose ids are unique, in any order, and whose names need not be plain."""
    ids = iter(draw(st.permutations(range(1, 400))))
    # a dot in a name may make two full names equal, which is refused
    found = draw(fields(lambda: next(ids)).filter(_has_no_dots))
    return Schema(*found, schema_id=draw(st.integers(0, 9)))


def _has_no_dots(found):
    return not any("." in name for name in _names(found))


def _names(found):
    for child in found:
        yield child.name
        kind = child.field_type
        below = [kind]
        if isinstance(kind, ListType):
            below = [kind.element_type]
        if isinstance(kind, MapType):
            below = [kind.key_type, kind.value_type]
        for one in below:
            if isinstance(one, StructType):
                yield from _names(one.fields)
            elif isinstance(one, ListType | MapType):
                yield from _names([NestedField(0, "", one)])
