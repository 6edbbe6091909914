"""Numbers that Spark rounds to compare them: queries and DELETE mean what Spark means by them.

The brute-force model is a temporary view of the same rows, which Spark reads alone.
"""

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import iceberg_spark as ice

COLUMNS = "id int, w decimal(38, 2), n decimal(10, 2), p decimal(38, 20), l bigint"
ROWS = [
    (1, "0.12", "5.00", "5.00000000000000000001", 5),
    (2, "0.13", "5.01", "5.00000000000000000000", 6),
    (3, "-0.13", "-5.00", "0.99999999999999999999", 1),
    (4, "0.00", "0.00", "0.00000000000000000000", 0),
    (5, None, None, None, None),
]
CONDITIONS = [
    "w <= 0.125", "w = 0.125", "w BETWEEN 0.125 AND 1", "NOT w > 0.125", "w IN (0.125, 9)",
    "w > 0.125", "n = CAST(5 AS DECIMAL(38, 0))", "n >= CAST('5' AS DECIMAL(38, 0))",
    "n IN (1.5, CAST(5 AS DECIMAL(38, 0)))", "n <> CAST(0 AS DECIMAL(38, 0))",
    "p = CAST(5 AS BIGINT)", "p = 2 + 3", "p < CAST(1 AS BIGINT)", "p IN (5L)", "p = 5",
    "l = 5.00000000000000000000001", "l > 5.00000000000000000000001",
    "l = 0.99999999999999999999999999999999", "w <= 0.1 + 0.025",
]  # fmt: skip


@pytest.fixture
def numbers(spark: Any, sql_home: Path) -> Iterator[Any]:
    """`st.d.t` has a file for each row, `model` the same rows."""
    ice.sql(spark, f"CREATE TABLE st.d.t ({COLUMNS})")
    rows = [(one, *map(_decimal, decimals), whole) for one, *decimals, whole in ROWS]
    for row in rows:
        frame = spark.createDataFrame([row], COLUMNS)
        ice.load_table("st.d.t").append(frame)
    spark.createDataFrame(rows, COLUMNS).createOrReplaceTempView("model")
    yield spark
    spark.catalog.dropTempView("model")


def _decimal(text: str | None) -> Decimal | None:
    return None if text is None else Decimal(text)


def ids(frame: Any) -> list[int]:
    return sorted(row.id for row in frame.select("id").collect())


@pytest.mark.parametrize("condition", CONDITIONS)
def test_a_query_and_delete_mean_what_spark_means(numbers: Any, condition: str) -> None:
    expected = ids(numbers.sql(f"SELECT id FROM model WHERE {condition}"))
    assert ids(ice.sql(numbers, f"SELECT * FROM st.d.t WHERE {condition}")) == expected
    ice.sql(numbers, f"DELETE FROM st.d.t WHERE {condition}")
    left = sorted({row[0] for row in ROWS} - set(expected))
    assert ids(ice.sql(numbers, "SELECT * FROM st.d.t")) == left


def test_a_scan_and_delete_of_the_api_mean_what_spark_means(numbers: Any) -> None:
    table = ice.load_table("st.d.t")
    assert sorted(table.scan(row_filter="w <= 0.125").to_arrow()["id"].to_pylist()) == [1, 2, 3, 4]
    table.delete(ice.col("w") <= Decimal("0.125"))
    assert table.scan().to_arrow()["id"] == pa.chunked_array([pa.array([5], pa.int32())])
