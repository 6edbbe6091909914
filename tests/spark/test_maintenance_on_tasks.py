"""Maintenance on Spark's tasks does what one process does."""

import os
import time
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.connect.session import SparkSession as ConnectSession

import iceberg_spark as ice
from iceberg_spark.formats.puffin.read_puffin import read_blob, read_footer
from tests.unit.api.tables import ids


def test_statistics_orphans_and_deletes_are_those_of_one_process(
    any_spark: SparkSession | ConnectSession, tmp_path: Path
) -> None:
    properties = {"write.delete.mode": "merge-on-read", "write.delete.granularity": "partition"}
    table = ice.create_table(
        str(tmp_path / "t"), "id bigint, k string", partition_by=["k"], properties=properties
    )
    for start in (0, 50, 100):
        numbers = list(range(start, start + 50))
        table.append(pa.table({"id": numbers, "k": ["ab"[each % 2] for each in numbers]}))
    for number in (1, 2, 61, 62):
        with table.transaction() as tx:
            tx.delete(f"id = {number}")

    here, there = ({}, {})
    for found, spark in ((here, None), (there, any_spark)):
        result = table.maintenance.compute_table_stats(spark=spark)
        footer = read_footer(table.io, str(result.statistics_file))
        found |= {one.fields: read_blob(table.io, footer.path, one) for one in footer.blobs}
    assert here == there and result.ndv == {"id": 146, "k": 2}

    stray = tmp_path / "t" / "data" / "stray.parquet"
    stray.write_bytes(b"x")
    then = time.time() - 7 * 24 * 3600
    os.utime(stray, (then, then))
    listed = any_spark.sql(
        f"SELECT '{stray}' file_path, timestamp'2020-01-01 00:00:00' last_modified"
    )
    listed.createOrReplaceTempView("stored")
    for given in (listed, "stored"):
        gone = table.maintenance.remove_orphan_files(
            dry_run=True, file_list_view=given, spark=any_spark
        )
        assert gone.orphan_file_locations == (str(stray),)

    done = table.maintenance.rewrite_position_delete_files({"rewrite-all": True}, spark=any_spark)
    assert (done.rewritten_delete_files_count, done.added_delete_files_count) == (4, 2)
    assert len(ids(table)) == 146


def test_a_spark_table_is_imported_by_snapshot(spark: SparkSession, tmp_path: Path) -> None:
    spark.sql(
        f"CREATE TABLE taken USING parquet PARTITIONED BY (k) LOCATION '{tmp_path / 'src'}' AS "
        "SELECT id, timestamp_seconds(id) ts, id % 2 k FROM range(4)"
    )
    try:
        table = ice.snapshot("taken", str(tmp_path / "t"))
        assert sorted(map(str, table.scan().to_df(spark).collect())) == sorted(
            map(str, spark.table("taken").select("id", "ts", "k").collect())
        )
        assert [field.name for field in table.spec().fields] == ["k"]
    finally:
        spark.sql("DROP TABLE taken")
