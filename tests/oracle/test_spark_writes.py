"""What the Spark data source creates, overwrites and widens, Java reads and goes on with."""

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from tests.oracle import duckdb_reader, pyiceberg_tables, rows
from tests.oracle.compare import assert_same_rows
from tests.oracle.engines import PYICEBERG
from tests.oracle.java_api import frame, identifier, location, read
from tests.oracle.java_tables import append, create
from tests.oracle.product import FORMAT, read_both, read_spark

PARTITIONS = "flag, bucket(2, dec9)"
MADE = [("parquet", "1"), ("parquet", "2"), ("orc", "2"), ("avro", "2")]


def save(
    spark: SparkSession, path: str, table: pa.Table, mode: str = "append", **options: str
) -> None:
    """Save with three tasks; option names are written with `_` for `-`."""
    named = {key.replace("_", "-"): value for key, value in options.items()}
    made = frame(spark, table).repartition(3)
    made.write.format(FORMAT).mode(mode).options(**named).save(path)


def overwritten_by_java(
    spark: SparkSession, first: pa.Table, fresh: pa.Table, file_format: str, version: str
) -> pa.Table:
    """The rows that are left when Java does the dynamic overwrite on a table of its own."""
    twin = f"java_overwrote_{file_format}_v{version}"
    create(spark, twin, rows.DDL, PARTITIONS, format__version=version)
    for table, write in ((first, "append"), (fresh, "overwritePartitions")):
        writer = frame(spark, table).writeTo(identifier(twin)).option("fanout-enabled", "true")
        getattr(writer, write)()
    return read(spark, location(spark, twin))


@pytest.mark.parametrize(("file_format", "version"), MADE)
def test_java_reads_a_table_that_spark_created_and_overwrote(
    java: SparkSession, file_format: str, version: str
) -> None:
    name = f"spark_made_{file_format}_v{version}"
    path = location(java, name)
    first = rows.table(0, 24, file_format)
    options = {"partition_by": PARTITIONS, "format_version": version, "write_format": file_format}
    save(java, path, first, **options)
    assert_same_rows(first, read(java, path), what="Java after the creation")
    assert_same_rows(first, read_spark(java, path), what="the Spark frame after the creation")
    fresh = rows.table(30, 32, file_format)
    save(java, path, fresh, "overwrite", overwrite_mode="dynamic", write_format=file_format)
    left = overwritten_by_java(java, first, fresh, file_format, version)
    assert fresh.num_rows < left.num_rows < first.num_rows + fresh.num_rows
    assert_same_rows(left, read(java, path), what="Java after the dynamic overwrite")
    assert_same_rows(left, read_spark(java, path), what="the Spark frame after it")
    append(java, name, 60, 64, file_format)
    java.sql(f"DELETE FROM {identifier(name)} WHERE id < 62")
    expected = rows.table(62, 64, file_format)
    assert_same_rows(expected, read_spark(java, path), what="the Spark frame after Java's delete")
    save(java, path, rows.table(70, 80, file_format), "overwrite", write_format=file_format)
    last = rows.table(70, 80, file_format)
    assert_same_rows(last, read(java, path), what="Java after the static overwrite")
    assert_same_rows(last, read_both(java, path), what="both engines after it")


def test_all_engines_read_a_table_that_spark_wrote_with_many_tasks(java: SparkSession) -> None:
    path = location(java, "spark_many_tasks")
    given = rows.table(0, 60)
    save(java, path, given, partition_by="days(ts)", target_file_size_bytes="1000")
    save(java, path, rows.table(60, 70))
    expected = pa.concat_tables([given, rows.table(60, 70)])
    assert_same_rows(expected, read(java, path), what="Java")
    assert_same_rows(expected, duckdb_reader.read(path), what="DuckDB")
    kept = [one for one in expected.column_names if one not in PYICEBERG.wrong_columns]
    by_python = pyiceberg_tables.read(path).select(kept)
    assert_same_rows(expected.select(kept), by_python, what="PyIceberg")


def test_java_reads_the_columns_that_spark_merged_into_the_schema(java: SparkSession) -> None:
    name = "spark_merged_schema"
    path = location(java, name)
    narrow = pa.table(
        {"id": pa.array([1, 2], pa.int32()), "f": pa.array([1.5, None], pa.float32())}
    )
    save(java, path, narrow)
    wide = pa.table(
        {
            "id": pa.array([2**40], pa.int64()),
            "f": pa.array([0.1], pa.float64()),
            "st": pa.array([{"a": 1}], pa.struct([("a", pa.int32())])),
        }
    )
    save(java, path, wide, mergeSchema="true")
    expected = read(java, path)
    assert expected.column_names == ["id", "f", "st"]
    assert sorted(expected["id"].to_pylist()) == [1, 2, 2**40]
    assert_same_rows(expected, read_spark(java, path), what="the Spark frame")
    java.sql(f"INSERT INTO {identifier(name)} SELECT * FROM {identifier(name)} WHERE id = 1")
    assert_same_rows(read(java, path), read_spark(java, path), what="after Java's append")
    assert_same_rows(read(java, path), read_both(java, path), what="both engines after it")


def test_java_reads_the_branch_that_spark_wrote(java: SparkSession) -> None:
    name = "spark_branch"
    path = location(java, name)
    save(java, path, rows.table(0, 10))
    java.sql(f"ALTER TABLE {identifier(name)} CREATE BRANCH side")
    save(java, path, rows.table(10, 20), branch="side")
    side = java.sql(f"SELECT * FROM {identifier(name)} VERSION AS OF 'side'").toArrow()
    assert_same_rows(rows.table(0, 20), side, what="Java's branch")
    assert_same_rows(rows.table(0, 20), read_spark(java, path, branch="side"), what="our branch")
    assert_same_rows(rows.table(0, 20), read_both(java, path, branch="side"), what="both engines")
    assert_same_rows(rows.table(0, 10), read(java, path), what="Java's main")
