"""ORC timestamps outside 1677 to 2262, written by Java and by us, read by both."""

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import iceberg_spark as ice
from tests.oracle.compare import assert_same_rows
from tests.oracle.java_api import identifier, location, read
from tests.oracle.product import read_both

ROWS = """
    (1, timestamp'9999-12-31 23:59:59.999999', timestamp_ntz'0001-01-01 00:00:00', 'max'),
    (2, timestamp'0001-01-02 00:00:00.5', timestamp_ntz'9999-12-31 00:00:00.000001', 'min'),
    (3, timestamp'1969-12-31 23:59:58.999999', timestamp_ntz'1969-12-31 23:59:59.5', 'near'),
    (4, NULL, NULL, NULL),
    (5, timestamp'2024-05-06 07:08:09.123456', timestamp_ntz'1582-10-10 01:00:00', 'now')
"""


@pytest.mark.parametrize("codec", ["zlib", "zstd"])
def test_timestamps_of_all_years_in_javas_orc_files_are_read(
    java: SparkSession, codec: str
) -> None:
    name = f"orc_all_years_{codec}"
    java.sql(
        f"CREATE TABLE {identifier(name)} (id bigint, t timestamp, n timestamp_ntz, "
        "s struct<x: timestamp, l: array<timestamp_ntz>>, k string) USING iceberg TBLPROPERTIES "
        f"('write.format.default'='orc', 'write.orc.compression-codec'='{codec}')"
    )
    java.sql(
        f"INSERT INTO {identifier(name)} SELECT id, t, n, named_struct('x', t, 'l', array(n, n)), "
        f"k FROM VALUES {ROWS} AS v(id, t, n, k)"
    )
    java.sql(
        f"INSERT INTO {identifier(name)} SELECT id + 10, timestamp_seconds(id * 7919 * 31556952 "
        "% 200000000000 - 60000000000) + make_dt_interval(0, 0, 0, id / 1000), NULL, NULL, 'many' "
        "FROM range(5000)"
    )
    path = location(java, name)
    expected = read(java, path)
    assert_same_rows(expected, read_both(java, path), what="Java's timestamps of all years")
    condition = "t > timestamp'2262-04-12 00:00:00' or n < timestamp_ntz'1600-01-01 00:00:00'"
    wanted = sorted(row.id for row in java.table(identifier(name)).where(condition).collect())
    scan = ice.load_table(path).scan(row_filter=condition)
    assert sorted(scan.to_arrow()["id"].to_pylist()) == wanted
    assert sorted(row.id for row in scan.to_df(java).select("id").collect()) == wanted


def test_our_own_orc_files_of_all_years_are_changed_and_compacted(java: SparkSession) -> None:
    name = "our_orc_all_years"
    java.sql(
        f"CREATE TABLE {identifier(name)} (id bigint, n timestamp_ntz) USING iceberg "
        "TBLPROPERTIES ('write.format.default'='orc')"
    )
    path = location(java, name)
    table = ice.load_table(path)
    micros = [-62_135_596_800_000_000, 253_402_300_799_999_999, -1_000_000, 5]
    values = pa.array(micros, pa.timestamp("us"))
    table.append(pa.table({"id": pa.array(range(4), pa.int64()), "n": values}))
    table.append(pa.table({"id": pa.array([9], pa.int64()), "n": values[:1]}))
    table.delete("n = timestamp_ntz'1970-01-01 00:00:00.000005'")
    table.maintenance.rewrite_data_files(options={"rewrite-all": "true"})
    found = ice.load_table(path).scan().to_arrow().sort_by("id")
    assert found["id"].to_pylist() == [0, 1, 2, 9]
    assert found["n"].to_pylist() == [*values[:3].to_pylist(), values[0].as_py()]
    assert_same_rows(read(java, path), read_both(java, path), what="our timestamps of all years")
