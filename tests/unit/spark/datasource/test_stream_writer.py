"""A stream's batch lands once, in whatever order Spark's processes write, commit and die."""

from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql.datasource import WriterCommitMessage
from pyspark.sql.types import LongType, StructField, StructType

import iceberg_spark as ice
from iceberg_spark import Table
from iceberg_spark.errors import InvalidInputError, InvalidOptionError, UnsupportedError
from iceberg_spark.spark.datasource import stream_writer as module
from iceberg_spark.spark.datasource.source import PyIcebergLiteSource
from iceberg_spark.spark.datasource.stream_writer import StreamWriter
from iceberg_spark.write import task_keys, uncommitted_files

FRAME = StructType([StructField("id", LongType())])


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Table:
    monkeypatch.setattr(module, "_query_id", lambda: "query")
    return ice.create_table(str(tmp_path / "t"), "id bigint")


def made(table: Table, overwrite: bool = False, **options: str) -> StreamWriter:
    """The writer as Spark makes it for each batch, and again for its commit."""
    named = {name.replace("_", "-"): value for name, value in options.items()}
    given = {"path": table.location(), "checkpointlocation": "/c", **named}
    writer = PyIcebergLiteSource(given).streamWriter(FRAME, overwrite)
    assert isinstance(writer, StreamWriter)
    return writer


def written(writer: StreamWriter, *ids: int) -> WriterCommitMessage:
    batches = [pa.record_batch({"id": pa.array(ids, pa.int64())})] if ids else []
    return writer.write(iter(batches))


def stored(table: Table) -> set[str]:
    return {str(path) for path in Path(table.location(), "data").rglob("*") if path.is_file()}


def ids(table: Table) -> list[int]:
    return sorted(table.refresh().scan().to_arrow()["id"].to_pylist())


def test_a_batch_that_two_drivers_write_lands_once_and_leaves_one_file(table: Table) -> None:
    one, other = written(made(table), 1), written(made(table), 1)
    made(table).commit([one], 0)
    made(table).commit([other], 0)
    assert ids(table) == [1]
    assert len(stored(table)) == 1


def test_a_commit_that_comes_late_is_skipped(table: Table) -> None:
    late = written(made(table), 7)
    for epoch in range(3):
        made(table).commit([written(made(table), epoch)], epoch)
    made(table).commit([late], 1)
    assert ids(table) == [0, 1, 2]


def test_a_batch_without_rows_makes_no_snapshot(table: Table) -> None:
    made(table).commit([written(made(table)), written(made(table))], 0)
    made(table).commit([], 1)
    assert table.refresh().snapshots() == []


def test_a_complete_batch_without_rows_empties_the_table(table: Table) -> None:
    made(table, overwrite=True).commit([written(made(table, overwrite=True), 1)], 0)
    made(table, overwrite=True).commit([written(made(table, overwrite=True))], 1)
    assert ids(table) == []
    assert len(table.snapshots()) == 2


def test_the_plan_of_the_tasks_is_committed_when_the_schema_went_on(table: Table) -> None:
    task = written(made(table), 1)
    table.update_schema().add_column("n", "bigint").commit()
    made(table).commit([task], 0)
    assert ids(table) == [1]


def test_files_of_tasks_go_where_others_failed_and_stay_where_the_commit_did(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("iceberg_spark.write.uncommitted_files.time.sleep", lambda _: None)
    task = written(made(table), 1)
    made(table).abort([task], 0)
    assert len(stored(table)) == 1
    made(table).abort([task, None], 0)
    assert stored(table) == set()


def test_a_driver_that_breaks_after_the_commit_breaks_no_batch(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_args: object, **_options: object) -> None:
        raise RuntimeError("a driver's own")

    monkeypatch.setattr(module, "was_tried_before", lambda: True)
    monkeypatch.setattr(uncommitted_files, "remove_other_attempts", broken)
    made(table).commit([written(made(table), 1)], 0)
    assert ids(table) == [1]
    options = {"write_mode": "upsert", "equality_fields": "id"}
    changes = [written(made(table, **options), 2)]
    monkeypatch.setattr(task_keys, "key_files", broken)
    made(table, **options).commit(changes, 1)
    assert ids(table) == [1, 2]


def test_keys_in_two_tasks_are_refused_and_leave_nothing(table: Table) -> None:
    options = {"write_mode": "upsert", "equality_fields": "id"}
    twice = [written(made(table, **options), 1), written(made(table, **options), 1)]
    with pytest.raises(InvalidInputError, match="repartition"):
        made(table, **options).commit(twice, 0)
    assert stored(table) == set()
    apart = [written(made(table, **options), 1), written(made(table, **options), 2)]
    made(table, **options).commit(apart, 0)
    again = [written(made(table, **options), 1), written(made(table, **options), 2)]
    made(table, **options).commit(again, 0)
    assert ids(table) == [1, 2]
    assert len(table.snapshots()) == 1


def test_options_that_no_stream_has_are_refused(table: Table) -> None:
    with pytest.raises(InvalidOptionError, match="checkpoint"):
        made(table, txnAppId="a", txnVersion="1")
    with pytest.raises(UnsupportedError, match="metadata table"):
        PyIcebergLiteSource({"path": f"{table.location()}#files"}).streamWriter(FRAME, False)
