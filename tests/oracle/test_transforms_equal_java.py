"""Every transform of every type that it takes: Java's partition values and partition paths."""

import math
import uuid
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import iceberg_spark as ice
from iceberg_spark.arrow.schema import to_arrow
from iceberg_spark.arrow.transforms import apply_transform
from iceberg_spark.arrow.values import from_array
from iceberg_spark.spec.partition import PartitionField, PartitionSpec
from iceberg_spark.spec.partition_path import partition_path
from iceberg_spark.spec.transform_text import parse_transform
from tests.builders import schema, type_of
from tests.oracle.evolving import java_type, twins
from tests.oracle.java_api import frame, iceberg

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MOMENTS = [
    EPOCH, EPOCH - timedelta(microseconds=1), EPOCH - timedelta(hours=1),
    EPOCH - timedelta(days=1), EPOCH - timedelta(days=1, microseconds=1),
    EPOCH + timedelta(microseconds=1), datetime(1969, 1, 1, tzinfo=UTC),
    datetime(1968, 12, 31, 23, 59, 59, 999999, UTC), datetime(1900, 2, 28, 1, 2, 3, 4, UTC),
    datetime(2017, 11, 16, 22, 31, 8, tzinfo=UTC), datetime(2400, 2, 29, 12, tzinfo=UTC), None,
]  # fmt: skip
DAYS = [one and one.date() for one in MOMENTS] + [date(1, 1, 1), date(9999, 12, 31)]
TIMES = ["years", "months", "days"]
TEXTS = [
    "", "a", "iceberg", "abcd/ef", "a b&c=d%e+f", "é", "日本語テキスト", "\U0001f600\U0001f601x",
    "e\u0301e\u0301", "\ufffd\U0010ffff\U0010ffffz", ".", "null", None,
]  # fmt: skip
BYTES = [b"", b"\x00", b"\x00\x01\x02\x03\x04", b"\xff\xfe\xfd\xfc", b"iceberg", None]
CASES: dict[str, tuple[list[str], list[Any]]] = {
    "boolean": ([], [True, False, None]),
    "int": (
        ["bucket(16, c)", "truncate(10, c)"],
        [0, 1, -1, -10, 10, 34, 2**31 - 1, -(2**31), None],
    ),
    "long": (
        ["bucket(16, c)", "truncate(10, c)"],
        [0, 1, -1, -11, 34, 2**31, 2**63 - 1, -(2**63) + 10, None],
    ),
    "float": ([], [0.0, -0.0, 1.5, math.nan, math.inf, -math.inf, None]),
    "double": ([], [0.0, -0.0, -1.5, 1e300, math.nan, math.inf, -math.inf, None]),
    "decimal(9, 2)": (
        ["bucket(16, c)", "truncate(50, c)"],
        [Decimal(t) for t in ("0", "14.20", "-0.01", "10.65", "-10.65", "9999999.49")] + [None],
    ),
    "decimal(18, 4)": (
        ["bucket(16, c)", "truncate(7, c)"],
        [Decimal(t) for t in ("0", "1.0001", "-1.0001", "99999999999999.9999")] + [None],
    ),
    "decimal(38, 10)": (
        ["bucket(16, c)", "truncate(1000, c)"],
        [Decimal(t) for t in ("0", "1E-10", "-1E-10", "9999999999999999999999999999.0")] + [None],
    ),
    "date": (["bucket(16, c)", *TIMES], DAYS),
    "timestamp": (
        ["bucket(16, c)", *TIMES, "hours"],
        [one and one.replace(tzinfo=None) for one in MOMENTS],
    ),
    "timestamptz": (["bucket(16, c)", *TIMES, "hours"], MOMENTS),
    "string": (["bucket(16, c)", "truncate(2, c)", "truncate(3, c)"], TEXTS),
    "binary": (["bucket(16, c)", "truncate(2, c)"], BYTES),
    "fixed[4]": (["bucket(16, c)"], [b"\x00\x01\x02\x03", b"\xff\xff\xff\xff", None]),
    "uuid": (
        ["bucket(16, c)"],
        [uuid.UUID(int=0), uuid.UUID(int=2**128 - 1), uuid.UUID(int=7), None],
    ),
}  # fmt: skip


def arrow(kind: str, values: list[Any], *, for_spark: bool = False) -> pa.Table:
    """The values as a column `c`; Spark has text for a UUID."""
    if kind == "uuid":
        texts = [None if one is None else str(one) for one in values]
        raw = [None if one is None else one.bytes for one in values]
        column = pa.array(texts) if for_spark else pa.array(raw, pa.binary(16))
    else:
        column = pa.array(values, to_arrow(schema(("c", kind))).field("c").type)
        if for_spark and kind.startswith("fixed"):
            column = column.cast(pa.binary())
    return pa.table({"c": column, "n": pa.array(range(len(values)), pa.int32())})


def folder(path: str) -> str:
    return path.partition("/data/")[2].rpartition("/")[0]


def partitions(java: SparkSession, path: str, *columns: str) -> list[tuple[str, ...]]:
    """Return the folders of all files, and their partition values, as Java reads them."""
    found = java.read.format("iceberg").load(f"{path}#files").select("file_path", *columns)
    return sorted((folder(row[0]), *map(repr, row[1:])) for row in found.collect())


@pytest.mark.parametrize("kind", CASES)
def test_values_and_paths(java: SparkSession, kind: str) -> None:
    transforms, values = CASES[kind]
    name = f"transforms_{list(CASES).index(kind)}"
    ours_at, javas_at = twins(java, name, schema(("c", kind), ("n", "int")), partition_by=["c"])
    for place in (ours_at, javas_at):
        table = ice.load_table(place)
        for text in transforms:  # one at a time: hours may be added to days, not with them
            field = text if "(" in text else f"{text}(c)"
            table.update_spec().add_field(field).commit()
    ice.load_table(ours_at).append(arrow(kind, values))
    rows = frame(java, arrow(kind, values, for_spark=True)).coalesce(1)
    rows.write.format("iceberg").mode("append").option("fanout-enabled", "true").save(javas_at)
    # The values of a UUID are in no Java table: it expects text.
    columns = [] if kind == "uuid" else ["partition"]
    assert partitions(java, ours_at, *columns) == partitions(java, javas_at, *columns)
    if kind == "fixed[4]":
        files = [ice.load_table(location).inspect.files() for location in (ours_at, javas_at)]
        by_us, by_java = (sorted(map(str, one.column("partition").to_pylist())) for one in files)
        assert by_us == by_java


LARGE = [2**31, 3 * 10**9, 62_000_000_000, 86_399_999_999]
NANOS = [2**40, -(2**40), 10**18 + 1, -(10**18) - 1, -86_400_000_000_001, -3_600_000_000_001]
WITHOUT_SPARK = {
    "time": (["identity", "bucket[16]"], LARGE),
    "timestamp_ns": (["identity", "bucket[16]", "year", "month", "day", "hour"], NANOS),
    "timestamptz_ns": (["identity", "bucket[16]", "year", "month", "day", "hour"], NANOS),
}


@pytest.mark.parametrize("kind", WITHOUT_SPARK)
def test_values_and_paths_of_types_that_spark_lacks(java: SparkSession, kind: str) -> None:
    """Values are beyond 32 bits, so that py4j hands them over as Java's longs."""
    transforms, values = WITHOUT_SPARK[kind]
    columns = schema(("c", kind))
    theirs = java_type(java, kind)
    column = pa.array(values, pa.int64()).view(to_arrow(columns).field("c").type)
    for text in transforms:
        transform = parse_transform(text)
        found = apply_transform(transform, type_of(kind), column)
        spec = PartitionSpec(0, (PartitionField((1,), 1000, transform, "p"),))
        made = iceberg(java).transforms.Transforms.fromString(theirs, text)
        bound, result = made.bind(theirs), made.getResultType(theirs)
        ours = from_array(type_of(kind) if text == "identity" else type_of(str(result)), found)
        for value, mine in zip(values, ours, strict=True):
            expected = bound.apply(value)
            assert mine == expected, f"{text} of {value}"
            path = partition_path(spec, columns, (mine,))
            assert path.startswith("p=")
            if isinstance(expected, int) and abs(expected) >= 2**31:
                human = made.toHumanString(result, expected).replace(":", "%3A").replace("+", "%2B")
                assert path == f"p={human}"
