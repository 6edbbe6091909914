"""Changes by key applied on Spark's tasks, and by streams."""

from __future__ import annotations

import json
import random
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

import iceberg_spark as ice
from iceberg_spark.errors import InvalidInputError
from iceberg_spark.row_level.cdc_ledger import CDC
from iceberg_spark.spark.row_level import apply_changes
from tests.cdc_model import Change, current, frame, history

NAMED = "id bigint, name string, price double, seq bigint"
PLAIN = "id bigint, name string, price double"


def drawn(seed: int, keys: int = 60) -> list[list[Change]]:
    """Return batches of changes in any order, with repeats."""
    chosen = random.Random(seed)
    values = [None, ("a", 1.0), ("b", None), (None, float("inf"))]
    every = [
        Change(key, at, chosen.choice(values))
        for key in range(keys)
        for at in chosen.sample(range(9), chosen.randint(1, 5))
    ]
    chosen.shuffle(every)
    third = len(every) // 3
    return [[*every[at : at + third], *chosen.sample(every, 20)] for at in (0, third, 2 * third)]


@pytest.fixture
def on_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave nothing to the driver."""
    limits = replace(CDC, here_rows=0, task_rows=60)
    monkeypatch.setattr(apply_changes, "CDC", limits)
    monkeypatch.setattr(apply_changes, "CDC", limits)


@pytest.mark.usefixtures("on_tasks")
@pytest.mark.parametrize(
    ("scd_type", "schema", "sequence", "partition_by", "mode", "version"),
    [
        (1, NAMED, "seq", ["name"], "copy-on-write", "2"),
        (1, PLAIN, "__seq", [], "merge-on-read", "3"),
        (2, PLAIN, "__seq", ["bucket(2, id)"], "copy-on-write", "3"),
    ],
)
def test_tasks_leave_what_the_set_of_changes_says(
    spark: SparkSession,
    tmp_path: Path,
    scd_type: int,
    schema: str,
    sequence: str,
    partition_by: list[str],
    mode: str,
    version: str,
) -> None:
    table = ice.create_table(
        str(tmp_path / "t"),
        schema,
        partition_by=partition_by,
        properties={"write.merge.mode": mode, "format-version": version},
    )
    seen: list[Change] = []
    for batch in drawn(scd_type):
        seen += batch
        table.apply_changes(
            spark.createDataFrame(frame(batch, sequence)),
            keys=["id"],
            sequence_by=sequence,
            apply_as_deletes=sf.col("op") == "D",
            except_column_list=["op"],
            stored_as_scd_type=scd_type,
        )
    rows = Counter(tuple(row.values()) for row in table.scan().to_arrow().to_pylist())
    if scd_type == 2:
        assert rows == Counter(history(seen))
    else:
        width = 4 if sequence == "seq" else 3
        assert rows == Counter(row[:width] for row in current(seen).values())


@pytest.mark.usefixtures("on_tasks")
def test_a_task_says_what_is_wrong_with_rows(any_spark: SparkSession, tmp_path: Path) -> None:
    table = ice.create_table(str(tmp_path / "t"), NAMED)
    twice = [Change(1, 5, ("a", 1.0)), Change(1, 5, ("b", 1.0))]
    rows = any_spark.createDataFrame(frame(twice)).drop("op")
    with pytest.raises(InvalidInputError, match="have the sequence 5"):
        table.apply_changes(rows, keys=["id"], sequence_by="seq")
    assert table.current_snapshot() is None


def message(change: Change) -> str:
    """Return a change as Debezium has it."""
    name, price = change.value or (None, None)
    row = {"id": change.key, "name": name, "price": price}
    gone = change.value is None
    body = {"before": row, "after": None} if gone else {"before": None, "after": row}
    return json.dumps({"op": "d" if gone else "c", **body, "source": {"lsn": change.sequence}})


def test_a_restarted_stream_of_messages_applies_each_change_once(
    spark: SparkSession, tmp_path: Path
) -> None:
    table = ice.create_table(str(tmp_path / "t"), PLAIN)
    source, batches = tmp_path / "source", drawn(7, keys=20)

    def apply(rows: DataFrame, number: int) -> None:
        table.apply_changes(
            rows,
            keys=["id"],
            sequence_by="__seq + 1",
            apply_as_deletes="__deleted",
            txn_app_id="stream",
            txn_version=number,
        )

    def run() -> None:
        records = spark.readStream.schema("value binary").parquet(str(source))
        changes = ice.cdc.debezium(records, table.schema(), sequence="source.lsn")
        stream = (
            changes.writeStream.foreachBatch(apply)
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        stream.awaitTermination()

    for number, batch in enumerate(batches):
        messages = pa.array([message(change).encode() for change in batch], pa.binary())
        rows = spark.createDataFrame(pa.table({"value": messages})).coalesce(1)
        rows.write.mode("append").parquet(str(source))
        run()
        if number == 1:  # the batch is run again, as after a crash before its commit was noted
            (tmp_path / "checkpoint" / "commits" / "1").unlink()
            (tmp_path / "checkpoint" / "commits" / ".1.crc").unlink()
    expected = current(change for batch in batches for change in batch)
    rows = table.scan().to_arrow().to_pylist()
    assert Counter(tuple(row.values()) for row in rows) == Counter(
        row[:3] for row in expected.values()
    )


def test_a_column_that_a_condition_alone_uses_need_not_be_the_tables(
    any_spark: SparkSession, tmp_path: Path
) -> None:
    rows = any_spark.createDataFrame(frame([Change(1, 1, ("a", 1.0)), Change(2, 1, None)]))
    for number, condition in enumerate((sf.col("op") == "D", "op = 'D'")):
        table = ice.create_table(str(tmp_path / f"t{number}"), NAMED)
        table.apply_changes(rows, keys=["id"], sequence_by="seq", apply_as_deletes=condition)
        assert table.scan().to_arrow()["id"].to_pylist() == [1]
