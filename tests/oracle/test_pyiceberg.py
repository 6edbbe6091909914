"""PyIceberg and the product take turns on one file-system table; Java looks on."""

import datetime as dt
import uuid

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyiceberg.io.pyarrow import _pyarrow_to_schema_without_ids
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema, assign_fresh_schema_ids
from pyiceberg.transforms import (
    BucketTransform,
    DayTransform,
    IdentityTransform,
    MonthTransform,
    TruncateTransform,
)
from pyiceberg.types import FixedType, LongType, NestedField, TimeType, UUIDType
from pyspark.sql import SparkSession

import iceberg_spark as ice
from tests.oracle import pyiceberg_tables, rows
from tests.oracle.compare import assert_same_rows
from tests.oracle.engines import PYICEBERG
from tests.oracle.java_api import frame, location, read
from tests.oracle.java_tables import PARTITIONINGS, Case
from tests.oracle.product import append_spark, read_arrow, read_both, read_frame, read_spark
from tests.oracle.test_java_reads_what_we_wrote import CASES, Written, create

# PyIceberg reads a NULL list or map of structs as an empty one (see engines.py).
KEPT = [name for name in rows.SCHEMA.names if name not in PYICEBERG.wrong_columns]
SCHEMA = assign_fresh_schema_ids(_pyarrow_to_schema_without_ids(rows.SCHEMA))


def _field(source: str, number: int, transform: object, name: str) -> PartitionField:
    return PartitionField(SCHEMA.find_field(source).field_id, number, transform, name)


SPECS = {
    "unpartitioned": PartitionSpec(),
    "days_bucket": PartitionSpec(
        _field("ts", 1000, DayTransform(), "ts_day"),
        _field("id", 1001, BucketTransform(4), "id_bucket"),
    ),
    "identity_truncate": PartitionSpec(
        _field("flag", 1000, IdentityTransform(), "flag"),
        _field("s", 1001, TruncateTransform(2), "s_trunc"),
    ),
    "months_decimal": PartitionSpec(
        _field("dt", 1000, MonthTransform(), "dt_month"),
        _field("dec18", 1001, TruncateTransform(100), "dec18_trunc"),
        _field("bin", 1002, BucketTransform(3), "bin_bucket"),
    ),
}
by_spec = pytest.mark.parametrize("spec", SPECS)


def table(start: int, stop: int) -> pa.Table:
    """Rows without the columns that PyIceberg itself reads wrongly."""
    return rows.table(start, stop)


def assert_all_read(java: SparkSession, path: str, expected: pa.Table, step: str) -> None:
    wanted = expected.select(KEPT)
    assert_same_rows(
        wanted, read_both(java, path).select(KEPT), what=f"the Arrow scan after {step}"
    )
    assert_same_rows(wanted, read(java, path).select(KEPT), what=f"Java after {step}")
    actual = pyiceberg_tables.read(path).select(KEPT)
    assert_same_rows(wanted, actual, what=f"PyIceberg after {step}")


@by_spec
def test_we_go_on_with_a_table_that_pyiceberg_made(java: SparkSession, spec: str) -> None:
    path = location(java, f"py_made_{spec}")
    made = pyiceberg_tables.create(path, SCHEMA, SPECS[spec], format_version="2")
    made.append(table(0, 20))
    assert_all_read(java, path, table(0, 20), "PyIceberg's append")
    wanted = table(0, 20).select(KEPT)
    assert_same_rows(wanted, read_spark(java, path).select(KEPT), what="the Spark frame")
    ice.load_table(path).append(table(20, 30))
    assert_all_read(java, path, table(0, 30), "our append")
    append_spark(java, path, table(30, 34))
    assert_all_read(java, path, table(0, 34), "our append from Spark")
    pyiceberg_tables.load(path).delete("id < 5")
    assert_all_read(java, path, table(5, 34), "PyIceberg's delete")
    pyiceberg_tables.load(path).append(table(34, 40))
    assert_all_read(java, path, table(5, 40), "PyIceberg's next append")
    ice.load_table(path).overwrite(table(50, 52), overwrite_filter="id >= 10")
    expected = pa.concat_tables([table(5, 10), table(50, 52)])
    assert_all_read(java, path, expected, "our overwrite")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_pyiceberg_reads_what_we_wrote_or_refuses_as_recorded(
    java: SparkSession, case: Written
) -> None:
    path = location(java, f"py_reads_{case.name}")
    create(path, case)
    given = case.rows(0, 24)
    ice.load_table(path).append(given)
    refusal = PYICEBERG.refusal(Case(case.version, case.file_format, case.partitioning, "none"))
    if refusal is not None:
        with pytest.raises(Exception, match=refusal.error):
            pyiceberg_tables.read(path)
        return
    actual = pyiceberg_tables.read(path).select(KEPT)
    assert_same_rows(given.select(KEPT), actual, what="PyIceberg")


@pytest.mark.parametrize("partitioning", PARTITIONINGS)
def test_pyiceberg_goes_on_with_a_table_that_we_made(java: SparkSession, partitioning: str) -> None:
    path = location(java, f"py_goes_on_{partitioning}")
    create(path, Written(2, "parquet", partitioning))
    ice.load_table(path).append(table(0, 20))
    pyiceberg_tables.load(path).append(table(20, 30))
    assert_all_read(java, path, table(0, 30), "PyIceberg's append")
    pyiceberg_tables.load(path).overwrite(table(40, 42), overwrite_filter="id < 10")
    expected = pa.concat_tables([table(10, 30), table(40, 42)])
    assert_all_read(java, path, expected, "PyIceberg's overwrite")
    ice.load_table(path).append(table(50, 53))
    assert_all_read(java, path, pa.concat_tables([expected, table(50, 53)]), "our append")


FILTERS = {
    "bucket": "id in (1, 6, 12)",
    "day": "ts >= '2024-01-02T00:00:00+00:00'",
    "prefix": "s like 'a%'",
    "bounds": "i > 9000 and flag = true",
    "null": "s is null",
}


@pytest.mark.parametrize("by", FILTERS)
def test_pyiceberg_prunes_by_our_metadata_as_we_do(java: SparkSession, by: str) -> None:
    """Its filters use our partition summaries and bounds, so a wrong one would lose rows."""
    path, text = location(java, f"py_filter_{by}"), FILTERS[by]
    create(path, Written(2, "parquet", "days_bucket"))
    ice.load_table(path).append(table(0, 20))
    ice.load_table(path).append(table(20, 40))
    expected = frame(java, table(0, 40)).where(text).toArrow().select(KEPT)
    assert 0 < expected.num_rows < 40
    found = pyiceberg_tables.load(path).scan(row_filter=text).to_arrow().select(KEPT)
    assert_same_rows(expected, found, what="PyIceberg")
    assert_same_rows(expected, read_both(java, path, row_filter=text).select(KEPT), what="ours")


def test_pyiceberg_evolves_a_table_and_we_follow(java: SparkSession) -> None:
    path = location(java, "py_evolves")
    create(path, Written(2, "parquet", "days_bucket"))
    ice.load_table(path).append(table(0, 10))
    with pyiceberg_tables.load(path).update_schema() as update:
        update.rename_column("s", "text")
        update.update_column("i", LongType())
        update.delete_column("d")
    with pyiceberg_tables.load(path).update_schema() as update:
        update.add_column("s", LongType())
    with pyiceberg_tables.load(path).update_spec() as update:
        update.remove_field("ts_day")
        update.add_field("ts", MonthTransform(), "ts_month")
    expected = read(java, path)
    assert {"text", "s"} <= set(expected.column_names)
    assert_same_rows(expected, read_both(java, path), what="the Arrow scan")
    ice.load_table(path).append(expected)
    twice = pa.concat_tables([expected, expected])
    assert_same_rows(twice, read(java, path), what="Java after our append")
    kept = [name for name in twice.column_names if name not in PYICEBERG.wrong_columns]
    assert_same_rows(twice.select(kept), pyiceberg_tables.read(path).select(kept))


def test_uuid_and_fixed_columns_show_in_spark_as_in_java(java: SparkSession) -> None:
    """SQL cannot name these types; PyIceberg can."""
    path = location(java, "py_uuid")
    schema = Schema(
        NestedField(1, "id", LongType()),
        NestedField(2, "u", UUIDType()),
        NestedField(3, "fx", FixedType(4)),
    )
    values = {
        "id": pa.array([1, 2, 3]),
        "u": pa.array([uuid.UUID(int=5).bytes, None, uuid.UUID(int=2**128 - 1).bytes], pa.uuid()),
        "fx": pa.array([b"abcd", None, b"\x00\xff\x00\xff"], pa.binary(4)),
    }
    pyiceberg_tables.create(path, schema).append(pa.table(values))
    expected = read(java, path)
    assert expected["u"][0].as_py() == str(uuid.UUID(int=5))
    assert_same_rows(expected, read_spark(java, path), what="the Spark frame")
    assert_same_rows(expected, read_frame(java, path, None), what="the native frame")
    text = f"u = '{uuid.UUID(int=5)}'"
    by_arrow = read_arrow(path, row_filter=text)  # a UUID is 16 bytes in Arrow, text in Spark
    assert by_arrow["id"].to_pylist() == [1]
    assert_same_rows(expected.slice(0, 1), read_frame(java, path, None, row_filter=text))
    append_spark(java, path, expected)
    twice = pa.concat_tables([expected, expected])
    assert_same_rows(twice, read(java, path), what="Java after our append")


def test_uuid_partitions_are_read_and_continued_by_all(java: SparkSession) -> None:
    values = [uuid.UUID(int=5).bytes, None, uuid.UUID(int=2**128 - 1).bytes]
    given = pa.table({"id": pa.array([1, 2, 3]), "u": pa.array(values, pa.uuid())})
    for name, partitioned_by in (("identity", "u"), ("bucket", "bucket(4, u)")):
        path = location(java, f"uuid_{name}")
        ice.create_table(path, given.schema, partition_by=[partitioned_by])
        ice.load_table(path).append(given)
        expected = read(java, path)
        assert sorted(expected["id"].to_pylist()) == [1, 2, 3]
        append_spark(java, path, expected)
        twice = pa.concat_tables([expected, expected])
        assert_same_rows(twice, read(java, path), what="Java")
        assert_same_rows(twice, read_spark(java, path), what="the Spark frame")
        assert_same_rows(twice, read_frame(java, path, "native"), what="the native frame")
        by_python = pyiceberg_tables.read(path)
        assert sorted(by_python["id"].to_pylist()) == [1, 1, 2, 2, 3, 3]


def test_fixed_partitions_are_read_by_all(java: SparkSession) -> None:
    """Java 1.12 expects a length before a fixed value of a partition, so manifests hold bytes."""
    path = location(java, "fixed_partition")
    values = pa.array([b"abcd", None, b"\x00\xff\x00\xff"], pa.binary(4))
    given = pa.table({"id": pa.array([1, 2, 3]), "fx": values})
    ice.create_table(path, given.schema, partition_by=["fx"])
    ice.load_table(path).append(given)
    assert_same_rows(given, read_both(java, path), what="the Arrow scan")
    assert_same_rows(given, read_spark(java, path), what="the Spark frame")
    assert_same_rows(given, pyiceberg_tables.read(path), what="PyIceberg")
    assert_same_rows(given, read(java, path), what="Java")
    append_spark(java, path, read(java, path))
    twice = pa.concat_tables([given, given])
    assert_same_rows(twice, read_both(java, path), what="Java's manifests")
    ice.load_table(path).delete("fx = X'61626364'")
    assert_same_rows(twice.filter(pc.not_equal(twice["id"], 1)), read(java, path), what="Java")


def test_a_time_column_reads_by_arrow_and_is_refused_by_spark(java: SparkSession) -> None:
    path = location(java, "py_time")
    schema = Schema(NestedField(1, "id", LongType()), NestedField(2, "at", TimeType()))
    noon = dt.time(12, 0, 0, 1)
    given = pa.table({"id": pa.array([1, 2]), "at": pa.array([noon, None], pa.time64("us"))})
    pyiceberg_tables.create(path, schema).append(given)
    assert_same_rows(given, read_arrow(path))
    with pytest.raises(Exception, match=r"at\b.*time|time.*\bat\b"):
        read_spark(java, path)
    expected = given.select(["id"])
    assert_same_rows(expected, read_spark(java, path, columns="id"), what="without the column")
