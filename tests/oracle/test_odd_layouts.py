"""Layouts that are easy to forget, beside Java: no partition fields left, names told by case."""

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import iceberg_spark as ice
from tests.oracle.compare import assert_same_rows
from tests.oracle.java_api import identifier, location, read
from tests.oracle.product import read_both

FIRST = pa.table({"id": pa.array([1, 2, 3], pa.int64()), "k": ["a", "b", "c"]})
FRESH = pa.table({"id": pa.array([9], pa.int64()), "k": ["a"]})


@pytest.mark.parametrize("removed", [False, True], ids=["never had any", "removed"])
def test_a_dynamic_overwrite_without_partition_fields_replaces_what_javas_does(
    java: SparkSession, removed: bool
) -> None:
    names = [f"no_fields_{removed}_{who}" for who in ("java", "ours")]
    for name in names:
        java.sql(f"DROP TABLE IF EXISTS {identifier(name)}")
        by = "PARTITIONED BY (k)" if removed else ""
        java.sql(f"CREATE TABLE {identifier(name)} (id bigint, k string) USING iceberg {by}")
        java.createDataFrame(FIRST).writeTo(identifier(name)).append()
        if removed:
            java.sql(f"ALTER TABLE {identifier(name)} DROP PARTITION FIELD k")
    java.createDataFrame(FRESH).writeTo(identifier(names[0])).overwritePartitions()
    ours = location(java, names[1])
    ice.load_table(ours).dynamic_partition_overwrite(FRESH)
    expected = read(java, location(java, names[0]))
    assert_same_rows(expected, read_both(java, ours), what="our dynamic overwrite")


def test_columns_that_differ_by_case_only_are_read_and_written_as_java_does(
    java: SparkSession,
) -> None:
    name = "told_by_case"
    java.conf.set("spark.sql.caseSensitive", "true")
    try:
        java.sql(f"DROP TABLE IF EXISTS {identifier(name)}")
        java.sql(f"CREATE TABLE {identifier(name)} (a string, A string, n int) USING iceberg")
        java.sql(f"INSERT INTO {identifier(name)} VALUES ('x', 'Y', 1), ('y', 'X', 2)")
        path = location(java, name)
        ice.load_table(path).append(pa.table({"A": ["Z"], "n": pa.array([3], pa.int32())}))
        expected = read(java, path)
        assert_same_rows(expected, read_both(java, path), what="all rows")
        found = ice.load_table(path).scan(row_filter="A = 'X'").to_arrow()
        assert found.to_pylist() == [{"a": "y", "A": "X", "n": 2}]
        assert sorted(row["n"] for row in expected.to_pylist()) == [1, 2, 3]
    finally:
        java.conf.unset("spark.sql.caseSensitive")
