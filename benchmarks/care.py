"""A table's care beside Java's: orphans, manifests and statistics (expiry is in `evolution`)."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

import iceberg_spark as ice
from benchmarks.fabricate import fabricate_table
from benchmarks.measure import Measured, by_turns
from benchmarks.tables import rows

FOLDERS = 100
WEEK_S = 7 * 24 * 3600


def measure_orphans(
    spark: SparkSession, folder: Path, rounds: int, files: int
) -> dict[str, Measured]:
    """List the orphans among so many files in a hundred folders; a dry run, nothing is deleted."""
    location = folder / "db" / "strays"
    spark.sql("CREATE TABLE java.db.strays (id bigint) USING iceberg")
    then = time.time() - WEEK_S
    for number in range(files):
        path = location / "data" / f"p={number % FOLDERS}" / f"{number:08d}-0-stray-00001.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        os.utime(path, (then, then))
    dry = "CALL java.system.remove_orphan_files(table => 'db.strays', dry_run => true)"
    table = ice.load_table(str(location))

    def java() -> None:
        assert len(spark.sql(dry).collect()) == files

    def ours() -> None:
        assert table.maintenance.remove_orphan_files(dry_run=True).orphan_files_count == files

    return by_turns({"java": java, "ours": ours}, rounds)


def measure_manifests(
    spark: SparkSession, folder: Path, rounds: int, files: int
) -> dict[str, Measured]:
    """Rewrite the manifests of a table of so many files, partitioned by day and bucket."""
    jvm: Any = spark._jvm
    configuration = spark._jsparkSession.sessionState().newHadoopConf()
    pristine, location = folder / "manifests-pristine", folder / "manifests"
    fabricate_table(location, files)
    shutil.copytree(location, pristine)

    def java() -> None:
        table = jvm.org.apache.iceberg.hadoop.HadoopTables(configuration).load(str(location))
        actions = jvm.org.apache.iceberg.spark.actions.SparkActions.get(spark._jsparkSession)
        actions.rewriteManifests(table).execute()

    def ours() -> None:
        done = ice.load_table(str(location)).maintenance.rewrite_manifests()
        assert done.rewritten_manifests_count

    return by_turns({"java": java, "ours": ours}, rounds, before=lambda: anew(location, pristine))


def anew(location: Path, pristine: Path) -> None:
    """Put a table back to what it was before."""
    shutil.rmtree(location)
    shutil.copytree(pristine, location)


def measure_statistics(
    spark: SparkSession, folder: Path, rounds: int, count: int, files: int
) -> dict[str, Measured]:
    """Count the distinct values of 13 columns of so many rows."""
    rows(spark, count, files).writeTo("java.db.counted").using("iceberg").create()
    table = ice.load_table(str(folder / "db" / "counted"))

    def java() -> None:
        spark.sql("CALL java.system.compute_table_stats('db.counted')").collect()

    def ours() -> None:
        table.maintenance.compute_table_stats(spark=spark)

    return by_turns({"java": java, "ours": ours}, rounds)
