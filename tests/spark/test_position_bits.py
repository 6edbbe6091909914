"""Positions of rows as bits that Spark sets."""

from pathlib import Path
from typing import Any

import pyarrow as pa

import iceberg_spark as ice
from iceberg_spark.arrow.position_set import PositionSet
from iceberg_spark.spark.row_level.position_deletes import mark_rows

LONG = 3_000_000_000


def places(spark: Any, *rows: tuple[str, int]) -> Any:
    return spark.createDataFrame(list(rows), "_file string, _pos bigint")


def found(marked: list[tuple[str, PositionSet]] | None) -> dict[str, list[int]]:
    assert marked is not None
    return {path: rows.positions().tolist() for path, rows in marked}


def test_positions_come_back_sorted_whatever_bitmap_they_lie_in(any_spark: Any) -> None:
    at = [0, 1, 32767, 32768, 65535, 65536, LONG]
    rows = places(any_spark, *[("b", each) for each in reversed(at)], ("a", 5), ("c", 32768))
    assert found(mark_rows(rows, unique=True)) == {"a": [5], "b": at, "c": [32768]}


def test_a_duplicate_position_counts_once_or_is_reported(any_spark: Any) -> None:
    rows = places(any_spark, ("a", 7), ("a", 7), ("a", 8))
    assert found(mark_rows(rows, unique=False)) == {"a": [7, 8]}
    assert mark_rows(rows, unique=True) is None


def test_no_rows_are_no_files(any_spark: Any) -> None:
    assert mark_rows(places(any_spark, ("a", 1)).where("_pos = 2"), unique=True) == []


def test_deletes_of_a_long_file_join_the_older_ones(spark: Any, tmp_path: Path) -> None:
    table = ice.create_table(
        str(tmp_path / "t"), "id bigint", properties={"write.delete.mode": "merge-on-read"}
    )
    table.append(pa.table({"id": range(100_000)}))
    for divisor, gone in ((3, 33_334), (5, 13_333)):
        assert table.delete(f"pmod(id, {divisor}) = 0").deleted == gone
    (task,) = table.scan().plan_files()
    assert len(task.delete_files) == 1
    left = [each for each in range(100_000) if each % 3 and each % 5]
    assert table.scan().to_arrow().column("id").to_pylist() == left
