"""Metadata tables through the data source: `load("T#name")`."""

from typing import Any

import pyarrow as pa
import pytest

import iceberg_spark as ice
from iceberg_spark import Table
from tests.oracle.compare import assert_same_rows


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Table:
    """Two appends of two partitions, one manifest each."""
    location = str(tmp_path_factory.mktemp("inspect") / "t")
    made = ice.create_table(
        location,
        "id bigint, k string, d decimal(9,2)",
        partition_by=["k"],
        properties={"write.metadata.metrics.max-inferred-column-defaults": "100"},
    )
    for first in (0, 10):
        rows = {"id": [first, first + 1], "k": ["x", None], "d": pa.nulls(2, pa.decimal128(9, 2))}
        made.append(pa.table(rows))
    return made


def load(spark: Any, table: Table, name: str, **options: object) -> Any:
    named = {key.replace("_", "-"): str(value) for key, value in options.items()}
    reader = spark.read.format("pyiceberg-lite").options(**named)
    return reader.load(f"{table.location()}#{name}")


@pytest.mark.parametrize("name", ["history", "entries", "partitions", "all_manifests"])
def test_the_source_shows_what_inspect_shows(spark: Any, table: Table, name: str) -> None:
    assert_same_rows(getattr(table.inspect, name)(), load(spark, table, name).toArrow())


def test_a_frame_may_be_filtered_and_selected(any_spark: Any, table: Table) -> None:
    frame = load(any_spark, table, "files").where("record_count = 1")
    assert frame.select("readable_metrics.id.lower_bound").count() == 4
    assert {row.lower for row in frame.selectExpr("readable_metrics.id.lower_bound lower").collect()
            } == {0, 1, 10, 11}  # fmt: skip


def test_a_snapshot_columns_and_rows_can_be_chosen(spark: Any, table: Table) -> None:
    first = table.snapshots()[0].snapshot_id
    assert load(spark, table, "files", snapshot_id=first).count() == 2
    assert load(spark, table, "manifests", versionAsOf="main").count() == 2
    frame = load(
        spark, table, "files", columns="file_path,partition.k", row_filter="partition.k = 'x'"
    )
    assert frame.columns == ["file_path", "partition"]
    assert [row.partition.k for row in frame.collect()] == ["x", "x"]


def test_manifests_are_read_by_tasks_of_their_own(spark: Any, table: Table) -> None:
    assert load(spark, table, "files").rdd.getNumPartitions() == 1
    assert load(spark, table, "files", split_size=1).rdd.getNumPartitions() == 2
    assert load(spark, table, "all_manifests", split_size=1).rdd.getNumPartitions() == 2


def test_what_makes_no_sense_is_refused_with_the_way_out(spark: Any, table: Table) -> None:
    def message(name: str, **options: object) -> str:
        with pytest.raises(Exception, match=r".") as caught:
            _ = load(spark, table, name, **options).schema
        return str(caught.value)

    assert "did you mean 'snapshots'" in message("snapshot")
    assert "shows all snapshots" in message("history", snapshot_id=1)
    assert "'start-snapshot-id'" in message("files", start_snapshot_id=1)
    with pytest.raises(Exception, match="can be read but not written"):
        spark.range(1).write.format("pyiceberg-lite").mode("append").save(
            f"{table.location()}#files"
        )
