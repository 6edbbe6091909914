"""Timestamps without a zone know nothing of the session's zone, nor of its changes of time."""

from pathlib import Path
from typing import Any

import pyarrow as pa

import iceberg_spark as ice
from tests.spark.test_native_writing import setting

SKIPPED, REPEATED, OTHER = "2024-03-10 02:30:00", "2024-11-03 01:30:00", "2024-06-01 00:00:00"
"""A wall clock that New York does not have, one that it has twice, and any other."""
FAR = 300_000_000_000_000_000
"""Microseconds of a time beyond the year 9999, which no datetime of Python can say."""


def rows(*clocks: str, v: str) -> pa.Table:
    return pa.table({"c": pa.array(clocks).cast(pa.timestamp("us")), "v": [v] * len(clocks)})


def values(table: ice.Table, spark: Any) -> list[tuple[Any, ...]]:
    frame = table.scan().to_df(spark)
    return sorted((row.c, row.v) for row in frame.selectExpr("cast(c as string) c", "v").collect())


def test_keys_of_deletes_and_merges_may_be_wall_clocks_that_the_session_lacks(
    spark: Any, tmp_path: Path
) -> None:
    table = ice.create_table(str(tmp_path / "t"), "c timestamp_ntz, v string")
    table.append(rows(SKIPPED, REPEATED, OTHER, v="old"))
    with setting(spark, "spark.sql.session.timeZone", "America/New_York"):
        table.upsert(rows(SKIPPED, REPEATED, v="upserted"), ["c"])
        assert values(table, spark) == [
            (SKIPPED, "upserted"),
            (OTHER, "old"),
            (REPEATED, "upserted"),
        ]
        merge = table.merge(rows(SKIPPED, REPEATED, v="merged"), "t.c = s.c")
        assert merge.when_matched_update_all().when_not_matched_insert_all().execute().updated == 2
        assert [v for _, v in values(table, spark)] == ["merged", "old", "merged"]


def test_ranges_of_keys_reach_beyond_the_year_9999(spark: Any, tmp_path: Path) -> None:
    table = ice.create_table(str(tmp_path / "t"), "id int, c timestamp, d date")
    far = {
        "id": pa.array([1], pa.int32()),
        "c": pa.array([FAR], pa.timestamp("us", "UTC")),
        "d": pa.array([FAR // 86_400_000_000], pa.date32()),
    }
    table.append(pa.table(far))
    source = spark.createDataFrame([(FAR,)], "n bigint").selectExpr(
        "timestamp_micros(n) c", "date_from_unix_date(cast(n div 86400000000 as int)) d"
    )
    merge = table.merge(source, "t.c = s.c and t.d = s.d").when_matched_update({"id": "2"})
    assert merge.execute().updated == 1
    assert table.scan("id = 2").to_arrow().column("c").cast(pa.int64()).to_pylist() == [FAR]
