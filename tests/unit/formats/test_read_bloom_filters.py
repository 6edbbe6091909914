"""Bloom filters of Parquet files leave out row groups, and never one with a value."""

import datetime as dt
import uuid
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from xxhash import xxh64_intdigest as xxh64

from iceberg_spark.arrow.file_fields import file_fields
from iceberg_spark.arrow.schema import to_arrow
from iceberg_spark.expr.bind import bind
from iceberg_spark.expr.parse import parse_predicate
from iceberg_spark.formats import parquet_bloom
from iceberg_spark.formats.data_file import ReadRequest
from iceberg_spark.formats.parquet_reader import open_parquet
from iceberg_spark.io.fsspec_io import FsspecIO
from iceberg_spark.spec.schema import Schema
from tests.builders import schema

EVEN, ODD = range(0, 2000, 2), range(1, 2000, 2)
DAY = dt.date(2024, 1, 1)
VALUES: dict[str, tuple[str, Any, Any]] = {
    "int": ("int", lambda n: n - 1000, lambda n: str(n - 1000)),
    "long": ("long", lambda n: (n - 1000) << 40, lambda n: str((n - 1000) << 40)),
    "string": ("string", lambda n: f"{n:05d}" + "é" * (n % 50), None),
    "date": ("date", lambda n: DAY + dt.timedelta(n), lambda n: f"DATE'{DAY + dt.timedelta(n)}'"),
    "small decimal": ("decimal(9, 2)", lambda n: Decimal(n - 1000) / 4, None),
    "decimal": ("decimal(18, 2)", lambda n: Decimal(n - 1000) / 4, None),
    "38 digits": ("decimal(38, 2)", lambda n: Decimal(f"{(n - 1000) * 10**32 + n}.25"), None),
    "timestamp": (
        "timestamp", lambda n: dt.datetime(2024, 1, 1) + dt.timedelta(hours=n),  # noqa: DTZ001
        lambda n: f"TIMESTAMP_NTZ'{dt.datetime(2024, 1, 1) + dt.timedelta(hours=n)}'",  # noqa: DTZ001
    ),
    "uuid": ("uuid", lambda n: uuid.UUID(int=n).bytes, lambda n: f"'{uuid.UUID(int=n)}'"),
}  # fmt: skip


def literal(kind: str, n: int) -> str:
    _, value, text = VALUES[kind]
    if text is not None:
        return str(text(n))
    return f"'{value(n)}'" if isinstance(value(n), str) else str(value(n))


def written(path: Path, kind: str, **options: Any) -> tuple[str, Schema]:
    """A file of two row groups, the even numbers' values and the odd ones'."""
    columns = schema(("v", VALUES[kind][0]), ("filler", "string"))
    file = path / "f.parquet"
    with pq.ParquetWriter(
        file, to_arrow(columns), bloom_filter_options={"v": {"ndv": 1000, "fpp": 0.001}},
        use_dictionary=False, compression="none", **options,
    ) as writer:  # fmt: skip
        for numbers in (EVEN, ODD):
            values = [VALUES[kind][1](n) for n in numbers]
            rows = {"v": values, "filler": ["x" * 50] * len(values)}
            writer.write_table(pa.table(rows, to_arrow(columns)))
    return str(file), columns


def groups(path: str, columns: Schema, where: str) -> list[int]:
    reader = open_parquet(FsspecIO(), path)
    bound = bind(columns, parse_predicate(where), time_zone="UTC")
    request = ReadRequest(file_fields(reader.schema), frozenset({0, 1}), filter=bound)
    found = [group.number for group in reader._groups(request)]
    reader.close()
    return found


@pytest.mark.parametrize("kind", VALUES)
def test_a_value_is_found_where_it_is_and_mostly_nowhere_else(tmp_path, kind):
    path, columns = written(tmp_path, kind)
    met = {n: groups(path, columns, f"v = {literal(kind, n)}") for n in range(700, 800)}
    assert all(n % 2 in found for n, found in met.items())
    assert sum(len(found) for found in met.values()) < 105
    some = ", ".join(literal(kind, n) for n in (700, 702, 704))
    assert groups(path, columns, f"v IN ({some})") == [0]


def test_conditions_are_combined(tmp_path):
    path, columns = written(tmp_path, "int")
    one, other = literal("int", 700), literal("int", 701)
    assert groups(path, columns, f"v = {one} AND filler = 'x'") == []  # by the bounds
    assert groups(path, columns, f"v = {one} OR v = {other}") == [0, 1]
    assert groups(path, columns, f"v = {one} OR v > 500") == [0, 1]
    assert groups(path, columns, f"v != {one}") == [0, 1]
    assert groups(path, columns, f"v = {one} AND v = {other}") == []
    many = ", ".join(literal("int", n) for n in range(0, 1900, 2))
    assert groups(path, columns, f"v IN ({many})") in ([0], [0, 1])


@pytest.mark.parametrize("kind", ["small decimal", "decimal"])
def test_decimals_are_whole_numbers_in_files_of_spark(tmp_path, kind):
    path, columns = written(tmp_path, kind, store_decimal_as_integer=True)
    assert groups(path, columns, f"v = {literal(kind, 700)}") == [0]
    assert groups(path, columns, f"v = {literal(kind, 701)}") == [1]


def test_a_promoted_column_is_looked_up_as_the_file_stores_it(tmp_path):
    path, _ = written(tmp_path, "int")
    columns = schema(("v", "long"), ("filler", "string"))
    assert groups(path, columns, "v = -300") == [0]
    assert groups(path, columns, "v = 4294966996") == []
    path, _ = written(tmp_path, "small decimal")
    columns = schema(("v", "decimal(30, 2)"), ("filler", "string"))
    assert groups(path, columns, "v = -75.00") == [0]
    assert groups(path, columns, "v IN (-75.00, 12345678901234567890.00)") == [0]


def test_a_filter_that_is_not_understood_leaves_out_nothing(tmp_path, monkeypatch):
    path, columns = written(tmp_path, "long")
    where = f"v = {literal('long', 700)}"
    assert groups(path, columns, where) == [0]
    monkeypatch.setattr(parquet_bloom, "_KINDS", {2: {2: {}}})  # another algorithm
    assert groups(path, columns, where) == [0, 1]


def test_too_many_values_are_not_looked_up(tmp_path, monkeypatch):
    path, columns = written(tmp_path, "long")
    some = ", ".join(literal("long", n) for n in (700, 702))
    limits = type(parquet_bloom.READING)
    monkeypatch.setattr(parquet_bloom, "READING", limits(bloom_values=1))
    assert groups(path, columns, f"v IN ({some})") == [0, 1]


def test_hashes_are_those_of_xxh64():
    assert xxh64(b"") == 0xEF46DB3751D8E999
    assert xxh64(b"abc") == 0x44BC2CF5AD770999
