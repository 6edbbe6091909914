"""Hashes of rows are those of Spark's own function."""

import random
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from iceberg_spark.spark.adapt.arrow_rows import frame_of
from iceberg_spark.spark.deletes.key_tables import can_hash, row_hashes

DRAWN = random.Random(7)
TEXTS = ["", "a", "ab", "abc", "abcd", "ü", "żółć", "\x00", "x" * 37, "😀b"]
COLUMNS = {
    "i": pa.array([0, 1, -1, 2**31 - 1, -(2**31), None, 7, 8, 9, 10], pa.int32()),
    "n": pa.array([0, 1, -1, 2**63 - 1, -(2**63), None, 2**32, -(2**32), 9, 10], pa.int64()),
    "s": pa.array([*TEXTS[:-1], None]),
    "b": pa.array([bytes(DRAWN.randbytes(at)) for at in range(9)] + [None], pa.binary()),
    "d": pa.array([0, 1, -1, 20_000, -20_000, None, 1, 2, 3, 4], pa.date32()),
    "t": pa.array([0, 1, -1, 2**52, -(2**52), None, 1, 2, 3, 4], pa.timestamp("us", "UTC")),
    "w": pa.array([0, 1, -1, 2**52, -(2**52), None, 1, 2, 3, 4], pa.timestamp("us")),
    "o": pa.array([True, False, None] * 3 + [True]),
    "c": pa.array([Decimal(at).scaleb(-2) for at in range(-4, 5)] + [None], pa.decimal128(9, 2)),
    "l": pa.array([Decimal(10**17) * at for at in range(-4, 5)] + [None], pa.decimal128(18, 0)),
}


def sparks(spark: SparkSession, table: pa.Table) -> list[int]:
    columns = ", ".join(table.column_names)
    return [row.h for row in frame_of(spark, table).selectExpr(f"hash({columns}) h").collect()]


def ours(table: pa.Table) -> list[int]:
    return row_hashes(table.columns).view(np.int32).tolist()


@pytest.mark.parametrize("name", COLUMNS)
def test_hashes_of_a_column_are_sparks(spark: SparkSession, name: str) -> None:
    assert can_hash(COLUMNS[name].type)
    table = pa.table({name: COLUMNS[name]})
    assert ours(table) == sparks(spark, table)
    assert ours(table.slice(3, 5)) == ours(table)[3:8]


def test_hashes_of_several_columns_are_sparks(spark: SparkSession) -> None:
    table = pa.table(COLUMNS)
    assert ours(table) == sparks(spark, table)


def test_hashes_of_texts_of_all_lengths_are_sparks(spark: SparkSession) -> None:
    values: list[Any] = [DRAWN.randbytes(DRAWN.randrange(60)) for _ in range(3_000)]
    table = pa.table({"b": pa.array(values, pa.binary()), "n": range(3_000)})
    assert ours(table) == sparks(spark, table)


def test_types_whose_hashes_are_others_are_not_hashed() -> None:
    for kind in (pa.float64(), pa.decimal128(19, 0), pa.timestamp("ns"), pa.list_(pa.int32())):
        assert not can_hash(kind)
