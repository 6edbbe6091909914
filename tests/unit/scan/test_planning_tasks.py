"""Where manifests are read: in this process, or in tasks."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from iceberg_spark.errors import CorruptFileError, InvalidOptionError, UnsupportedError
from iceberg_spark.scan import planning_tasks
from iceberg_spark.scan.plan_cache import PLAN_CACHE
from iceberg_spark.scan.planner import narrow_plan, plan
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.properties import DATA_PLANNING_MODE
from tests.builders import scan_of
from tests.limits import set_limits
from tests.unit.scan.entries import data, position
from tests.unit.scan.tables import (
    IO,
    PLANNING_MODES,
    PickledTasks,
    commit,
    new_table,
    paths,
)


@pytest.fixture(autouse=True)
def no_cached_plan() -> None:
    PLAN_CACHE.clear()


def table(folder: Path, manifests: int = 6, **properties: str) -> TableMetadata:
    """A table of that many manifests of one data file, and one of deletes."""
    base = new_table(folder, properties=properties)
    for number in range(manifests):
        base = commit(base, [data(f"f{number}")])
    return commit(base, [position("p", sequence=manifests + 1)])


def planned(base: TableMetadata, tasks: PickledTasks) -> list[str]:
    return paths(plan(base, IO, scan_of(base), tasks=tasks))


def test_the_mode_of_the_table_decides(tmp_path: Path) -> None:
    base = table(tmp_path, **{DATA_PLANNING_MODE: "DISTRIBUTED"})
    tasks = PickledTasks()
    assert planned(base, tasks) == [f"f{number}" for number in range(6)]
    assert len(tasks.jobs) == 1, "the data manifests fit into one task; the deletes are read here"


def test_the_mode_of_the_session_overrides_that_of_the_table(tmp_path: Path) -> None:
    base = table(tmp_path, **dict.fromkeys(PLANNING_MODES, "distributed"))
    tasks = PickledTasks({DATA_PLANNING_MODE: "Local"})
    planned(base, tasks)
    assert len(tasks.jobs) == 1, "the delete manifests only"


def test_an_unknown_mode_is_an_error(tmp_path: Path) -> None:
    base = table(tmp_path)
    with pytest.raises(InvalidOptionError, match=r"'remote'; it must be one of: auto, local"):
        planned(base, PickledTasks({DATA_PLANNING_MODE: "remote"}))


CORES = max(2, os.cpu_count() or 1)


@pytest.mark.parametrize(
    ("manifests", "bytes_a_core", "parallelism", "distributed"),
    [
        (2 * CORES + 1, 0, CORES + 1, True),
        (2 * CORES, 0, CORES + 1, False),
        (2 * CORES + 1, 10**6, CORES + 1, False),
        (2 * CORES + 1, 0, CORES, False),
        (2 * CORES + 1, 0, 0, False),
    ],
)
def test_auto_distributes_many_large_manifests_as_java_does(
    tmp_path: Path,
    manifests: int,
    bytes_a_core: int,
    parallelism: int,
    distributed: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    set_limits(monkeypatch, planning_tasks, "PLANNING", local_bytes_a_core=bytes_a_core)
    tasks = PickledTasks(parallelism=parallelism)
    planned(table(tmp_path, manifests), tasks)
    assert bool(tasks.jobs) is distributed


def test_a_driver_that_takes_few_results_plans_itself(tmp_path: Path) -> None:
    tasks = PickledTasks(dict.fromkeys(PLANNING_MODES, "distributed"), parallelism=0)
    assert len(planned(table(tmp_path), tasks)) == 6
    assert tasks.jobs == []


def test_auto_plans_here_if_tasks_cannot_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_limits(monkeypatch, planning_tasks, "PLANNING", local_bytes_a_core=0)
    base = table(tmp_path, 2 * CORES + 1)
    assert len(planned(base, PickledTasks(can_run=False))) == 2 * CORES + 1
    PLAN_CACHE.clear()
    with pytest.raises(UnsupportedError, match="executors lack"):
        planned(base, PickledTasks({DATA_PLANNING_MODE: "distributed"}, can_run=False))


def test_a_task_reads_neighbouring_manifests_up_to_a_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = table(tmp_path)
    set_limits(monkeypatch, planning_tasks, "PLANNING", task_manifest_bytes=1)
    tasks = PickledTasks({DATA_PLANNING_MODE: "distributed"})
    expected = planned(base, PickledTasks())
    PLAN_CACHE.clear()
    assert planned(base, tasks) == expected
    assert [len(job) for job in tasks.jobs] == [1] * 6


def test_a_plan_by_another_filter_uses_the_same_tasks(tmp_path: Path) -> None:
    base = table(tmp_path)
    tasks = PickledTasks({DATA_PLANNING_MODE: "distributed"})
    first = plan(base, IO, scan_of(base), tasks=tasks)
    tasks.jobs.clear()
    narrow_plan(first, scan_of(base, row_filter="id = 1").row_filter)
    assert tasks.jobs


def test_a_corrupt_manifest_is_the_error_of_a_local_plan(tmp_path: Path) -> None:
    base = table(tmp_path)
    next(tmp_path.glob("3-*.avro")).write_bytes(b"no avro")
    with pytest.raises(CorruptFileError):
        planned(base, PickledTasks({DATA_PLANNING_MODE: "distributed"}))
