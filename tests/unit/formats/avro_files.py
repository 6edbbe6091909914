"""Avro files made by fastavro, and every Iceberg type with values that are easy to get wrong."""

import io
import uuid
from collections.abc import Sequence
from decimal import Context, Decimal
from typing import Any

import fastavro

from iceberg_spark.formats.avro.schema import avro_record
from iceberg_spark.spec.types import IcebergType, NestedField, StructType
from tests.builders import type_of

CODECS = ("null", "deflate", "snappy", "zstandard")

FAR = 253_402_300_800_000_000  # the first microsecond of the year 10000, past Python's dates
VALUES: dict[str, tuple[Any, ...]] = {
    "boolean": (True, False),
    "int": (-(2**31), 2**31 - 1, 0),
    "long": (-(2**63), 2**63 - 1, 0),
    "float": (1.5, -0.0, float("inf")),
    "double": (1.5, -0.0, float("-inf")),
    "decimal(9, 2)": (Decimal("-1.23"), Decimal("9999999.99"), Decimal("0.00")),
    "decimal(38, 10)": (Decimal("-1234567890123456789012345678.0123456789"),),
    "date": (-719_529, 0, 19_000, 2_932_897),
    "time": (0, 86_399_999_999),
    "timestamp": (-1, 1_700_000_000_000_000, FAR),
    "timestamptz": (-1, 1_700_000_000_000_000, FAR),
    "timestamp_ns": (-1, 1_700_000_000_000_000_123),
    "timestamptz_ns": (-1, 1_700_000_000_000_000_123),
    "string": ("", "a", "täst 😀"),
    "uuid": (uuid.UUID(int=0).bytes, uuid.UUID(int=2**128 - 1).bytes),
    "fixed[3]": (b"abc", b"\x00\xff\x00"),
    "binary": (b"", b"\x00\xff"),
}


def on_disk(kind: IcebergType, value: Any) -> Any:
    """A value as fastavro wants it where the logical type is left out."""
    if isinstance(value, Decimal):
        size = next(
            branch["size"] for branch in one_column(kind)["fields"][0]["type"] if branch != "null"
        )
        unscaled = int(value.scaleb(getattr(kind, "scale", 0), Context(prec=40)))
        return unscaled.to_bytes(size, "big", signed=True)
    return value


def one_column(kind: str | IcebergType) -> dict[str, Any]:
    return avro_record(StructType(NestedField(1, "c", type_of(kind))), "table")


def avro_file(schema: dict[str, Any], rows: Sequence[Any], codec: str = "null") -> bytes:
    """A file of fastavro; values are given as on disk, its header has the full schema."""
    out = io.BytesIO()
    fastavro.writer(out, schema, list(rows), codec=codec, sync_interval=500)
    return out.getvalue()
