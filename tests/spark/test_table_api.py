"""The table API with Spark frames: rows in, rows out, and what is left when a task fails."""

import io
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest

import iceberg_spark as ice
from iceberg_spark import Table
from iceberg_spark.errors import InvalidSchemaError


def made(folder: Path, **options: Any) -> Table:
    return ice.create_table(str(folder / "t"), "id bigint, k string", **options)


def ids(frame: Any) -> list[int]:
    return sorted(row.id for row in frame.select("id").collect())


def files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def test_a_frame_is_appended_and_read_back(any_spark: Any, tmp_path: Path) -> None:
    table = made(tmp_path)
    table.append(any_spark.range(5).selectExpr("id", "'x' k"))
    assert ids(table.scan().to_df(any_spark)) == [0, 1, 2, 3, 4]
    assert table.scan().count() == 5


def test_a_frame_replaces_rows_by_filter_and_by_partition(any_spark: Any, tmp_path: Path) -> None:
    table = made(tmp_path, partition_by=["k"])
    table.append(any_spark.range(6).selectExpr("id", "cast(id % 3 as string) k"))
    table.overwrite(any_spark.range(10, 11).selectExpr("id", "'0' k"), "id < 2")
    assert ids(table.scan().to_df(any_spark)) == [2, 3, 4, 5, 10]
    table.dynamic_partition_overwrite(any_spark.range(20, 21).selectExpr("id", "'1' k"))
    assert ids(table.scan().to_df(any_spark)) == [2, 3, 5, 10, 20]


def test_a_scan_reaches_spark_with_all_it_says(any_spark: Any, tmp_path: Path) -> None:
    table = made(tmp_path)
    table.append(any_spark.range(100).selectExpr("id", "'it''s' k").coalesce(1))
    first = table.current_snapshot().snapshot_id
    table.append(any_spark.range(100, 200).selectExpr("id", "'y' k"))
    wanted = ice.col("id").is_in(range(0, 200, 10)) & (ice.col("k") == "it's")
    scan = table.scan(row_filter=wanted, selected_fields=("id",), metadata_columns=("_pos",))
    frame = scan.to_df(any_spark)
    assert frame.columns == ["id", "_pos"]
    assert ids(frame) == list(range(0, 100, 10))
    assert table.scan(snapshot_id=first).to_df(any_spark).count() == 100
    assert table.scan(limit=7).to_df(any_spark).count() == 7


def test_a_scan_to_spark_keeps_its_snapshot(any_spark: Any, tmp_path: Path) -> None:
    table = made(tmp_path)
    table.append(any_spark.range(2).selectExpr("id", "'x' k"))
    frame = table.scan().to_df(any_spark)
    table.append(any_spark.range(2, 3).selectExpr("id", "'x' k"))
    assert ids(frame) == [0, 1]


def test_a_table_of_a_catalog_reaches_spark_without_the_catalogs_properties(
    spark: Any, tmp_path: Path
) -> None:
    catalog = ice.load_catalog("c", type="filesystem", warehouse=str(tmp_path), **{"io.x": "1"})
    table = catalog.create_table("db.t", "id bigint")
    table.append(spark.range(3))
    assert ids(table.scan().to_df(spark)) == [0, 1, 2]


def test_columns_that_do_not_fit_are_refused_before_a_task_starts(
    spark: Any, tmp_path: Path
) -> None:
    table = made(tmp_path)
    with pytest.raises(InvalidSchemaError, match="'nope'"):
        table.append(spark.range(1).selectExpr("id", "1 nope"))


def test_a_failing_task_leaves_nothing(spark: Any, tmp_path: Path) -> None:
    table = made(tmp_path)
    before = files(tmp_path)
    frame = spark.range(0, 1000, 1, 2).selectExpr(
        "cast(if(id = 999, raise_error('boom'), id) as bigint) id", "'x' k"
    )
    with pytest.raises(Exception, match="boom"):
        table.append(frame)
    assert files(tmp_path) == before
    assert table.refresh().snapshots() == []


def test_several_dataframes_are_written_in_one_commit(spark: Any, tmp_path: Path) -> None:
    table = made(tmp_path)
    with table.transaction() as tx:
        tx.append(spark.range(2).selectExpr("id", "'x' k"))
        tx.append(spark.range(2, 4).selectExpr("id", "'y' k"))
    assert len(table.metadata.metadata_log) == 1
    assert ids(table.scan().to_df(spark)) == [0, 1, 2, 3]


def test_a_literal_without_an_offset_means_the_sessions_time_zone(
    spark: Any, tmp_path: Path
) -> None:
    table = ice.create_table(str(tmp_path / "t"), "ts timestamp")
    zone = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    try:
        table.append(spark.sql("select timestamp'2024-01-01 12:00:00' ts"))
        assert table.scan(row_filter="ts = '2024-01-01 12:00:00'").count() == 1
        assert table.scan(row_filter="ts = '2024-01-01 03:00:00+00:00'").count() == 1
    finally:
        spark.conf.set("spark.sql.session.timeZone", zone)


def test_secrets_of_the_storage_are_not_in_plans_or_messages(
    any_spark: Any, tmp_path: Path
) -> None:
    secret = {"s3.secret-access-key": "hush-hush", "s3.session-token": "hush-hush"}
    table = ice.create_table(str(tmp_path / "t"), "id bigint", **secret)
    table.append(any_spark.range(3))
    frame = table.scan().to_df(any_spark)
    assert ids(frame) == [0, 1, 2]
    plan = io.StringIO()
    with redirect_stdout(plan):
        frame.explain(True)
    assert "hush-hush" not in plan.getvalue() + repr(frame) + repr(table)
    Path(table.scan().plan_files()[0].file_path).unlink()
    ours = table.scan().to_df(any_spark, engine="arrow")
    for broken, message in ((frame, r"(?i)not exist"), (ours, r"no such file")):
        with pytest.raises(Exception, match=message) as caught:
            broken.collect()
        assert "hush-hush" not in str(caught.value)
