"""Frames of a plan are kept, for those alone who would get the same."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import iceberg_spark as ice
from iceberg_spark.read.delete_cache import DeleteCache
from iceberg_spark.scan.plan import ScanPlan
from iceberg_spark.scan.planner import plan
from iceberg_spark.spark.reading import kept_frames as kept_module
from iceberg_spark.spark.reading import plan_frame as frame_module
from iceberg_spark.spark.reading.kept_frames import AskedFrames, kept_frames
from iceberg_spark.spark.reading.limits import KEPT
from tests.builders import scan_of
from tests.spark.settings import settings

ROWS = pa.table({"id": pa.array(range(10), pa.int64()), "k": [f"k{i}" for i in range(10)]})


@pytest.fixture
def table(tmp_path: Path) -> Any:
    made = ice.create_table(str(tmp_path / "t"), "id bigint, k string")
    made.append(ROWS)
    return made


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """As many entries as frames were made anew, of nothing kept so far."""
    monkeypatch.setattr(kept_module, "_frames", DeleteCache(KEPT.frame_bytes))
    found: list[int] = []
    choose = frame_module.choose_engines

    def counted(*given: Any) -> Any:
        found.append(len(found))
        return choose(*given)

    monkeypatch.setattr(frame_module, "choose_engines", counted)
    return found


def ids(frame: Any) -> list[int]:
    return sorted(row.id for row in frame.collect())


def test_a_frame_of_a_plan_is_not_made_again(spark: Any, table: Any, made: list[int]) -> None:
    first, second = (table.scan(row_filter="id > 6").to_df(spark) for _ in range(2))
    assert len(made) == 1
    assert ids(first) == ids(second) == [7, 8, 9]
    pairs = first.join(second, first.id == second.id + 1).select(first.id, second.k).collect()
    assert sorted(map(tuple, pairs)) == [(8, "k7"), (9, "k8")]


@pytest.mark.parametrize(
    "asked", [{"row_filter": "id > 6"}, {"selected_fields": ("id",)}, {"case_sensitive": False}]
)
def test_a_frame_of_other_rows_or_columns_is_made(
    spark: Any, table: Any, made: list[int], asked: dict[str, Any]
) -> None:
    table.scan().to_df(spark)
    frame = table.scan(**asked).to_df(spark)
    assert len(made) == 2
    assert ids(frame) == ([7, 8, 9] if "row_filter" in asked else list(range(10)))


def test_a_setting_that_was_made_since_counts(spark: Any, table: Any, made: list[int]) -> None:
    table.scan().to_df(spark)
    with settings(spark, {"spark.sql.parquet.aggregatePushdown": "true"}):
        table.scan().to_df(spark)
    assert len(made) == 2


def test_the_next_snapshot_has_frames_of_its_own(spark: Any, table: Any, made: list[int]) -> None:
    assert ids(table.scan().to_df(spark)) == list(range(10))
    table.append(ROWS.slice(0, 1))
    table.delete("id = 5")
    assert ids(table.refresh().scan().to_df(spark)) == [0, 0, 1, 2, 3, 4, 6, 7, 8, 9]
    assert len(made) >= 2


def test_another_session_has_frames_of_its_own(spark: Any, table: Any, made: list[int]) -> None:
    other = spark.newSession()
    table.scan().to_df(spark)
    assert table.scan().to_df(other).sparkSession is other
    assert len(made) == 2


def test_what_the_arrow_engine_reads_is_not_kept(
    spark: Any, tmp_path: Path, made: list[int]
) -> None:
    properties = {"write.format.default": "orc"}
    table = ice.create_table(str(tmp_path / "orc"), "id bigint, k string", properties=properties)
    table.append(ROWS)
    assert [ids(table.scan().to_df(spark)) for _ in range(2)] == [list(range(10))] * 2
    assert len(made) == 2


def planned(table: Any) -> ScanPlan:
    return plan(table.metadata, table.io, scan_of(table.metadata))


def test_a_table_with_other_keys_to_its_store_is_asked_anew(spark: Any, table: Any) -> None:
    found, other = planned(table), planned(table)
    asked = [AskedFrames.of(one, spark, "", filters=True) for one in (found, other)]
    assert asked[0] == asked[1]
    assert asked[0] != replace(asked[1], storage={"s3.access-key-id": "other"})


def test_neither_settings_nor_storage_are_shown(spark: Any, table: Any) -> None:
    asked = AskedFrames.of(planned(table), spark, "{fs.s3a.secret.key=abc}", filters=True)
    assert "abc" not in repr(asked)
    assert "storage" not in repr(asked)


@contextmanager
def room_for(size: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patched:
        patched.setattr(kept_module, "_frames", DeleteCache(size))
        yield


def test_frames_are_kept_up_to_so_many_bytes_of_bits_and_keys(
    spark: Any, table: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    clean = planned(table)
    table.upsert(pa.table({"id": [3], "k": ["x"], "_op": ["D"]}), keys=["id"])
    keyed = planned(table.refresh())
    sizes = [kept_module._bytes_of(one) for one in (clean, keyed)]
    assert sizes[1] - sizes[0] == 10 // 8 + KEPT.key_bytes
    for size, times in ((sizes[1], 1), (sizes[1] - 1, 2)):
        asked: list[int] = []

        def made(known: list[int] = asked) -> list[Any]:
            known.append(1)
            return [spark.range(1)]

        with room_for(size, monkeypatch):
            for _ in range(2):
                kept_frames(keyed, spark, made, filters=True)
        assert len(asked) == times
