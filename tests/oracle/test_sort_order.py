"""Files in the table's sort order: as Java orders them, and Java goes on with them."""

import math
import random
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import iceberg_spark as ice
from iceberg_spark.spark.procedures import compaction
from tests.limits import set_limits
from tests.oracle.compare import assert_same_rows
from tests.oracle.java_api import identifier, location, read

SCHEMA = pa.schema(
    [
        ("n", pa.int32()),
        ("id", pa.int64()),
        ("s", pa.string()),
        ("d", pa.float64()),
        ("e", pa.decimal128(9, 2)),
        ("ts", pa.timestamp("us", "UTC")),
        ("b", pa.binary()),
        ("st", pa.struct([("x", pa.int32())])),
    ]
)
ORDERS = (
    ["d", "id desc nulls first", "n"],
    ["d desc nulls last", "n desc"],
    ["s asc nulls last", "e", "b desc", "n"],
    ["bucket(4, id)", "truncate(2, s) desc", "hours(ts) desc nulls first", "st.x", "n"],
)


def rows(count: int = 60) -> pa.Table:
    """Rows with every awkward value; `n` tells them apart."""
    pick = random.Random(11)
    floats = [math.nan, math.inf, -math.inf, 1.5, -2.5, 0.0, None]
    texts = ["", "a", "ab", "abc", "B", "\ufffd", "\U0001f600", None]

    def row(number: int) -> dict[str, Any]:
        day = datetime(1970, 1, 1, tzinfo=UTC).timestamp() + pick.randint(-(10**6), 10**6)
        return {
            "n": number,
            "id": pick.choice([None, number, -number, 2**40]),
            "s": pick.choice(texts),
            "d": pick.choice(floats),
            "e": pick.choice([None, Decimal("-1.25"), Decimal("3.10")]),
            "ts": pick.choice([None, datetime.fromtimestamp(day, UTC)]),
            "b": pick.choice([None, b"", b"\x00", b"\xff", b"\x7f"]),
            "st": pick.choice([None, {"x": None}, {"x": number % 3}]),
        }

    return pa.Table.from_pylist([row(number) for number in range(count)], SCHEMA)


@pytest.mark.parametrize("order", ORDERS, ids=lambda order: order[0])
def test_rows_lie_as_javas_rewrite_sorts_them(
    java: SparkSession, monkeypatch: pytest.MonkeyPatch, order: list[str]
) -> None:
    name = f"sorted_{ORDERS.index(order)}"
    path = location(java, name)
    table = ice.create_table(path, SCHEMA, sort_order=order)
    table.append(rows())
    ours = read(java, path)["n"].to_pylist()
    files = java.table(f"{identifier(name)}.files").select("sort_order_id").collect()
    assert [row.sort_order_id for row in files] == [1]
    java.sql(
        f"CALL j.system.rewrite_data_files(table => '{identifier(name)}', strategy => 'sort', "
        "options => map('rewrite-all', 'true', 'shuffle-partitions-per-file', '1'))"
    )
    assert read(java, path)["n"].to_pylist() == ours
    assert_same_rows(rows(), ice.load_table(path).scan().to_arrow())
    set_limits(monkeypatch, compaction, "ORDERING", task_bytes=1, range_bytes=500)
    table.refresh().append(rows())
    table.maintenance.rewrite_data_files("sort", options={"rewrite-all": True}, spark=java)
    twice = read(java, path)["n"].to_pylist()
    assert (twice[::2], twice[1::2]) == (ours, ours)


def test_java_appends_and_rewrites_a_table_that_we_sort_in_partitions(java: SparkSession) -> None:
    name = "sorted_partitions"
    path = location(java, name)
    table = ice.create_table(path, SCHEMA, partition_by=["bucket(2, n)"])
    table.append(rows(20))
    table.update_sort_order().desc("s").asc("n").commit()
    table.append(rows(40))
    java.sql(f"INSERT INTO {identifier(name)} SELECT * FROM {identifier(name)} WHERE n < 5")
    files = java.table(f"{identifier(name)}.files").select("sort_order_id").collect()
    assert sorted(row.sort_order_id for row in files) == [0, 0, 1, 1, 1, 1]
    expected = read(java, path)
    java.sql(
        f"CALL j.system.rewrite_data_files(table => '{identifier(name)}', "
        "options => map('rewrite-all', 'true'))"
    )
    assert_same_rows(expected, read(java, path), what="Java after its rewrite")
    assert_same_rows(expected, ice.load_table(path).scan().to_arrow(), what="we after it")
