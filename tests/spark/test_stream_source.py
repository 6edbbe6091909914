"""Streams of a table, by classic sessions and Connect: what a query gets over restarts."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyspark
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import iceberg_spark as ice

SEES_LIMITS = tuple(map(int, pyspark.__version__.split(".")[:2])) >= (4, 2)


def new_table(folder: Path) -> ice.Table:
    schema = pa.schema([("id", pa.int64()), ("p", pa.int32())])
    return ice.create_table(str(folder / "t"), schema, partition_by="p")


def rows(*ids: int) -> pa.Table:
    return pa.table({"id": ids, "p": pa.array([number % 3 for number in ids], pa.int32())})


def run(spark: Any, folder: Path, name: str, of: str = "", **options: object) -> list[int]:
    """One AvailableNow run of a query with a checkpoint of its name; all ids it has read so far."""
    given = {key.replace("_", "-"): value for key, value in options.items()}
    frame = spark.readStream.format("pyiceberg-lite").options(**given).load(f"{folder / 't'}{of}")
    query = (
        frame.writeStream.format("parquet")
        .option("checkpointLocation", str(folder / f"{name}-checkpoint"))
        .trigger(availableNow=True)
        .start(str(folder / name))
    )
    assert query.awaitTermination(120)
    if query.exception() is not None:
        raise query.exception()
    found = spark.read.schema("id long").parquet(str(folder / name))
    return sorted(row.id for row in found.collect())


def test_each_row_is_read_once_over_restarts(any_spark: SparkSession, tmp_path: Path) -> None:
    table = new_table(tmp_path)
    table.append(rows(1, 2))
    assert run(any_spark, tmp_path, "latest", stream_from_snapshot="latest") == []
    table.append(rows(3))
    with table.update_spec() as spec:
        spec.remove_field("p")
    table.append(rows(4, 5))
    assert run(any_spark, tmp_path, "all") == [1, 2, 3, 4, 5]
    table.append(rows(6))
    assert run(any_spark, tmp_path, "all") == [1, 2, 3, 4, 5, 6]
    assert run(any_spark, tmp_path, "latest", stream_from_snapshot="latest") == [3, 4, 5, 6]


def test_limits_hold_on_every_pyspark(spark: SparkSession, tmp_path: Path) -> None:
    table = new_table(tmp_path)
    table.append(rows(1, 2))
    table.append(rows(3))
    options = {"stream_from_snapshot": "full", "streaming_max_files_per_micro_batch": 2}
    first = run(spark, tmp_path, "full", **options)
    assert len(first) == 3 if SEES_LIMITS else len(first) == 2
    table.append(rows(4))
    rest = [run(spark, tmp_path, "full", **options) for _ in range(2)]
    assert rest[-1] == [1, 2, 3, 4]


def test_changes_are_streamed_commit_by_commit(spark: SparkSession, tmp_path: Path) -> None:
    schema = pa.schema([("id", pa.int64()), ("s", pa.string())])
    properties = {"write.delete.mode": "merge-on-read"}
    table = ice.create_table(str(tmp_path / "t"), schema, properties=properties)
    table.append(pa.table({"id": [1, 2], "s": ["a", "b"]}))
    table.delete("id = 1")
    table.upsert(pa.table({"id": [2, 3], "s": ["B", "c"]}), ["id"])
    table.overwrite(pa.table({"id": [3, 4], "s": ["c", None]}, schema))
    options = {"identifier_columns": "id", "streaming_max_rows_per_micro_batch": 4}
    for _ in range(1 if SEES_LIMITS else 3):
        run(spark, tmp_path, "changes", "#changes", **options)
    found = spark.read.parquet(str(tmp_path / "changes")).toArrow()
    expected = table.scan().changes(identifier_columns=["id"]).to_arrow()
    assert found.column_names == expected.column_names
    assert sorted(map(str, found.to_pylist())) == sorted(map(str, expected.to_pylist()))


def test_a_stream_that_can_not_go_on_says_why(spark: SparkSession, tmp_path: Path) -> None:
    table = new_table(tmp_path)
    table.append(rows(1, 2))
    table.append(rows(3))
    table.delete("id = 1")
    removed = table.current_snapshot()
    assert removed is not None
    with pytest.raises(PySparkException, match=f"{removed.snapshot_id} .*streaming-skip-"):
        run(spark, tmp_path, "refused")
    skipping = {"streaming_skip_delete_snapshots": True, "streaming_skip_overwrite_snapshots": True}
    assert run(spark, tmp_path, "skipped", **skipping) == [1, 2, 3]
    with pytest.raises(PySparkException, match=r"'snapshot-id' is for spark\.read"):
        run(spark, tmp_path, "pinned", snapshot_id=removed.snapshot_id)
