"""The layout of variants in Arrow: metadata and value as bytes (Parquet's "Variant Encoding")."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.types as pt

from iceberg_spark.arrow.arrays import struct_children, struct_of, without_nulls

METADATA, VALUE, TYPED = "metadata", "value", "typed_value"
VARIANT = pa.struct(
    [
        pa.field(METADATA, pa.binary(), nullable=False),
        pa.field(VALUE, pa.binary(), nullable=False),
    ]
)
"""The type of every column of variants that leaves a reader."""


def is_variant(kind: pa.DataType) -> bool:
    """Return whether a type is a struct of a variant's two parts, in any order and layout."""
    return (
        pt.is_struct(kind)
        and {field.name for field in kind} == {METADATA, VALUE}
        and kind.num_fields == len(VARIANT)
        and all(_is_bytes(field.type) for field in kind)
    )


def is_stored_variant(kind: pa.DataType) -> bool:
    """Return whether a file's type may be a variant's, shredded or not."""
    names = {field.name for field in kind} if pt.is_struct(kind) else set()
    return METADATA in names and not names.isdisjoint({VALUE, TYPED})


def plain_variant(array: pa.StructArray) -> pa.StructArray:
    """Return an array of any layout that `is_variant` accepts as one of `VARIANT`.

    Spark marks the parts of a null variant null too, which Parquet refuses in required columns.
    """
    children = dict(zip((field.name for field in array.type), struct_children(array), strict=True))
    parts = [without_nulls(children[name].cast(pa.binary())) for name in (METADATA, VALUE)]
    return struct_of(len(array), parts, VARIANT, array)


def _is_bytes(kind: pa.DataType) -> bool:
    return bool(pt.is_binary(kind) or pt.is_large_binary(kind) or pt.is_binary_view(kind))
