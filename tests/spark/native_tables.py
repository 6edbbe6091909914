"""Tables that show where Spark's own reader and ours could differ."""

import uuid
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import Row

import iceberg_spark as ice
from iceberg_spark import Table
from iceberg_spark.arrow.schema import to_arrow
from tests.builders import field, list_of, map_of, schema, struct

NAN = float("nan")
METADATA_COLUMNS = ("_file", "_pos", "_deleted", "_spec_id", "_partition")
EVERY_TYPE = schema(
    field(1, "id", "long", True, doc="the key"),
    field(2, "i", "int"),
    field(3, "f", "float"),
    field(4, "d", "double"),
    field(5, "dec", "decimal(9, 2)"),
    field(6, "dt", "date"),
    field(7, "ts", "timestamp"),
    field(8, "tz", "timestamptz"),
    field(9, "s", "string"),
    field(10, "b", "binary"),
    field(11, "fx", "fixed[4]"),
    field(12, "u", "uuid"),
    field(13, "bo", "boolean"),
    field(14, "st", struct(field(15, "a", "int", doc="inner"), field(16, "f", "float"))),
    field(17, "l", list_of(18, struct(field(19, "x", "int"), field(24, "w", "int")))),
    field(20, "m", map_of(21, "string", 22, struct(field(23, "y", "int")))),
    field(25, "plain", struct(field(26, "p", "int"), field(27, "q", "string"))),
)


def every_type_rows(count: int) -> dict[str, Any]:
    """Columns with nulls, NaN, null structs and empty lists."""
    numbers = range(count)
    return {
        "id": list(numbers),
        "i": [k % 2 for k in numbers],
        "f": [NAN if k % 3 == 0 else float(k) for k in numbers],
        "d": [k / 2 if k % 4 else NAN for k in numbers],
        "dec": [Decimal(k).scaleb(-2) for k in numbers],
        "dt": [k - 5 for k in numbers],
        "ts": [(k - 5) * 1_000_001 for k in numbers],
        "tz": [(k - 5) * 1_000_001 for k in numbers],
        "s": [f"s{k}" if k % 5 else None for k in numbers],
        "b": [b"%d" % k for k in numbers],
        "fx": [b"%04d" % k for k in numbers],
        "u": [uuid.UUID(int=k).bytes for k in numbers],
        "bo": [k % 2 == 0 for k in numbers],
        "st": [{"a": k, "f": NAN} if k % 3 else None for k in numbers],
        "l": [[{"x": k, "w": -k}] * (k % 3) if k % 4 else None for k in numbers],
        "m": [[("k", {"y": k})] if k % 2 else None for k in numbers],
        "plain": [{"p": k, "q": f"q{k}"} if k % 3 else None for k in numbers],
    }


def every_type_table(folder: Path, **options: Any) -> Table:
    """Twelve rows of every type in two partitions, in a folder whose name has to be escaped."""
    table = ice.create_table(f"{folder}/t 1%20+é", EVERY_TYPE, partition_by=["i"], **options)
    table.append(pa.table(every_type_rows(12), schema=to_arrow(table.schema())))
    return table


def evolve(table: Table) -> None:
    """Rename, drop, widen, add, and add again under names that other columns had."""
    with table.update_schema() as update:
        update.rename_column("s", "text")
        update.rename_column("i", "k")
        update.rename_column("st.a", "a9")
        update.rename_column("m.value.y", "yy")
        update.delete_column("b")
        update.delete_column("st.f")
        update.delete_column("plain.p")
        update.update_column("f", "double")
        update.update_column("st.a", "bigint")
        update.update_column("dec", "decimal(18, 2)")
        update.add_column("plain.r", "int")
        update.add_column("l.element.v", "string")
    with table.update_schema() as update:
        update.add_column("b", "bigint")
        update.add_column("s", "int")
        update.add_column("st.f", "int")
        update.delete_column("l.element.x")


def rows(frame: Any) -> list[str]:
    """The rows as text in a fixed order: NaN equals itself there, bytes equal a bytearray."""
    return sorted(repr(_with_bytes(row)) for row in frame.collect())


def _with_bytes(value: Any) -> Any:
    """Return a value of a row with bytes where PySpark may show binary as a bytearray."""
    match value:
        case bytearray():
            return bytes(value)
        case Row():
            return tuple(zip(value.__fields__, map(_with_bytes, value), strict=True))
        case list():
            return [_with_bytes(each) for each in value]
        case dict():
            return {_with_bytes(key): _with_bytes(each) for key, each in value.items()}
        case _:
            return value
