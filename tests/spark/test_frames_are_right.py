"""A frame may be filtered, reused, joined with itself, united and cached freely (contract)."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import iceberg_spark as ice

PUSHDOWN_SETTING = "spark.sql.python.filterPushdown.enabled"


@pytest.fixture(scope="module")
def ten(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A table of the ids 0 to 9 in two files."""
    location = str(tmp_path_factory.mktemp("ten") / "t")
    table = ice.create_table(location, "id bigint, name string")
    for start in (0, 5):
        ids = list(range(start, start + 5))
        table.append(pa.table({"id": ids, "name": [f"n{i}" for i in ids]}))
    return location


@pytest.fixture(params=["false", "true"], ids=["setting-off", "setting-on"])
def session(any_spark: Any, request: pytest.FixtureRequest) -> Iterator[Any]:
    any_spark.conf.set(PUSHDOWN_SETTING, request.param)
    yield any_spark
    any_spark.conf.unset(PUSHDOWN_SETTING)


def load(session: Any, location: str, **options: str) -> Any:
    return session.read.format("pyiceberg-lite").options(**options).load(location)


def test_a_frame_used_after_its_filtered_self_has_all_rows(session: Any, ten: str) -> None:
    frame = load(session, ten)
    assert frame.where("id > 7").count() == 2
    assert frame.count() == 10
    assert frame.where("id < 3").count() == 3


def test_a_filtered_frame_joined_with_itself(session: Any, ten: str) -> None:
    frame = load(session, ten)
    some = frame.where("id > 7")
    assert frame.join(some, "id").count() == 2
    assert frame.alias("a").join(some.alias("b"), on="id", how="left_anti").count() == 8


def test_filtered_frames_united(session: Any, ten: str) -> None:
    frame = load(session, ten)
    united = frame.where("id = 1").union(frame.where("id >= 8")).union(frame)
    assert united.count() == 13


def test_a_cached_frame_and_its_source(session: Any, ten: str) -> None:
    frame = load(session, ten)
    some = frame.where("id > 7").cache()
    try:
        assert some.count() == 2
        assert frame.count() == 10
        assert some.where("id = 9").count() == 1
    finally:
        some.unpersist()


def test_one_load_sees_one_snapshot(spark: Any, tmp_path: Path) -> None:
    location = str(tmp_path / "t")
    table = ice.create_table(location, "id bigint")
    table.append(pa.table({"id": [1, 2]}))
    frame = load(spark, location)
    assert frame.count() == 2
    table.append(pa.table({"id": [3]}))
    assert frame.count() == 2
    assert load(spark, location).count() == 3


def test_pushed_filters_prune_if_enabled(spark: Any, ten: str) -> None:
    spark.conf.set(PUSHDOWN_SETTING, "true")
    try:
        frame = load(spark, ten, pushdown="true").where("id > 7 and name != 'n9'")
        assert [row.id for row in frame.collect()] == [8]
        assert frame.rdd.getNumPartitions() == 1
        for condition in ("id in (1, 9)", "name like 'n1%'", "id is null", "not (id <=> 3)"):
            fresh = load(spark, ten, pushdown="true").where(condition)
            assert fresh.count() == load(spark, ten).where(condition).count(), condition
    finally:
        spark.conf.unset(PUSHDOWN_SETTING)


def test_pushdown_without_the_setting_says_which_one(spark: Any, ten: str) -> None:
    with pytest.raises(Exception, match=PUSHDOWN_SETTING):
        load(spark, ten, pushdown="true").where("id > 7").count()
