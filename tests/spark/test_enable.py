"""After `enable(spark)`, `spark.read` and `df.write` of that session reach the native engine."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf

import iceberg_spark as ice
from iceberg_spark.errors import (
    InvalidOptionError,
    InvalidTypeError,
    NoSuchTableError,
    TableAlreadyExistsError,
)

FORMAT = "pyiceberg-lite"


@pytest.fixture
def enabled(any_spark: Any) -> Iterator[Any]:
    ice.enable(any_spark)
    yield any_spark
    ice.disable(any_spark)


@pytest.fixture
def place(tmp_path: Path) -> str:
    table = ice.create_table(
        str(tmp_path / "t"), "id bigint, k string", partition_by=["k"], properties={"a": "b"}
    )
    table.append(rows(0, 6))
    return table.location()


def rows(start: int, end: int) -> Any:
    numbers = list(range(start, end))
    return pa.table({"id": numbers, "k": [f"k{n % 2}" for n in numbers]})


def ids(frame: Any) -> list[int]:
    return sorted(row.id for row in frame.select("id").collect())


def test_a_load_gives_the_frame_of_the_table_api(enabled: Any, place: str) -> None:
    frame = enabled.read.format(FORMAT).load(place)
    expected = ice.load_table(place).scan().to_df(enabled)
    assert frame.schema == expected.schema
    assert ids(frame) == ids(expected) == [0, 1, 2, 3, 4, 5]
    assert ids(enabled.read.load(place, format=FORMAT)) == [0, 1, 2, 3, 4, 5]
    assert ids(frame.where("id > 3")) == [4, 5] and ids(frame) == [0, 1, 2, 3, 4, 5]


def test_options_mean_what_they_mean_to_the_plain_source(enabled: Any, place: str) -> None:
    table = ice.load_table(place)
    first = table.current_snapshot().snapshot_id
    table.append(rows(6, 8))
    reader = enabled.read.format(FORMAT)
    assert ids(reader.option("snapshot-id", first).load(place)) == list(range(6))
    frame = enabled.read.format(FORMAT).load(place, columns="id", **{"row-filter": "id > 5"})
    assert frame.columns == ["id"] and ids(frame) == [6, 7]
    with pytest.raises(InvalidOptionError, match="snapshot-id"):
        enabled.read.format(FORMAT).option("snapshot-ids", first).load(place)


def test_the_snapshot_is_pinned_when_the_frame_is_made(enabled: Any, place: str) -> None:
    frame = enabled.read.format(FORMAT).load(place)
    ice.load_table(place).append(rows(6, 8))
    assert ids(frame) == list(range(6))


def test_other_formats_fall_through(enabled: Any, tmp_path: Path) -> None:
    path = str(tmp_path / "p")
    first, more = (enabled.range(*ends).withColumn("k", sf.lit(1)) for ends in ((3,), (3, 5)))
    first.write.format("parquet").partitionBy("k").option("compression", "zstd").save(path)
    more.write.mode("append").partitionBy("k").parquet(path)
    assert sorted(row.id for row in enabled.read.format("parquet").load(path).collect()) == [
        0, 1, 2, 3, 4,
    ]  # fmt: skip
    assert enabled.read.parquet(path).count() == 5
    assert enabled.read.schema("id bigint").load(path, format="parquet").count() == 5


def test_a_reader_made_before_and_disable_leave_pyspark_as_it_was(any_spark: Any) -> None:
    before, write = type(any_spark.read), type(any_spark.range(1).write)
    reader = any_spark.read
    ice.enable(any_spark)
    ice.enable(any_spark)
    assert type(reader) is before
    assert type(any_spark.read) is not before and isinstance(any_spark.read, before)
    ice.disable(any_spark)
    assert type(any_spark.read) is before
    assert type(any_spark.range(1).write) is write


def test_other_sessions_are_untouched(spark: SparkSession) -> None:
    other = spark.newSession()
    before = type(other.read)
    ice.enable(spark)
    try:
        assert type(other.read) is before
        assert type(other.range(1).write) is type(other.range(1).write)
        assert type(spark.read) is not before
    finally:
        ice.disable(spark)


def test_a_metadata_table_and_a_user_schema_are_left_to_the_source(
    enabled: Any, place: str
) -> None:
    frame = enabled.read.format(FORMAT).schema("id bigint, k string").load(place)
    assert ids(frame) == list(range(6))


def test_a_table_of_a_configured_catalog_is_read_by_its_name(
    enabled: Any, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Path(place).parent
    monkeypatch.setenv("PYICEBERG_CATALOG__MINE__TYPE", "filesystem")
    monkeypatch.setenv("PYICEBERG_CATALOG__MINE__WAREHOUSE", str(folder.parent))
    name = f"mine.{folder.name}.t"
    assert ids(enabled.read.table(name)) == list(range(6))
    assert ids(enabled.read.option("columns", "id").table(name)) == list(range(6))


def test_what_is_no_session_is_refused() -> None:
    with pytest.raises(InvalidTypeError, match="SparkSession"):
        ice.enable("spark")  # type: ignore[arg-type]


@pytest.mark.parametrize("mode", [None, "error", "errorifexists"])
def test_the_default_mode_refuses_a_table_that_is_there(
    enabled: Any, place: str, mode: Any
) -> None:
    with pytest.raises(TableAlreadyExistsError, match="append"):
        enabled.range(1).write.format(FORMAT).mode(mode).save(place)


def test_ignore_leaves_a_table_that_is_there(enabled: Any, place: str) -> None:
    enabled.range(1).write.format(FORMAT).mode("ignore").save(place)
    assert len(ice.load_table(place).snapshots()) == 1


def test_append_and_overwrite(enabled: Any, place: str) -> None:
    more = enabled.range(6, 8).withColumn("k", sf.lit("k9"))
    more.write.format(FORMAT).mode("append").option("snapshot-property.by", "x").save(place)
    table = ice.load_table(place)
    assert ids(table.scan().to_df(enabled)) == list(range(8))
    assert table.current_snapshot().summary["by"] == "x"
    more.write.save(place, format=FORMAT, mode="overwrite", **{"overwrite-mode": "dynamic"})
    assert ids(table.refresh().scan().to_df(enabled)) == list(range(8))
    more.write.save(place, format=FORMAT, mode="overwrite")
    assert ids(table.refresh().scan().to_df(enabled)) == [6, 7]


def test_a_new_table_is_partitioned_by_the_columns_of_partition_by(
    enabled: Any, tmp_path: Path
) -> None:
    path = str(tmp_path / "new")
    frame = enabled.range(4).withColumn("k k", sf.col("id") % 2)
    frame.write.format(FORMAT).partitionBy("k k").option("table-property.a", "b").save(path)
    table = ice.load_table(path)
    assert [part.name for part in table.spec().fields] == ["k k"]
    assert table.properties["a"] == "b" and len(table.snapshots()) == 1
    assert ids(table.scan().to_df(enabled)) == [0, 1, 2, 3]


def test_partition_columns_other_than_the_tables_are_refused(enabled: Any, place: str) -> None:
    frame = enabled.range(1).withColumn("k", sf.lit("k"))
    with pytest.raises(InvalidOptionError, match="partitioned by k"):
        frame.write.format(FORMAT).mode("append").partitionBy("id").save(place)
    frame.write.format(FORMAT).mode("append").partitionBy("k").save(place)
    with pytest.raises(InvalidOptionError, match="partition-by"):
        frame.write.format(FORMAT).partitionBy("k").option("partition-by", "id").save(place + "x")


def test_a_failed_write_leaves_no_table_and_no_file(enabled: Any, tmp_path: Path) -> None:
    path = tmp_path / "none"
    broken = enabled.range(2).select(sf.raise_error(sf.lit("it broke")).cast("long").alias("id"))
    with pytest.raises(Exception, match="it broke"):
        broken.write.format(FORMAT).save(str(path))
    with pytest.raises(NoSuchTableError):
        ice.load_table(str(path))
    assert not [file for file in path.rglob("*") if file.is_file()]


def test_distribution_mode_is_applied(enabled: Any, place: str) -> None:
    frame = enabled.range(6, 12, 1, 2).withColumn("k", sf.concat(sf.lit("k"), sf.col("id") % 2))
    writer = frame.write.format(FORMAT).mode("append").option("distribution-mode", "hash")
    writer.save(place)
    added = ice.load_table(place).current_snapshot().summary
    assert added["added-records"] == "6"


def test_the_engine_option_is_applied(enabled: Any, place: str) -> None:
    frame = enabled.range(6, 8).selectExpr("id", "'k0' AS k")
    names = {}
    for engine in ("native", "arrow"):
        before = {task.file_path for task in ice.load_table(place).scan().plan_files()}
        frame.write.format(FORMAT).mode("append").option("engine", engine).save(place)
        after = {task.file_path for task in ice.load_table(place).scan().plan_files()}
        names[engine] = {Path(path).name for path in after - before}
    assert names["native"] and names["arrow"]
    assert all(name.startswith("part-") for name in names["native"])  # Spark's own names
    assert not any(name.startswith("part-") for name in names["arrow"])
