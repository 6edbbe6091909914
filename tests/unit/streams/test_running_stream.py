"""A stream over the life of its table: commits, restarts, expiry, rollbacks, new schemas."""

import shutil
from pathlib import Path

import pytest

import iceberg_spark as ice
from iceberg_spark.errors import (
    InvalidSchemaError,
    NoSuchSnapshotError,
    NoSuchTableError,
    ValidationException,
)
from iceberg_spark.streams.limits import STREAMING
from iceberg_spark.streams.table_watch import Pace
from tests.unit.streams.streamed import Query, batches, ids_in, new_table, rows, running


@pytest.fixture
def table(tmp_path: Path) -> ice.Table:
    made = new_table(tmp_path)
    made.append(rows(1, 2))
    made.append(rows(3))
    return made


def test_a_run_goes_on_where_the_one_before_ended(table: ice.Table) -> None:
    first = running(table)
    start, end = first.initial(), first.latest()
    assert ids_in(first.plan(start, end)) == [1, 2, 3]
    table.append(rows(4))
    second = running(table)
    second.plan(end, end)  # PySpark says by this where the checkpoint is
    later = second.latest()
    assert ids_in(second.plan(end, later)) == [4]
    assert second.latest() == later
    assert ids_in(running(table).plan(end, later)) == [4]


def test_a_compaction_gives_nothing(table: ice.Table) -> None:
    query = Query(table)
    assert query.batches() == [[1, 2, 3]]
    table.maintenance.rewrite_data_files(options={"rewrite-all": "true"})
    assert query.batches() == []
    table.append(rows(4))
    assert query.batches() == [[4]]


def test_a_branch_is_read_by_its_own_commits(table: ice.Table) -> None:
    table.manage_snapshots().create_branch(table.history()[-1].snapshot_id, "b").commit()
    table.append(rows(7), branch="b")
    table.append(rows(8))
    assert batches(table, branch="b") == [[1, 2, 3, 7]]
    query = Query(table, branch="b", stream_from_snapshot="latest")
    assert query.batches() == [[]]
    table.append(rows(9), branch="b")
    assert query.batches() == [[9]]
    table.manage_snapshots().remove_branch("b").commit()
    with pytest.raises(NoSuchSnapshotError, match=r"Branch 'b' .* was dropped"):
        query.batches()


def test_a_next_snapshot_that_has_expired_is_named(table: ice.Table) -> None:
    run = running(table)
    end = run.latest()
    table.append(rows(4))
    following = table.current_snapshot()
    table.append(rows(5))
    table.append(rows(6))
    assert following is not None
    table.maintenance.expire_snapshots(older_than=2**42, retain_last=1)
    with pytest.raises(NoSuchSnapshotError, match=rf"snapshot {following.snapshot_id}, has expir"):
        running(table).latest(end)
    assert batches(table) == [[6]]


def test_a_running_stream_outlives_the_expiry_of_what_it_has_read(table: ice.Table) -> None:
    query = Query(table)
    assert query.batches() == [[1, 2, 3]]
    for _ in range(2):
        table.maintenance.rewrite_data_files(options={"rewrite-all": "true"})
        assert query.batches() == []
    table.maintenance.expire_snapshots(older_than=2**42, retain_last=1)
    table.append(rows(4))
    assert query.batches() == [[4]]


def test_a_rollback_under_a_stream_is_an_error(table: ice.Table) -> None:
    run = running(table)
    end = run.latest()
    first = table.history()[0].snapshot_id
    table.manage_snapshots().rollback_to_snapshot(first).commit()
    with pytest.raises(ValidationException, match=f"{end.snapshot_id} .* rolled back"):
        run.latest()
    table.append(rows(9))
    with pytest.raises(ValidationException, match="rolled back"):
        running(table).latest(end)
    assert ids_in(running(table).plan(run.initial(), end)) == [1, 2, 3]  # what had begun


def test_a_table_of_the_same_name_is_another(table: ice.Table, tmp_path: Path) -> None:
    run = running(table)
    run.latest()
    shutil.rmtree(table.location())
    with pytest.raises(NoSuchTableError):
        run.latest()
    new_table(tmp_path).append(rows(1))
    with pytest.raises(NoSuchTableError, match="another table"):
        run.latest()


def test_new_columns_and_names_do_not_matter_to_a_running_stream(table: ice.Table) -> None:
    query = Query(table)
    assert query.batches() == [[1, 2, 3]]
    with table.update_schema() as change:
        change.add_column("note", "string").rename_column("p", "part")
    with table.update_spec() as spec:
        spec.add_field("part")
    table.append(rows(4).rename_columns(["id", "part"]))
    assert query.batches() == [[4]]


def test_a_column_that_is_read_and_dropped_is_an_error(table: ice.Table) -> None:
    whole, some = running(table), running(table, columns="id")
    filtered = running(table, columns="id", row_filter="p > 0")
    for run in (whole, some, filtered):
        run.latest()
    with table.update_schema() as change:
        change.delete_column("p")
    for run in (whole, filtered):
        with pytest.raises(InvalidSchemaError, match=r"column 'p' .* was dropped.* same checkp"):
            run.latest()
    assert some.latest()


def test_a_column_that_is_widened_is_an_error(table: ice.Table) -> None:
    run = running(table)
    run.latest()
    with table.update_schema() as change:
        change.update_column("p", "long")
    with pytest.raises(InvalidSchemaError, match="column 'p' was int and is long"):
        run.latest()


def test_a_run_that_takes_what_is_there_ends_there(table: ice.Table) -> None:
    query = Query(table)
    query.run.end_here()
    table.append(rows(4))
    assert query.batches() == [[1, 2, 3]]
    assert batches(table) == [[1, 2, 3, 4]]


def test_looks_at_an_idle_table_become_rare() -> None:
    now, slept = [0.0], list[float]()

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        now[0] += seconds

    pace = Pace(clock=lambda: now[0], cpu=lambda: 0.0, sleep=sleep)
    for _ in range(20):
        assert pace.may_look()
        pace.looked(has_news=False)
    assert slept[0] == STREAMING.shortest_wait
    assert slept[-1] == STREAMING.longest_wait
    pace.looked(has_news=True)
    asked = len(slept)
    assert pace.may_look()
    assert len(slept) == asked


def test_looks_that_cost_much_are_left_out() -> None:
    now, used = [0.0], [0.0]

    def sleep(seconds: float) -> None:
        now[0] += seconds

    pace = Pace(clock=lambda: now[0], cpu=lambda: used[0], sleep=sleep)
    assert pace.may_look()
    used[0] += 0.01  # seconds of CPU: a second is to pass until the next one
    pace.looked(has_news=False)
    asked = 0
    while not pace.may_look():
        asked += 1
    assert now[0] == pytest.approx(0.01 / STREAMING.idle_share)
    assert asked == 4
    now[0] += 0.05  # seconds that a store takes to answer
    pace.looked(has_news=False)
    before = now[0]
    while not pace.may_look():
        pass
    assert now[0] - before == pytest.approx(0.05 / STREAMING.asked_share)
