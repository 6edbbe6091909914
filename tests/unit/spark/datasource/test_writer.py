"""What the writer removes, and what it must not, whatever Spark calls when."""

from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql.types import LongType, StructField, StructType

import iceberg_spark as ice
from iceberg_spark.errors import CommitStateUnknownException, StorageError, ValidationException
from iceberg_spark.save import commit_save as commits
from iceberg_spark.spark.datasource import stream_writer as module
from iceberg_spark.spark.datasource.source import PyIcebergLiteSource
from iceberg_spark.spark.datasource.stream_writer import BatchWriter
from iceberg_spark.write import uncommitted_files as strays
from iceberg_spark.write.context import TaskId

FRAME = StructType([StructField("id", LongType())])


@pytest.fixture
def writer(tmp_path: Path) -> BatchWriter:
    ice.create_table(str(tmp_path / "t"), "id bigint")
    return planned_writer({"path": str(tmp_path / "t")}, FRAME)


def planned_writer(options: dict[str, str], frame: StructType) -> BatchWriter:
    writer = PyIcebergLiteSource(options).writer(frame, overwrite=False)
    assert isinstance(writer, BatchWriter)
    return writer


def batch(*ids: int) -> pa.RecordBatch:
    return pa.record_batch({"id": pa.array(ids, pa.int64())})


def data_files(tmp_path: Path) -> list[Path]:
    return [path for path in (tmp_path / "t" / "data").rglob("*") if path.is_file()]


def test_a_commit_removes_the_strays_of_its_own_write_only(
    writer: BatchWriter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = writer.write(iter([batch(1)]))
    monkeypatch.setattr(module, "task_id", lambda: TaskId(0, 7))
    writer.write(iter([batch(1)]))  # another attempt of the same task
    other = tmp_path / "t" / "data" / "someone-elses.parquet"
    other.touch()
    writer.commit([kept])
    assert len(data_files(tmp_path)) == 2
    assert other.exists()
    assert ice.load_table(str(tmp_path / "t")).scan().count() == 1


def test_an_abort_after_failed_tasks_removes_everything(
    writer: BatchWriter, tmp_path: Path
) -> None:
    writer.abort([writer.write(iter([batch(1)])), None])
    assert data_files(tmp_path) == []


def test_an_abort_looks_again_for_tasks_that_were_still_running(
    writer: BatchWriter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    late = iter([False, True])

    def another_task_ends(_seconds: float) -> None:
        if next(late, False):
            writer.write(iter([batch(1)]))

    monkeypatch.setattr(strays.time, "sleep", another_task_ends)
    writer.abort([None])
    assert data_files(tmp_path) == []


def test_a_task_of_a_busy_machine_is_looked_after_until_it_ends(
    writer: BatchWriter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = iter([False, False, False, True, True, True, False, True])

    def another_task_writes(_seconds: float) -> None:
        if next(looks):
            writer.write(iter([batch(1)]))

    monkeypatch.setattr(strays.time, "sleep", another_task_writes)
    writer.abort([None])
    assert data_files(tmp_path) == []
    assert list(looks) == [True], "one quiet look ends it"


@pytest.mark.parametrize("error", [CommitStateUnknownException, StorageError])
def test_an_abort_after_a_commit_that_may_have_landed_removes_nothing(
    writer: BatchWriter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    written = [writer.write(iter([batch(1)]))]

    def strays_fail(*_args: object, **_options: object) -> None:
        raise StorageError("the store went away")

    def commit_fails(*_args: object, **_options: object) -> None:
        raise CommitStateUnknownException("no answer")

    if error is StorageError:
        monkeypatch.setattr(strays, "remove_other_attempts", strays_fail)
        writer.commit(written)
    else:
        monkeypatch.setattr(commits, "commit", commit_fails)
        with pytest.raises(error):
            writer.commit(written)
    writer.abort(written)
    assert len(data_files(tmp_path)) == 1


def test_a_refused_commit_removes_its_files(
    writer: BatchWriter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = [writer.write(iter([batch(1)]))]

    def refused(*_args: object, **_options: object) -> None:
        raise ValidationException("conflict")

    monkeypatch.setattr(commits, "commit", refused)
    with pytest.raises(ValidationException):
        writer.commit(written)
    assert data_files(tmp_path) == []


def test_a_failing_attempt_removes_what_it_wrote(writer: BatchWriter, tmp_path: Path) -> None:
    def rows() -> object:
        yield batch(1)
        raise RuntimeError("boom")

    with pytest.raises(RuntimeError, match="boom"):
        writer.write(rows())
    assert data_files(tmp_path) == []


def test_merge_schema_adds_columns_and_widens_types_in_the_same_commit(tmp_path: Path) -> None:
    location = str(tmp_path / "t")
    table = ice.create_table(location, "id int, name string")
    table.append(pa.table({"id": pa.array([1], pa.int32()), "name": ["a"]}))
    frame = StructType([StructField("id", LongType()), StructField("extra", LongType())])
    writer = planned_writer({"path": location, "mergeSchema": "true"}, frame)
    rows = pa.record_batch({"id": pa.array([2**40], pa.int64()), "extra": pa.array([7])})
    writer.commit([writer.write(iter([rows]))])
    table.refresh()
    assert [str(field) for field in table.schema().fields] == [
        "1: id: optional long",
        "2: name: optional string",
        "3: extra: optional long",
    ]
    assert len(table.snapshots()) == 2
    assert sorted(table.scan().to_arrow().to_pylist(), key=lambda row: row["id"]) == [
        {"id": 1, "name": "a", "extra": None},
        {"id": 2**40, "name": None, "extra": 7},
    ]


def test_merge_schema_on_a_schema_that_changed_meanwhile_is_a_conflict(tmp_path: Path) -> None:
    location = str(tmp_path / "t")
    ice.create_table(location, "id bigint")

    def planned(column: str) -> BatchWriter:
        frame = StructType([StructField("id", LongType()), StructField(column, LongType())])
        return planned_writer({"path": location, "mergeSchema": "true"}, frame)

    first, second = planned("a"), planned("b")
    rows = {"id": pa.array([1], pa.int64())}
    written = second.write(iter([pa.record_batch({**rows, "b": pa.array([1])})]))
    first.commit([first.write(iter([pa.record_batch({**rows, "a": pa.array([1])})]))])
    with pytest.raises(ValidationException, match="schema"):
        second.commit([written])
    assert len(data_files(tmp_path)) == 1


@pytest.mark.parametrize("mode", ["rows", "upsert"])
def test_a_write_is_followed_by_the_small_compaction_that_the_table_asks_for(
    tmp_path: Path, mode: str
) -> None:
    asked = {"maintenance.auto-compact.enabled": "true", "maintenance.auto-compact.min-files": "3"}
    table = ice.create_table(str(tmp_path / "t"), "id bigint", properties=asked)
    options = {"path": str(tmp_path / "t")}
    if mode == "upsert":
        options |= {"write-mode": "upsert", "equality-fields": "id"}
    for number in range(3):
        writer = PyIcebergLiteSource(options).writer(FRAME, overwrite=False)
        written = writer.write(iter([batch(number)]))  # type: ignore[arg-type]
        writer.commit([written])
    table.refresh()
    assert table.scan().count() == 3
    assert len(list(table.scan().plan_files())) == 1
