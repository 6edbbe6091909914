"""Iceberg's types as values (specification: "Schemas and Data Types").

Every type is a frozen value; `str(type)` is its JSON name. Class names are PyIceberg's.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeAlias

from iceberg_spark.errors import InvalidSchemaError, UnsupportedError

MAX_DECIMAL_PRECISION = 38
MAX_FIXED_LENGTH = (1 << 31) - 1
DEFAULT_CRS = "OGC:CRS84"


def _type_name(self: Any) -> str:  # every simple type carries its own name
    return str(self.name)


@dataclass(frozen=True, slots=True)
class BooleanType:
    """True or false."""

    name: ClassVar[str] = "boolean"
    __str__ = _type_name


@dataclass(frozen=True, slots=True)
class IntegerType:
    """32-bit signed integer."""

    name: ClassVar[str] = "int"
    __str__ = _type_name


@dataclass(frozen=True, slots=True)
class LongType:
    """64-bit signed integer."""

    name: ClassVar[str] = "long"
    __str__ = _type_name


@dataclass(frozen=True, slots=True)
class FloatType:
    """32-bit IEEE 754."""

    name: ClassVar[str] = "float"
    __str__ = _type_name


@dataclass(frozen=True, slots=True)
class DoubleType:
    """64-bit IEEE 754."""

    name: ClassVar[str] = "double"
    __str__ = _type_name


@dataclass(frozen=True, slots=True)
class DecimalType:
    """Fixed-point decimal. Raises InvalidSchemaError for a precision outside 1 to 38."""

    precision: int
    scale: int

    def __post_init__(self) -> None:
        if not 1 <= self.precision <= MAX_DECIMAL_PRECISION:
            raise InvalidSchemaError(f"{self}: the precision must be 1 to {MAX_DECIMAL_PRECISION}")
        if abs(self.scale) > MAX_DECIMAL_PRECISION:
            raise InvalidSchemaError(f"{self}: the scale must be at most {MAX_DECIMAL_PRECISION}")

    def __str__(self) -> str:
        return f"decimal({self.precision}, {self.scale})"


@dataclass(frozen=True, slots=True)
class DateType:
    """Calendar date; values are days from 1970-01-01."""

    name: ClassVar[str] = "date"
    __str__ = _type_name


@dataclass(frozen=True, slots=True)
class TimeType:
    """Time of day; values are microseconds from midnight."""

    name: ClassVar[str] = "time"
    __str__ = _type_name


@dataclass(frozen=True, slots=True)
class TimestampType:
    """Timestamp without zone; values are microseconds from 1970-01-01 00:00:00."""

    name: ClassVar[str] = "timestamp"
    __str__ = _type_name


@dataclass(frozen=True, slots=True)
class TimestamptzType:
    """Instant; values are microseconds from 1970-01-01 00:00:00 UTC."""

    name: ClassVar[str] = "timestamptz"
    __str__ = _type_name


@dataclass(frozen=True, slots=True)
class TimestampNanoType:
    """Timestamp without zone in nanoseconds (v3)."""

    name: ClassVar[str] = "timestamp_ns"
    __str__ = _type_name


@dataclass(frozen=True, slots=True)
class TimestamptzNanoType:
    """Instant in nanoseconds (v3)."""

    name: ClassVar[str] = "timestamptz_ns"
    __str__ = _type_name


@dataclass(frozen=True, slots=True)
class StringType:
    """UTF-8 text."""

    name: ClassVar[str] = "string"
    __str__ = _type_name


@dataclass(frozen=True, slots=True)
class UUIDType:
    """Universally unique identifier, 16 bytes."""

    name: ClassVar[str] = "uuid"
    __str__ = _type_name


@dataclass(frozen=True, slots=True)
class FixedType:
    """Byte array of a fixed length. Raises InvalidSchemaError for one below 1 or over 2^31-1."""

    length: int

    def __post_init__(self) -> None:
        if not 1 <= self.length <= MAX_FIXED_LENGTH:
            raise InvalidSchemaError(f"{self}: the length must be 1 to {MAX_FIXED_LENGTH}")

    def __str__(self) -> str:
        return f"fixed[{self.length}]"


@dataclass(frozen=True, slots=True)
class BinaryType:
    """Byte array of any length."""

    name: ClassVar[str] = "binary"
    __str__ = _type_name


@dataclass(frozen=True, slots=True)
class UnknownType:
    """Always null (v3)."""

    name: ClassVar[str] = "unknown"
    __str__ = _type_name


@dataclass(frozen=True, slots=True)
class VariantType:
    """Semi-structured value (v3); carried through metadata, not read."""

    name: ClassVar[str] = "variant"
    __str__ = _type_name


@dataclass(frozen=True, slots=True)
class GeometryType:
    """Planar geometry (v3); carried through metadata, not read."""

    crs: str | None = None

    def __str__(self) -> str:
        return "geometry" if self.crs is None else f"geometry({self.crs})"


@dataclass(frozen=True, slots=True)
class GeographyType:
    """Geometry on the globe (v3); carried through metadata, not read."""

    crs: str | None = None
    algorithm: str | None = None

    def __str__(self) -> str:
        if self.algorithm is not None:
            return f"geography({self.crs or DEFAULT_CRS}, {self.algorithm})"
        return "geography" if self.crs is None else f"geography({self.crs})"


@dataclass(frozen=True, slots=True)
class NestedField:
    """A named field of a struct, with its id, type and defaults.

    Defaults are canonical values (`spec.json_values`); None means no default. `extra` holds unknown
    JSON members, so that they are written back.
    """

    field_id: int
    name: str
    field_type: IcebergType
    required: bool = False
    doc: str | None = None
    initial_default: Any = None  # any canonical value of the field's type
    write_default: Any = None  # likewise
    extra: Mapping[str, Any] | None = field(default=None, compare=False, repr=False)

    @property
    def optional(self) -> bool:
        """True when the field may hold null."""
        return not self.required

    def __str__(self) -> str:
        need = "required" if self.required else "optional"
        doc = f" ({self.doc})" if self.doc else ""
        return f"{self.field_id}: {self.name}: {need} {self.field_type}{doc}"


@dataclass(frozen=True, slots=True, init=False)
class StructType:
    """A tuple of named fields."""

    fields: tuple[NestedField, ...]

    def __init__(self, *fields: NestedField) -> None:
        object.__setattr__(self, "fields", fields)

    def __reduce__(self) -> tuple[type[StructType], tuple[NestedField, ...]]:
        return StructType, self.fields

    def __str__(self) -> str:
        return f"struct<{', '.join(str(field) for field in self.fields)}>"


@dataclass(frozen=True, slots=True)
class ListType:
    """A list; its element has a field id of its own."""

    element_id: int
    element_type: IcebergType
    element_required: bool = False

    @property
    def element_field(self) -> NestedField:
        """The element as a field named `element`."""
        return NestedField(self.element_id, "element", self.element_type, self.element_required)

    def __str__(self) -> str:
        return f"list<{self.element_type}>"


@dataclass(frozen=True, slots=True)
class MapType:
    """A map; keys are always required, key and value have field ids of their own."""

    key_id: int
    key_type: IcebergType
    value_id: int
    value_type: IcebergType
    value_required: bool = False

    @property
    def key_field(self) -> NestedField:
        """The key as a required field named `key`."""
        return NestedField(self.key_id, "key", self.key_type, True)

    @property
    def value_field(self) -> NestedField:
        """The value as a field named `value`."""
        return NestedField(self.value_id, "value", self.value_type, self.value_required)

    def __str__(self) -> str:
        return f"map<{self.key_type}, {self.value_type}>"


PrimitiveType: TypeAlias = (
    BooleanType
    | IntegerType
    | LongType
    | FloatType
    | DoubleType
    | DecimalType
    | DateType
    | TimeType
    | TimestampType
    | TimestamptzType
    | TimestampNanoType
    | TimestamptzNanoType
    | StringType
    | UUIDType
    | FixedType
    | BinaryType
    | UnknownType
    | GeometryType
    | GeographyType
)
"""Types that are stored as one column. Variant is neither primitive nor nested (specification)."""

NestedType: TypeAlias = StructType | ListType | MapType
IcebergType: TypeAlias = PrimitiveType | VariantType | NestedType

PRIMITIVES: tuple[type, ...] = (
    BooleanType, IntegerType, LongType, FloatType, DoubleType, DecimalType, DateType, TimeType,
    TimestampType, TimestamptzType, TimestampNanoType, TimestamptzNanoType, StringType, UUIDType,
    FixedType, BinaryType, UnknownType, GeometryType, GeographyType,
)  # fmt: skip
"""The classes of `PrimitiveType`, for isinstance."""


def child_fields(kind: IcebergType) -> tuple[NestedField, ...]:
    """Return the fields right below a type: struct fields, list element, map key and value."""
    match kind:
        case StructType(fields=fields):
            return fields
        case ListType():
            return (kind.element_field,)
        case MapType():
            return (kind.key_field, kind.value_field)
        case _:
            return ()


_SIMPLE: dict[str, PrimitiveType | VariantType] = {
    str(kind): kind
    for kind in (
        BooleanType(), IntegerType(), LongType(), FloatType(), DoubleType(), DateType(),
        TimeType(), TimestampType(), TimestamptzType(), TimestampNanoType(),
        TimestamptzNanoType(), StringType(), UUIDType(), BinaryType(), UnknownType(),
        VariantType(),
    )
}  # fmt: skip
_FIXED = re.compile(r"fixed\s*\[\s*(\d{1,19})\s*\]", re.IGNORECASE)
_DECIMAL = re.compile(r"decimal\s*\(\s*(\d{1,19})\s*,\s*(\d{1,19})\s*\)", re.IGNORECASE)
_GEOMETRY = re.compile(r"geometry\s*(?:\(\s*([^),]*?)\s*\))?", re.IGNORECASE)
_GEOGRAPHY = re.compile(r"geography\s*(?:\(\s*([^),]*?)\s*(?:,\s*(\w*)\s*)?\))?", re.IGNORECASE)
_ALGORITHMS = ("spherical", "vincenty", "thomas", "andoyer", "karney")


def parse_type(text: str) -> PrimitiveType | VariantType:
    """Return the type of a JSON name such as `long`, `decimal(9,2)` or `fixed[16]`.

    Case and blanks around parameters don't matter. Raises UnsupportedError for an unknown name,
    InvalidSchemaError for parameters out of range.
    """
    name = text.strip()
    simple = _SIMPLE.get(name.lower())
    if simple is not None:
        return simple
    if match := _FIXED.fullmatch(name):
        return FixedType(int(match.group(1)))
    if match := _DECIMAL.fullmatch(name):
        return DecimalType(int(match.group(1)), int(match.group(2)))
    if match := _GEOMETRY.fullmatch(name):
        return GeometryType(match.group(1) or None)
    if match := _GEOGRAPHY.fullmatch(name):
        return _geography(match.group(1) or None, match.group(2) or None)
    raise UnsupportedError(
        f"Unknown type '{text}': this version supports the types of format v1 to v3"
    )


def _geography(crs: str | None, algorithm: str | None) -> GeographyType:
    if algorithm is not None and algorithm.lower() not in _ALGORITHMS:
        raise InvalidSchemaError(
            f"Unknown edge algorithm '{algorithm}' of geography; known: {', '.join(_ALGORITHMS)}"
        )
    return GeographyType(crs, algorithm.lower() if algorithm else None)
