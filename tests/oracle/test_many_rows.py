"""Files of many row groups and stripes: splits, row positions, filters, in both directions."""

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import SparkSession

import iceberg_spark as ice
from tests.oracle.compare import assert_same_rows
from tests.oracle.java_api import delete_equal, frame, identifier, location, read
from tests.oracle.java_tables import FORMATS, create
from tests.oracle.product import append_spark, read_both, read_spark

ROWS = 6_000
DDL = """id bigint, s string, ts timestamp, c decimal(20,3), li array<struct<k: string>>,
st struct<a: int, n: struct<x: double>>, m map<string, struct<v: int>>"""
QUERY = f"""
SELECT id, IF(id % 11 = 0, NULL, concat('s', id % 997)) AS s,
  timestamp_micros(1700000000000000 + id * 1000003) AS ts,
  IF(id % 13 = 0, NULL, CAST(id - 3000 AS DECIMAL(20,3))) AS c,
  IF(id % 4 = 0, NULL, array(named_struct('k', IF(id % 17 = 0, NULL, string(id))), NULL)) AS li,
  IF(id % 5 = 0, NULL, named_struct('a', IF(id % 3 = 0, NULL, int(id)),
    'n', IF(id % 7 = 0, NULL, named_struct('x', IF(id % 19 = 0, NULL, double(id)))))) AS st,
  IF(id % 6 = 0, NULL, map(string(id), named_struct('v', IF(id % 23 = 0, NULL, int(-id))))) AS m
FROM range(0, {ROWS}, 1, 1)"""
SMALL = {
    "write.parquet.row-group-size-bytes": "20000",
    "write.parquet.row-group-check-min-record-count": "1000",
    "write.parquet.row-group-check-max-record-count": "1000",
    "write.orc.stripe-size-bytes": "20000",
    "write.orc.block-size-bytes": "20000",
}
FILTERS = (
    "id BETWEEN 3000 AND 3100",
    "st.a > 5900 OR s = 's5'",
    "st.n.x IS NULL AND c < 0",
)
SPLIT = {"split-size": "20000", "file-open-cost": "1000"}
by_format = pytest.mark.parametrize("file_format", FORMATS)


def make(java: SparkSession, name: str, file_format: str) -> str:
    create(java, name, DDL, write_format_default=file_format)
    listed = ", ".join(f"'{key}'='{value}'" for key, value in SMALL.items())
    java.sql(f"ALTER TABLE {identifier(name)} SET TBLPROPERTIES ({listed})")
    return location(java, name)


def assert_parts(java: SparkSession, path: str, file_format: str) -> None:
    """The only file has many row groups or stripes; Avro files don't say where their blocks are."""
    (offsets,) = read(java, f"{path}#files")["split_offsets"].to_pylist()
    assert file_format == "avro" or len(offsets) > 1


@by_format
def test_javas_row_groups_are_split_and_keep_their_positions(
    java: SparkSession, file_format: str
) -> None:
    name = f"many_java_{file_format}"
    path = make(java, name, file_format)
    java.sql(f"INSERT INTO {identifier(name)} {QUERY}")
    given = java.sql(QUERY).toArrow()
    assert_parts(java, path, file_format)
    assert_same_rows(given, read_both(java, path), what="both engines")
    for text in FILTERS:
        expected = frame(java, given).where(text).toArrow()
        assert 0 < expected.num_rows < ROWS
        assert_same_rows(expected, read_both(java, path, row_filter=text), what=text)
    java.sql(f"DELETE FROM {identifier(name)} WHERE id % 10 = 3")
    keys = f"SELECT id FROM range(0, {ROWS}, 7)"
    delete_equal(java, name, keys, ["id"], file_format)
    names = ["id", "_pos"]
    left = java.table(identifier(name)).select(*names).toArrow()
    options = {"columns": "id", "metadata-columns": "_pos"}
    for split in ({}, SPLIT):
        assert_same_rows(left, read_spark(java, path, **options, **split), what=f"split {split}")
    whole = given.filter(pc.is_in(given["id"], left["id"].combine_chunks()))
    assert_same_rows(whole, read_spark(java, path, **SPLIT), what="all columns")


@by_format
def test_java_reads_our_row_groups_in_splits(java: SparkSession, file_format: str) -> None:
    name = f"many_ours_{file_format}"
    path = make(java, name, file_format)
    given = java.sql(QUERY).toArrow()
    ice.load_table(path).append(given)
    assert_parts(java, path, file_format)
    assert_same_rows(given, read(java, path, **SPLIT), what="Java")
    assert_same_rows(given, read_spark(java, path, **SPLIT), what="the Spark frame")
    assert_same_rows(given, read_both(java, path), what="both engines")
    java.sql(f"DELETE FROM {identifier(name)} WHERE id % 10 = 3")
    again = given.take(list(range(5, 3005)))
    append_spark(java, path, again)
    left = pa.concat_tables([given.take([n for n in range(ROWS) if n % 10 != 3]), again])
    assert_same_rows(left, read(java, path, **SPLIT), what="Java after both went on")
    assert_same_rows(left, read_both(java, path), what="both engines after both went on")
