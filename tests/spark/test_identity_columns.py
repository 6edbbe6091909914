"""Identity partition columns get their values from metadata, and Spark prunes them by joins.

Java: `PartitionUtil.constantsMap`, `SparkBatchQueryScan.filterAttributes`.
"""

import datetime as dt
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as PySpark's users write it

import iceberg_spark as ice
from tests.spark.delete_commits import delete_keys
from tests.spark.settings import settings

_wall = dt.datetime.fromisoformat
VALUES: dict[str, tuple[str, list[Any]]] = {
    "b": ("boolean", [True, False]),
    "i": ("int", [-(2**31), 2**31 - 1]),
    "l": ("bigint", [-(2**63), 2**63 - 1]),
    "d": ("date", [dt.date(1, 1, 1), dt.date(1582, 10, 10), dt.date(9999, 12, 31)]),
    "m": ("decimal(5,2)", [Decimal("-0.01"), Decimal("999.99")]),
    "big": ("decimal(38,10)", [Decimal(-(10**27)), Decimal("1.0000000001")]),
    "w": ("timestamp", [_wall('1582-10-10T01:02:03.000004'), _wall('2262-04-12T00:00:00')]),
    "z": ("timestamptz", [dt.datetime(1900, 1, 1, 0, 0, 0, 1, dt.UTC)]),
    "s": ("string", ["", " ", "=x", "a/b=c%20\n", "é\U0001f600", "NULL"]),
}  # fmt: skip


def files_read(frame: DataFrame) -> int:
    """Return how many files of an Iceberg table the scan of a query has read."""
    frame.collect()
    leaves = frame._jdf.queryExecution().executedPlan().collectLeaves()
    scans = [leaves.apply(number) for number in range(leaves.length())]
    (scan,) = [scan for scan in scans if "PlannedFiles" in scan.toString()]
    return int(scan.metrics().apply("numFiles").value())


@pytest.mark.parametrize("name", VALUES)
def test_a_value_of_each_type_is_that_of_the_rows(
    spark: SparkSession, tmp_path: Path, name: str
) -> None:
    kind, values = VALUES[name]
    table = ice.create_table(str(tmp_path / "t"), f"{name} {kind}, id int", partition_by=[name])
    every = [None, *values]
    schema = table.scan().to_arrow().schema
    rows = pa.table({name: every * 2, "id": list(range(2 * len(every)))}, schema)
    table.append(rows)
    frame = table.scan().to_df(spark)
    assert len(frame.inputFiles()) == len(every)
    read = pa.table(frame.toArrow()).sort_by("id")
    assert read.column(name).cast(schema.field(name).type).equals(rows.column(name))
    spark_type = frame.schema[name].dataType
    for value in values:
        matching = frame.where(F.col(name) == F.lit(str(value)).cast(spark_type)).select("id")
        assert {row.id % len(every) for row in matching.collect()} == {every.index(value)}
    assert {row.id % len(every) for row in frame.where(f"{name} IS NULL").collect()} == {0}


def test_partition_values_may_have_any_character(spark: SparkSession, tmp_path: Path) -> None:
    every = "".join(map(chr, (*range(36), 0x2028, 0xE000, 0xFFFF, 0x1F600)))
    values = [every, "\0", "", None, '"', "\\", "]"]
    table = ice.create_table(str(tmp_path / "t"), "p string, q string", partition_by=["p", "q"])
    rows = {"p": values, "q": values[::-1]}
    table.append(pa.table(rows, table.scan().to_arrow().schema))
    frame = table.scan().to_df(spark)
    expected = zip(*rows.values(), strict=True)
    assert sorted(map(repr, expected)) == sorted(repr(tuple(row)) for row in frame.collect())
    assert frame.where(F.col("p") == every).count() == 1


@pytest.fixture
def sales(lake: Any, tmp_path: Path) -> Iterator[Any]:
    """A session with `lake.db.sales`, a file for each of ten regions, and a view of four shops."""
    lake.sql("CREATE NAMESPACE lake.db")
    lake.sql("CREATE TABLE lake.db.sales (id BIGINT, region INT, v INT) PARTITIONED BY (region)")
    lake.sql("INSERT INTO lake.db.sales SELECT id, id % 10, id * 2 FROM range(1000)")
    shops = str(tmp_path / "shops")
    lake.range(4).selectExpr("id AS shop", "CAST(id * 2 AS INT) AS region").write.parquet(shops)
    lake.read.parquet(shops).createOrReplaceTempView("shops")
    yield lake
    lake.sql("DROP VIEW IF EXISTS shops")


JOIN = """SELECT s.id, s.region FROM lake.db.sales s JOIN shops ON s.region = shops.region
WHERE shop > 1"""


def test_a_join_with_files_of_spark_reads_the_partitions_of_its_keys(sales: Any) -> None:
    frame = sales.sql(JOIN)
    assert sorted(row.id for row in frame.collect()) == [
        id_ for id_ in range(1000) if id_ % 10 in (4, 6)
    ]
    if isinstance(sales, SparkSession):
        with settings(sales, {"spark.sql.adaptive.enabled": "false"}):
            assert files_read(sales.sql(JOIN)) == 2


def test_a_frame_is_pruned_by_joins_as_a_name_is(spark: SparkSession, tmp_path: Path) -> None:
    table = ice.create_table(str(tmp_path / "t"), "region int, id int", partition_by=["region"])
    table.append(
        pa.table(
            {"region": list(range(10)) * 100, "id": range(1000)}, table.scan().to_arrow().schema
        )
    )
    spark.range(4).selectExpr("id AS shop", "CAST(id * 2 AS INT) AS region").write.parquet(
        str(tmp_path / "shops")
    )
    shops = spark.read.parquet(str(tmp_path / "shops")).where("shop > 1")
    sales = table.scan().to_df(spark)
    with settings(spark, {"spark.sql.adaptive.enabled": "false"}):
        joined = sales.join(shops, "region")
        assert files_read(joined) == 2
        assert joined.count() == 200
        renamed = sales.withColumnRenamed("region", "r")
        assert files_read(renamed.join(shops, renamed.r == shops.region)) == 2
    assert sales.join(shops, "region", "left").count() == 1000
    assert sales.join(shops, "region", "left_anti").count() == 800


def test_deleted_rows_stay_deleted_in_a_pruned_join(sales: Any) -> None:
    sales.sql("ALTER TABLE lake.db.sales SET TBLPROPERTIES ('write.delete.mode' = 'merge-on-read')")
    sales.sql("DELETE FROM lake.db.sales WHERE id < 500 AND v % 3 = 0")
    expected = [id_ for id_ in range(1000) if id_ % 10 in (4, 6) and (id_ >= 500 or id_ % 3)]
    assert sorted(row.id for row in sales.sql(JOIN).collect()) == expected


def test_files_of_an_earlier_spec_have_their_own_values(sales: Any) -> None:
    sales.sql("ALTER TABLE lake.db.sales DROP PARTITION FIELD region")
    sales.sql("INSERT INTO lake.db.sales SELECT id + 1000, id % 10, 0 FROM range(100)")
    rows = sales.sql(JOIN).collect()
    assert len(rows) == 220 and all(row.id % 10 == row.region for row in rows)


def test_a_promoted_column_has_the_type_of_each_snapshot(sales: Any) -> None:
    before = sales.sql("SELECT snapshot_id FROM lake.db.sales.snapshots").first()[0]
    sales.sql("ALTER TABLE lake.db.sales ALTER COLUMN region TYPE BIGINT")
    assert sales.table("lake.db.sales").schema["region"].dataType.simpleString() == "bigint"
    assert len(sales.sql(JOIN).collect()) == 200
    old = sales.sql(f"SELECT * FROM lake.db.sales VERSION AS OF {before}")
    assert sorted({row.region for row in old.collect()}) == list(range(10))


def test_a_renamed_partition_column_keeps_its_values(sales: Any) -> None:
    sales.sql("ALTER TABLE lake.db.sales RENAME COLUMN region TO area")
    sales.sql("ALTER TABLE lake.db.sales ADD COLUMN v2 STRING")
    counts = sales.sql("SELECT area, v2, max(v % 10) AS m FROM lake.db.sales GROUP BY ALL")
    assert sorted(map(tuple, counts.collect())) == [
        (area, None, area * 2 % 10) for area in range(10)
    ]


def test_equality_deletes_of_a_partition_column_apply(spark: SparkSession, tmp_path: Path) -> None:
    table = ice.create_table(str(tmp_path / "t"), "region int, id int", partition_by=["region"])
    schema = table.scan().to_arrow().schema
    table.append(pa.table({"region": [1, 1, 2, 2, None], "id": [1, 2, 1, 2, 1]}, schema))
    delete_keys(table, [{"region": 1, "id": 2}], at=(1,))
    delete_keys(table, [{"region": None, "id": 1}], at=(None,))
    rows = table.scan().to_df(spark).collect()
    assert sorted(map(tuple, rows)) == [(1, 1), (2, 1), (2, 2)]
