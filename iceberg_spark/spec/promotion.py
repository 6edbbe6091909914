"""Which primitive types a column may change to (specification, "Schema Evolution")."""

from __future__ import annotations

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


def allowed_promotions(format_version: int) -> str:
    """Return for people what may be promoted in tables of a format version."""
    return f"{ALLOWED}; {ALLOWED_FROM_V3}" if rules_of(format_version).has_new_types else ALLOWED
