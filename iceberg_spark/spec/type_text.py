"""Primitive types from their JSON names (specification, Appendix C, "Schemas")."""

from __future__ import annotations

import re

from iceberg_spark.errors import InvalidSchemaError, UnsupportedError
from iceberg_spark.spec.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    GeographyType,
    GeometryType,
    IntegerType,
    LongType,
    PrimitiveType,
    StringType,
    TimestampNanoType,
    TimestampType,
    TimestamptzNanoType,
    TimestamptzType,
    TimeType,
    UnknownType,
    UUIDType,
    VariantType,
)

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
