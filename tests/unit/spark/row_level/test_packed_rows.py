"""Rows packed by file: whatever their order, each file's rows come out as they went in."""

import pyarrow as pa
import pytest

from iceberg_spark.spark.adapt.task_results import payload
from iceberg_spark.spark.row_level import position_deletes
from iceberg_spark.spark.row_level.position_deletes import PackTask, unpack_rows
from tests.limits import set_limits


def packed(batches: list[pa.RecordBatch], numbers: dict[str, int]) -> list[tuple[int, str, list]]:
    task = PackTask(payload(numbers))
    return [
        (row["number"], row["file"], unpack_rows(pa.py_buffer(row["rows"])).to_pylist())
        for batch in task(iter(batches))
        for row in batch.to_pylist()
    ]


def rows(*given: tuple[str, int]) -> pa.RecordBatch:
    return pa.record_batch(
        {"_file": [file for file, _ in given], "_pos": pa.array([pos for _, pos in given])}
    )


def test_rows_of_mixed_files_are_packed_one_row_a_file() -> None:
    batches = [rows(("a", 5), ("b", 1), ("a", 3)), rows(("b", 0), ("a", 5))]
    assert packed(batches, {"a": 7, "b": 9}) == [
        (7, "a", [{"_pos": 5}, {"_pos": 3}, {"_pos": 5}]),
        (9, "b", [{"_pos": 1}, {"_pos": 0}]),
    ]


def test_a_task_holds_so_many_rows_and_packs_them_then(monkeypatch: pytest.MonkeyPatch) -> None:
    set_limits(monkeypatch, position_deletes, "POSITION_DELETES", held_rows=2)
    batches = [rows(("a", 1)), rows(("a", 2)), rows(("a", 3))]
    assert packed(batches, {"a": 0}) == [
        (0, "a", [{"_pos": 1}, {"_pos": 2}]),
        (0, "a", [{"_pos": 3}]),
    ]


def test_a_file_that_is_no_target_is_an_error() -> None:
    with pytest.raises(KeyError):
        packed([rows(("c", 1))], {"a": 0})


def test_no_rows_give_none() -> None:
    assert packed([rows(("a", 1)).slice(1)], {"a": 0}) == []
