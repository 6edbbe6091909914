"""Writes through the data source: append, overwrite, creation, and what happens on failure."""

from pathlib import Path
from typing import Any

import pytest

import iceberg_spark as ice


def save(frame: Any, location: Path, mode: str = "append", **options: object) -> None:
    named = {key.replace("_", "-"): str(value) for key, value in options.items()}
    frame.write.format("pyiceberg-lite").mode(mode).options(**named).save(str(location))


def ids(spark: Any, location: Path) -> list[int]:
    frame = spark.read.format("pyiceberg-lite").load(str(location))
    return sorted(row.id for row in frame.select("id").collect())


def data_files(location: Path) -> list[Path]:
    return sorted(path for path in (location / "data").rglob("*") if path.is_file())


def test_append_creates_the_table_with_its_rows_in_one_commit(
    any_spark: Any, tmp_path: Path
) -> None:
    target = tmp_path / "t"
    save(any_spark.range(10), target)
    table = ice.load_table(str(target))
    assert [snapshot.operation for snapshot in table.snapshots()] == ["append"]
    assert ids(any_spark, target) == list(range(10))
    save(any_spark.range(10, 12), target)
    assert ids(any_spark, target) == list(range(12))


def test_creation_takes_spec_order_version_and_properties(spark: Any, tmp_path: Path) -> None:
    frame = spark.range(4).selectExpr("id", "timestamp'2024-01-01' ts", "'a,b' name")
    options = {
        "partition-by": "days(ts), bucket(4, id)",
        "sort-order": "id desc nulls last",
        "format-version": "2",
        "table-property.write.parquet.compression-codec": "gzip",
    }
    frame.write.format("pyiceberg-lite").mode("append").options(**options).save(str(tmp_path / "t"))
    table = ice.load_table(str(tmp_path / "t"))
    assert [str(part.transform) for part in table.spec().fields] == ["day", "bucket[4]"]
    assert [key.direction for key in table.sort_order().fields] == ["desc"]
    assert table.properties["write.parquet.compression-codec"] == "gzip"


def test_static_overwrite_replaces_all_rows(spark: Any, tmp_path: Path) -> None:
    target = tmp_path / "t"
    save(spark.range(10), target)
    save(spark.range(100, 103), target, "overwrite")
    assert ids(spark, target) == [100, 101, 102]
    table = ice.load_table(str(target))
    assert table.current_snapshot().operation == "overwrite"
    assert table.current_snapshot().summary["deleted-records"] == "10"


def test_dynamic_overwrite_replaces_the_partitions_that_get_rows(
    spark: Any, tmp_path: Path
) -> None:
    target = tmp_path / "t"
    save(spark.range(6).selectExpr("id", "id % 3 k"), target, partition_by="k")
    rows = spark.range(100, 101).selectExpr("id", "cast(1 as bigint) k")
    save(rows, target, "overwrite", overwrite_mode="dynamic")
    assert ids(spark, target) == [0, 2, 3, 5, 100]


def test_snapshot_properties_are_written_to_the_summary(spark: Any, tmp_path: Path) -> None:
    options = {"snapshot-property.job": "nightly"}
    spark.range(1).write.format("pyiceberg-lite").mode("append").options(**options).save(
        str(tmp_path / "t")
    )
    summary = ice.load_table(str(tmp_path / "t")).current_snapshot().summary
    assert summary["job"] == "nightly"


@pytest.mark.parametrize("file_format", ["parquet", "orc", "avro"])
def test_write_format(spark: Any, tmp_path: Path, file_format: str) -> None:
    target = tmp_path / "t"
    save(spark.range(5), target, write_format=file_format)
    assert {path.suffix for path in data_files(target)} == {f".{file_format}"}
    assert ids(spark, target) == list(range(5))


def test_columns_go_by_name_and_widen(spark: Any, tmp_path: Path) -> None:
    target = tmp_path / "t"
    ice.create_table(str(target), "id bigint, name string, price decimal(12,2)")
    frame = spark.range(2).selectExpr(
        "cast(1.5 as decimal(5,1)) price", "'x' name", "cast(id as int) id"
    )
    save(frame, target)
    rows = spark.read.format("pyiceberg-lite").load(str(target)).collect()
    assert sorted((row.id, row.name, str(row.price)) for row in rows) == [
        (0, "x", "1.50"),
        (1, "x", "1.50"),
    ]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (["'x' id"], "id"),
        (["id", "1 extra"], "extra"),
        (["cast(null as bigint) id"], "id"),
        (["named_struct('a', 1) id"], "id"),
    ],
    ids=["wrong type", "extra column", "null in a required column", "struct for a number"],
)
def test_rows_that_do_not_fit_are_refused_and_leave_nothing(
    spark: Any, tmp_path: Path, columns: list[str], message: str
) -> None:
    target = tmp_path / "t"
    table = ice.create_table(str(target), "id bigint not null")
    with pytest.raises(Exception, match=message):
        save(spark.range(3).selectExpr(*columns), target)
    assert data_files(target) == [] if (target / "data").exists() else True
    assert table.refresh().current_snapshot() is None


def test_a_failing_task_leaves_table_and_folder_as_they_were(spark: Any, tmp_path: Path) -> None:
    target = tmp_path / "t"
    save(spark.range(3), target)
    before = data_files(target)
    frame = spark.range(0, 1000, 1, 2).selectExpr("if(id = 999, raise_error('boom'), id) id")
    with pytest.raises(Exception, match="boom"):
        save(frame.selectExpr("cast(id as bigint) id"), target)
    assert data_files(target) == before
    assert ids(spark, target) == [0, 1, 2]


def test_a_failing_creation_leaves_no_table(spark: Any, tmp_path: Path) -> None:
    target = tmp_path / "t"
    frame = spark.range(10).selectExpr("if(id = 9, raise_error('boom'), id) id")
    with pytest.raises(Exception, match="boom"):
        save(frame.selectExpr("cast(id as bigint) id"), target)
    assert not [path for path in target.rglob("*") if path.is_file()]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"distribution-mode": "hash"}, "table.append|repartition"),
        ({"target-file-size": "1"}, "target-file-size-bytes"),
        ({"write-format": "csv"}, "parquet, orc, avro"),
        ({"overwrite-mode": "fancy"}, "static, dynamic"),
        ({"partition-by": "days(nope)"}, "nope"),
        ({"format-version": "7"}, "7"),
    ],
)
def test_what_is_wrong_is_named(
    spark: Any, tmp_path: Path, options: dict[str, str], message: str
) -> None:
    writer = spark.range(1).write.format("pyiceberg-lite").mode("append").options(**options)
    with pytest.raises(Exception, match=message):
        writer.save(str(tmp_path / "t"))
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_an_empty_frame_still_creates_the_table(spark: Any, tmp_path: Path) -> None:
    target = tmp_path / "t"
    save(spark.range(0), target)
    assert ids(spark, target) == []
