"""Change feeds as frames and streams: values that are left out, and forms that a batch shows."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

import iceberg_spark as ice
from iceberg_spark.errors import InvalidInputError
from iceberg_spark.row_level.cdc_ledger import CDC
from iceberg_spark.spark.row_level import apply_changes
from tests.feeds.recorded import actual_values, expected_value, feed
from tests.left_out_model import (
    COLUMNS,
    Event,
    expected_rows,
    random_feed,
    rows_of,
    shuffled_batches,
)

OPTIONS = {
    "keys": ["id"],
    "sequence_by": "__seq",
    "apply_as_deletes": "__deleted",
    "apply_as_truncates": "__truncated",
}


@pytest.fixture
def on_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave nothing to the driver."""
    limits = replace(CDC, here_rows=0, task_rows=60)
    monkeypatch.setattr(apply_changes, "CDC", limits)
    monkeypatch.setattr(apply_changes, "CDC", limits)


@pytest.mark.usefixtures("on_tasks")
def test_tasks_keep_the_values_that_changes_leave_out(spark: SparkSession, tmp_path: Path) -> None:
    table = ice.create_table(str(tmp_path / "t"), "id bigint, a string, b string, c string")
    rng = random.Random(3)
    changes = random_feed(rng)
    waiting: list[Event] = []
    for batch in shuffled_batches(changes, rng, shuffles=True):
        waiting += batch
        if len(waiting) < 12:
            continue
        try:
            table.apply_changes(
                spark.createDataFrame(rows_of(waiting, "__seq")),
                keys=["id"],
                sequence_by="__seq",
                apply_as_deletes="__deleted",
            )
        except InvalidInputError as error:
            if "leaves out its value" not in str(error):
                raise
        else:
            waiting = []
    if waiting:
        frame = spark.createDataFrame(rows_of(waiting, "__seq"))
        table.apply_changes(frame, keys=["id"], sequence_by="__seq", apply_as_deletes="__deleted")
    rows = table.scan().to_arrow().select(["id", *COLUMNS]).to_pylist()
    assert sorted(tuple(row.values()) for row in rows) == expected_rows(changes)


def docs_schema() -> pa.Schema:
    return pa.schema([column.field() for column in feed("f1").columns("docs_default")])


def assert_docs(table: ice.Table) -> None:
    recorded = feed("f1")
    expected = recorded.tables["docs_default"]["rows"]
    rows = table.scan().to_arrow().sort_by("id")
    for column in recorded.columns("docs_default"):
        right = [expected_value(row[column.name], column, recorded.expected) for row in expected]
        assert actual_values(rows[column.name], column, recorded.expected) == right, column.name


def test_frames_are_applied_as_arrow_is(any_spark: SparkSession, tmp_path: Path) -> None:
    table = ice.create_table(str(tmp_path / "t"), docs_schema())
    records = any_spark.createDataFrame(feed("f1").records("docs_default"))
    changes = ice.cdc.debezium(records, docs_schema(), sequence="source.lsn")
    table.apply_changes(changes, **OPTIONS)
    assert_docs(table)


def test_names_match_as_the_session_says(any_spark: SparkSession) -> None:
    message = b'{"op": "c", "after": {"Id": 1, "NAME": "Ann"}}'
    records = any_spark.createDataFrame(pa.table({"value": [message], "offset": [0]}))
    changes = ice.cdc.debezium(records, "id bigint, name string", strict=True)
    assert changes.select("id", "name").collect() == [(1, "Ann")]


def test_streams_are_applied_as_arrow_is(spark: SparkSession, tmp_path: Path) -> None:
    table = ice.create_table(str(tmp_path / "t"), docs_schema())
    records = feed("f1").records("docs_default")
    for number, start in enumerate(range(0, records.num_rows, 5)):
        batch = spark.createDataFrame(records.slice(start, 5)).coalesce(1)
        batch.write.mode("append").parquet(str(tmp_path / "source"))
        run_stream(spark, table, tmp_path, number)
    assert_docs(table)


def run_stream(spark: SparkSession, table: ice.Table, path: Path, number: int) -> None:
    def apply(rows: DataFrame, _: int) -> None:
        table.apply_changes(rows, **OPTIONS, txn_app_id="docs", txn_version=number)

    records = spark.readStream.schema("key binary, value binary, offset bigint")
    changes = ice.cdc.debezium(
        records.parquet(str(path / "source")), docs_schema(), sequence="source.lsn"
    )
    stream = changes.writeStream.foreachBatch(apply)
    stream = stream.option("checkpointLocation", str(path / "checkpoint"))
    stream.trigger(availableNow=True).start().awaitTermination()


def widening_records(spark: SparkSession) -> DataFrame:
    """Messages with schemas, of which the last one only has the column `price`."""
    fields = [{"field": "id", "type": "int64"}]
    rows = [{"id": number} for number in range(4)] + [{"id": 4, "price": 1.5}]
    values = []
    for row in rows:
        own = [*fields, {"field": "price", "type": "double"}] if "price" in row else fields
        schema = {"fields": [{"field": "after", "fields": own}]}
        message = {"schema": schema, "payload": {"op": "c", "after": row}}
        values.append(json.dumps(message).encode())
    table = pa.table({"value": values, "offset": range(len(values))})
    return spark.createDataFrame(table).repartition(3)


def test_columns_that_any_task_meets_are_added(any_spark: SparkSession, tmp_path: Path) -> None:
    table = ice.create_table(str(tmp_path / "t"), "id bigint")
    records = widening_records(any_spark)
    changes = ice.cdc.debezium(records, table.schema(), merge_schema=True)
    table.apply_changes(changes, **OPTIONS, merge_schema=True)
    assert table.scan().to_arrow().sort_by("id").to_pylist()[3:] == [
        {"id": 3, "price": None},
        {"id": 4, "price": 1.5},
    ]


@pytest.mark.usefixtures("on_tasks")
def test_tasks_write_the_columns_that_are_added(spark: SparkSession, tmp_path: Path) -> None:
    table = ice.create_table(str(tmp_path / "t"), "id bigint")
    table.append(pa.table({"id": [4]}))
    records = widening_records(spark)
    changes = ice.cdc.debezium(records, table.schema(), merge_schema=True)
    table.apply_changes(changes, **OPTIONS, merge_schema=True)
    assert table.scan("price = 1.5").to_arrow().to_pylist() == [{"id": 4, "price": 1.5}]
    assert table.scan().to_arrow().num_rows == 5


def test_a_stream_adds_columns_batch_by_batch(spark: SparkSession, tmp_path: Path) -> None:
    table = ice.create_table(str(tmp_path / "t"), "id bigint")
    widening_records(spark).write.parquet(str(tmp_path / "source"))
    records = spark.readStream.schema("value binary, offset bigint")
    records = records.parquet(str(tmp_path / "source"))
    with pytest.raises(InvalidInputError, match=r"inside of foreachBatch"):
        ice.cdc.debezium(records, table.schema(), merge_schema=True)

    def apply(batch: DataFrame, _: int) -> None:
        changes = ice.cdc.debezium(batch, table.refresh().schema(), merge_schema=True)
        table.apply_changes(changes, **OPTIONS, merge_schema=True)

    stream = records.writeStream.foreachBatch(apply)
    stream = stream.option("checkpointLocation", str(tmp_path / "checkpoint"))
    stream.trigger(availableNow=True).start().awaitTermination()
    assert table.refresh().scan("price = 1.5").to_arrow().to_pylist() == [{"id": 4, "price": 1.5}]
