"""Equality deletes that we wrote, by keys of every type: both engines and Java read alike."""

import uuid
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import iceberg_spark as ice
from iceberg_spark import Table
from iceberg_spark.arrow.schema import to_arrow
from tests.builders import field, schema, struct
from tests.oracle.compare import assert_same_rows
from tests.oracle.java_api import location, read
from tests.oracle.product import read_arrow, read_frame
from tests.spark.delete_commits import delete_keys

ROWS = 12
SCHEMA = schema(
    field(1, "id", "long", True),
    field(2, "i", "int"),
    field(3, "dec9", "decimal(9, 2)"),
    field(4, "dec38", "decimal(38, 10)"),
    field(5, "dt", "date"),
    field(6, "ts", "timestamp"),
    field(7, "tz", "timestamptz"),
    field(8, "s", "string"),
    field(9, "b", "binary"),
    field(10, "fx", "fixed[4]"),
    field(11, "u", "uuid"),
    field(12, "bo", "boolean"),
    field(13, "st", struct(field(14, "a", "int"), field(15, "u", "string"))),
)
VALUES: dict[str, Any] = {
    "i": lambda k: k - 5,
    "dec9": lambda k: Decimal(k - 5).scaleb(-2),
    "dec38": lambda k: Decimal((k - 5) * 10**25).scaleb(-10),
    "dt": lambda k: k - 5,
    "ts": lambda k: (k - 5) * 1_000_001,
    "tz": lambda k: (k - 5) * 1_000_001,
    "s": lambda k: ("", "a", "A", "a ", "é", "e\u0301")[k % 6] + "x" * (k // 6),
    "b": lambda k: bytes([k, 255, 0])[: k % 4],
    "fx": lambda k: bytes([255 - k, 0, k, 128]),
    "u": lambda k: uuid.UUID(int=(k << 120) + k).bytes,
    "bo": lambda k: k % 2 == 0,
}
GONE = (3, 4, 9)


def value(name: str, number: int) -> Any:
    """NULL in every third row."""
    return None if number % 3 == 0 else VALUES[name](number)


def rows(start: int) -> pa.Table:
    numbers = range(ROWS)
    columns: dict[str, Any] = {"id": [start + k for k in numbers]}
    columns |= {name: [value(name, k) for k in numbers] for name in VALUES}
    columns["st"] = [{"a": k, "u": f"u{k}"} for k in numbers]
    return pa.table(columns, schema=to_arrow(SCHEMA))


def made(java: SparkSession, name: str) -> Table:
    """Twelve rows, and beside them twelve that are younger than the deletes to come."""
    table = ice.create_table(location(java, name), SCHEMA)
    table.append(rows(0))
    return table


def same_everywhere(java: SparkSession, table: Table, ids: list[int]) -> None:
    path = table.location()
    native = read_frame(java, path, "native")
    assert sorted(native.column("id").to_pylist()) == ids
    assert_same_rows(native, read_frame(java, path, "arrow"), what="the Arrow engine's frame")
    by_arrow = read_arrow(path).select(["id"])
    assert_same_rows(native.select(["id"]), by_arrow, what="the Arrow scan")
    assert_same_rows(read(java, path), native, what="the native frame")


@pytest.mark.parametrize("column", VALUES)
def test_a_key_of_every_type_deletes_older_rows_null_among_them(
    java: SparkSession, column: str
) -> None:
    table = made(java, f"our_key_{column}")
    delete_keys(table, [{column: value(column, k)} for k in GONE])
    table.append(rows(100))
    gone = {repr(value(column, k)) for k in GONE}
    left = [k for k in range(ROWS) if repr(value(column, k)) not in gone]
    assert 0 < len(left) < ROWS
    same_everywhere(java, table, [*left, *range(100, 100 + ROWS)])


def test_keys_of_several_columns_match_as_a_whole(java: SparkSession) -> None:
    table = made(java, "our_key_pairs")
    names = ("u", "fx", "dec38", "i")
    delete_keys(table, [{name: value(name, k) for name in names} for k in (1, 3)])
    mixed = {"u": value("u", 2), "fx": value("fx", 4), "dec38": value("dec38", 2), "i": -3}
    delete_keys(table, [mixed])
    same_everywhere(java, table, [2, 4, 5, 7, 8, 10, 11])


def test_a_key_inside_a_struct_is_renamed_with_it(java: SparkSession) -> None:
    table = made(java, "our_key_nested")
    delete_keys(table, [{"st.a": 4}, {"st.a": 7}])
    with table.update_schema() as update:
        update.rename_column("st.a", "b")
        update.rename_column("st", "pair")
    delete_keys(table, [{"pair.b": 8}])
    same_everywhere(java, table, [0, 1, 2, 3, 5, 6, 9, 10, 11])


def test_a_key_that_was_widened_since(java: SparkSession) -> None:
    table = made(java, "our_key_widened")
    delete_keys(table, [{"i": 3}, {"i": None}])
    delete_keys(table, [{"dec9": Decimal("-0.04")}])
    with table.update_schema() as update:
        update.update_column("i", "bigint")
        update.update_column("dec9", "decimal(18, 2)")
    table.append(pa.table({"id": [100, 101], "i": pa.array([3, 1 << 40], pa.int64())}))
    delete_keys(table, [{"i": 1 << 40}, {"i": 6}, {"dec9": Decimal("0.05")}][:2])
    same_everywhere(java, table, [2, 4, 5, 7, 10, 100])


def test_a_key_that_was_renamed_and_one_that_was_dropped(java: SparkSession) -> None:
    table = made(java, "our_key_renamed")
    delete_keys(table, [{"u": value("u", 1)}])
    delete_keys(table, [{"fx": value("fx", 2)}])
    with table.update_schema() as update:
        update.rename_column("u", "was_u")
        update.delete_column("fx")
    with table.update_schema() as update:
        update.rename_column("b", "u")
    same_everywhere(java, table, [0, *range(3, ROWS)])
