"""Manifests that Spark's tasks read: plans, rows and errors are those of a plan of the driver."""

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import iceberg_spark as ice
from iceberg_spark.errors import CorruptFileError, InvalidInputError, UnsupportedError
from iceberg_spark.scan import planning_tasks as core
from iceberg_spark.scan.plan import ScanPlan
from iceberg_spark.scan.plan_cache import PLAN_CACHE
from iceberg_spark.scan.planner import plan
from iceberg_spark.scan.request import ScanRequest, scan_context
from iceberg_spark.scan.split import SplitOptions
from iceberg_spark.spark.reading import planning_tasks
from iceberg_spark.spark.reading.planning_tasks import SparkPlanningTasks
from iceberg_spark.spec.properties import DATA_PLANNING_MODE, DELETE_PLANNING_MODE
from tests import random_tables
from tests.limits import set_limits
from tests.oracle.compare import assert_same_rows
from tests.spark.settings import settings as session_settings

DISTRIBUTED = {
    "spark.sql.iceberg.data-planning-mode": "distributed",
    "spark.sql.iceberg.delete-planning-mode": "distributed",
}
OF_TABLE = dict.fromkeys((DATA_PLANNING_MODE, DELETE_PLANNING_MODE), "distributed")


@pytest.fixture
def planning_jobs(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """The number of tasks of each planning job that runs in the test; a manifest is a task."""
    counts: list[int] = []
    run = planning_tasks.job_results

    def counted(spark: Any, jobs: Any, *rest: Any, **options: Any) -> Any:
        counts.append(len(jobs))
        return run(spark, jobs, *rest, **options)

    monkeypatch.setattr(planning_tasks, "job_results", counted)
    set_limits(monkeypatch, core, "PLANNING", task_manifest_bytes=1)
    PLAN_CACHE.clear()
    yield counts
    PLAN_CACHE.clear()


@pytest.fixture
def path(tmp_path: Path) -> str:
    """A table of three data manifests and one of deletes, which asks for distributed planning."""
    return make_table(str(tmp_path / "t"))


def make_table(location: str) -> str:
    table = ice.create_table(
        location,
        "id bigint, s string",
        partition_by=["truncate(10, id)"],
        properties={**OF_TABLE, "write.delete.mode": "merge-on-read"},
    )
    for first in (0, 20, 40):
        table.append(pa.table({"id": range(first, first + 20), "s": ["a"] * 20}))
        table.refresh()
    table.delete("id in (3, 25)")
    return location


def both_plans(spark: Any, table: ice.Table, request: ScanRequest) -> tuple[ScanPlan, ScanPlan]:
    context = scan_context(table.metadata, request, table.io)
    PLAN_CACHE.clear()
    local = plan(table.metadata, table.io, context)
    PLAN_CACHE.clear()
    by_tasks = plan(table.metadata, table.io, context, tasks=SparkPlanningTasks(spark))
    return local, by_tasks


def assert_same_plans(spark: Any, table: ice.Table, request: ScanRequest) -> None:
    local, by_tasks = both_plans(spark, table, request)
    assert list(by_tasks) == list(local), request
    assert replace(by_tasks.metrics, planning_seconds=0) == replace(
        local.metrics, planning_seconds=0
    )
    split = SplitOptions(split_size=600, lookback=10, open_file_cost=100)
    assert by_tasks.groups(split) == local.groups(split)


def test_tasks_give_the_plan_of_the_driver(
    any_spark: Any, path: str, planning_jobs: list[int]
) -> None:
    table = ice.load_table(path)
    for row_filter in (None, "id = 25", "id > 30", "s = 'b'"):
        assert_same_plans(any_spark, table, ScanRequest(row_filter=row_filter))
    assert planning_jobs == [1, 3, 1, 1, 2, 1, 3], "s = 'b' is in no file; id > 30 has no deletes"


def test_every_way_to_read_uses_the_tasks(
    any_spark: Any, path: str, planning_jobs: list[int]
) -> None:
    frames = [lambda: ice.load_table(path).scan("id >= 0").to_df(any_spark)]
    ice.enable(any_spark)
    try:
        frames += [
            lambda: any_spark.read.format("pyiceberg-lite").load(path).where("id >= 1"),
            lambda: any_spark.sql(f"select * from `{path}` where id >= 2"),
        ]
        for frame, least in zip(frames, (58, 57, 56), strict=True):
            planning_jobs.clear()
            assert frame().count() == least
            assert planning_jobs
    finally:
        ice.disable(any_spark)


def test_changes_of_rows_use_the_tasks(spark: Any, path: str, planning_jobs: list[int]) -> None:
    table = ice.load_table(path)
    table.update({"s": "upper(s)"}, where="id + 0 < 5")
    assert planning_jobs[:2] == [1, 3]
    planning_jobs.clear()
    table.refresh().delete("id % 7 = 0")
    source = spark.createDataFrame([(1, "m"), (99, "n")], "id bigint, s string")
    merge = table.refresh().merge(source, "t.id = s.id")
    merge.when_matched_update_all().when_not_matched_insert_all().execute()
    assert len(planning_jobs) >= 4
    rows = {row.id: row.s for row in table.refresh().scan().to_df(spark).collect()}
    assert (rows[1], rows[2], rows[6], rows[99], 7 in rows) == ("m", "A", "a", "n", False)


def test_without_a_mode_small_tables_are_planned_by_the_driver(
    spark: Any, tmp_path: Path, planning_jobs: list[int]
) -> None:
    table = ice.create_table(str(tmp_path / "t"), "id bigint")
    table.append(pa.table({"id": range(3)}))
    assert table.refresh().scan().to_df(spark).count() == 3
    assert planning_jobs == []


def test_a_driver_with_little_space_for_results_plans_itself(spark: Any) -> None:
    tasks = SparkPlanningTasks(spark)
    assert tasks.parallelism >= int(spark.conf.get("spark.sql.shuffle.partitions"))
    for size, can_take in (("255m", False), ("256m", True), ("0", True), ("1g", True)):
        other = spark.newSession()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(
                planning_tasks,
                "setting",
                lambda session, name, *default, size=size: (
                    size if "maxResultSize" in name else session.conf.get(name, *default)
                ),
            )
            assert bool(SparkPlanningTasks(other).parallelism) is can_take, size


def test_a_corrupt_manifest_is_reported_as_by_the_driver(
    spark: Any, path: str, planning_jobs: list[int]
) -> None:
    table = ice.load_table(path)
    manifests = table.inspect.manifests().column("path").to_pylist()
    Path(manifests[0].removeprefix("file://")).write_bytes(b"no avro")
    ice_context = scan_context(table.metadata, ScanRequest(), table.io)
    with pytest.raises(CorruptFileError) as by_tasks:
        plan(table.metadata, table.io, ice_context, tasks=SparkPlanningTasks(spark))
    with pytest.raises(CorruptFileError) as local:
        plan(table.metadata, table.io, ice_context)
    assert str(by_tasks.value) == str(local.value)
    assert planning_jobs


def test_workers_without_the_library_refuse_distributed_planning(
    spark: Any, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: Any) -> None:
        raise InvalidInputError("Spark's workers would run 'python2'")

    monkeypatch.setattr(planning_tasks, "check_worker_python", refuse)
    PLAN_CACHE.clear()
    with pytest.raises(UnsupportedError, match=r"can't plan the scan.*python2.*'local'"):
        ice.load_table(path).scan().to_df(spark)


@pytest.mark.slow
@settings(random_tables.WITH_SPARK, max_examples=8)
@given(history=random_tables.histories, choice=st.data())
def test_a_random_table_is_planned_by_tasks_as_by_the_driver(
    spark: Any,
    planning_jobs: list[int],
    history: list[random_tables.Step],
    choice: st.DataObject,
) -> None:
    with tempfile.TemporaryDirectory() as folder, session_settings(spark, DISTRIBUTED):
        table = random_tables.build(f"{folder}/t", Path(folder), history).table.refresh()
        table.manage_snapshots().create_branch(
            choice.draw(st.sampled_from(table.snapshots())).snapshot_id, "b"
        ).commit()
        table.refresh()
        text = choice.draw(st.sampled_from(random_tables.filters(table)))
        assert_same_plans(spark, table, ScanRequest())
        assert_same_plans(spark, table, ScanRequest(row_filter=text))
        assert_same_plans(spark, table, ScanRequest(branch="b"))
        for snapshot in table.snapshots():
            assert_same_plans(spark, table, ScanRequest(snapshot_id=snapshot.snapshot_id))
        assert planning_jobs
        PLAN_CACHE.clear()
        rows = table.scan(text).to_arrow()
        PLAN_CACHE.clear()
        assert_same_rows(rows, table.scan(text).to_df(spark).toArrow(), what=text)
