"""Procedures of empty tables, and with times without a time zone."""

import os
import time
from pathlib import Path
from typing import Any

import iceberg_spark as ice
from tests.spark.settings import settings


def _rows(frame: Any) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in frame.collect()]


def test_statistics_of_an_empty_table_return_no_row(spark: Any, sql_home: Path) -> None:
    ice.sql(spark, "CREATE TABLE st.d.e (id int, p int) PARTITIONED BY (p)")
    for name in ("table", "partition"):
        assert _rows(ice.sql(spark, f"CALL st.system.compute_{name}_stats('d.e')")) == []


def test_listed_times_without_a_zone_use_the_session_time_zone(
    spark: Any, sql_home: Path, tmp_path: Path
) -> None:
    """In UTC, a file of this evening would be older than one of this afternoon."""
    ice.sql(spark, "CREATE TABLE st.d.o (id int)")
    table = ice.load_table("st.d.o")
    stray = Path(table.location().removeprefix("file:")) / "data" / "stray.parquet"
    stray.parent.mkdir(parents=True, exist_ok=True)
    stray.write_bytes(b"x")
    os.utime(stray, (time.time() - 10**6,) * 2)
    listed = f"SELECT '{stray}' AS file_path, TIMESTAMP_NTZ '2024-06-01 20:00:00' AS last_modified"
    with settings(spark, {"spark.sql.session.timeZone": "America/Los_Angeles"}):
        spark.sql(listed).createOrReplaceTempView("listed")
        for until, found in (("19:59:59", 0), ("20:00:01", 1)):
            orphans = ice.sql(
                spark,
                "CALL st.system.remove_orphan_files(table => 'd.o', dry_run => true, "
                f"file_list_view => 'listed', older_than => TIMESTAMP '2024-06-01 {until}')",
            )
            assert len(orphans.collect()) == found
