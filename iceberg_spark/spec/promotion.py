"""Which primitive types a column may change to (specification, "Schema Evolution")."""

from __future__ import annotations

from typing import Any

from iceberg_spark.errors import InvalidInputError
from iceberg_spark.spec.format_version import rules_of
from iceberg_spark.spec.types import (
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IcebergType,
    IntegerType,
    LongType,
    TimestampNanoType,
    TimestampType,
    UnknownType,
)
from iceberg_spark.spec.values import MICROS_PER_DAY, NANOS_PER_DAY

ALLOWED = "int to long, float to double, decimal(p, s) to a larger p with the same s"
ALLOWED_FROM_V3 = "date to timestamp or timestamp_ns, unknown to any type"


def can_promote(narrow: IcebergType, wide: IcebergType, format_version: int = 2) -> bool:
    """Return whether a column of one type may become the other; not for equal types."""
    match narrow, wide:
        case (IntegerType(), LongType()) | (FloatType(), DoubleType()):
            return True
        case DecimalType() as less, DecimalType() as more:
            return less.scale == more.scale and less.precision < more.precision
        case DateType(), TimestampType() | TimestampNanoType():
            return rules_of(format_version).has_new_types
        case UnknownType(), kind:
            return rules_of(format_version).has_new_types and not isinstance(kind, UnknownType)
        case _:
            return False


def promoted_value(narrow: IcebergType, wide: IcebergType, value: Any) -> Any:
    """Return a canonical value, None too, as one of the wider type.

    Raises InvalidInputError for a date out of the range of timestamps in nanoseconds.
    """
    if value is None or not isinstance(narrow, DateType):
        return value
    if isinstance(wide, TimestampNanoType):
        moment = value * NANOS_PER_DAY
        if not -(1 << 63) <= moment < 1 << 63:
            raise InvalidInputError(f"Day {value} from 1970 is beyond {wide}")
        return moment
    return value * MICROS_PER_DAY


def allowed_promotions(format_version: int) -> str:
    """Return the allowed promotions of a format version, for error messages."""
    return f"{ALLOWED}; {ALLOWED_FROM_V3}" if rules_of(format_version).has_new_types else ALLOWED
