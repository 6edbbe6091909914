"""Which files can go is found by Spark as it is without it."""

from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.connect.session import SparkSession as ConnectSession

import iceberg_spark as ice

LATER = 1 << 60


def test_spark_finds_the_files_that_one_process_finds(
    any_spark: SparkSession | ConnectSession, tmp_path: Path
) -> None:
    table = ice.create_table(str(tmp_path / "t"), "id bigint")
    for number in range(3):
        table.append(pa.table({"id": [number]}))
    table.overwrite(pa.table({"id": [9]}))
    table.append(pa.table({"id": [10]}))
    alone = table.maintenance.expire_snapshots(LATER, dry_run=True)
    by_spark = table.maintenance.expire_snapshots(LATER, dry_run=True, spark=any_spark)
    assert by_spark.files.sort_by("file_path") == alone.files.sort_by("file_path")
    assert by_spark.deleted_data_files_count == 3
    done = table.maintenance.expire_snapshots(LATER, spark=any_spark)
    assert done.deleted_data_files_count == 3
    assert sorted(table.scan().to_arrow()["id"].to_pylist()) == [9, 10]
