"""Transforms from the text that metadata stores (specification, "Partition Transforms")."""

from __future__ import annotations

import re

from iceberg_spark.errors import InvalidSchemaError
from iceberg_spark.spec.transforms import (
    BucketTransform,
    DayTransform,
    HourTransform,
    IdentityTransform,
    MonthTransform,
    Transform,
    TruncateTransform,
    UnknownTransform,
    VoidTransform,
    YearTransform,
)

SIMPLE_TRANSFORMS: dict[str, Transform] = {
    str(transform): transform
    for transform in (
        IdentityTransform(), YearTransform(), MonthTransform(), DayTransform(), HourTransform(),
        VoidTransform(),
    )
}  # fmt: skip
_WITH_WIDTH = re.compile(r"(\w+)\s*\[\s*(\d+)\s*\]")
MAX_WIDTH = (1 << 31) - 1


def parse_transform(text: str) -> Transform:
    """Return the transform of its stored text, such as `bucket[16]`; case does not matter.

    A name this library doesn't know gives an UnknownTransform. Raises InvalidSchemaError for a
    width out of range.
    """
    name = text.strip()
    simple = SIMPLE_TRANSFORMS.get(name.lower())
    if simple is not None:
        return simple
    found = _WITH_WIDTH.fullmatch(name)
    if found is not None and found.group(1).lower() in ("bucket", "truncate"):
        return with_width(found.group(1).lower(), int(found.group(2)))
    return UnknownTransform(text)


def with_width(name: str, width: int) -> BucketTransform | TruncateTransform:
    """Return `bucket` or `truncate` with its parameter. Raises InvalidSchemaError."""
    if not 1 <= width <= MAX_WIDTH:
        need = "number of buckets" if name == "bucket" else "width"
        raise InvalidSchemaError(f"{name}[{width}]: the {need} must be 1 to {MAX_WIDTH}")
    return BucketTransform(width) if name == "bucket" else TruncateTransform(width)
