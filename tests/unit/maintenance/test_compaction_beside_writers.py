"""Compaction while others write: what they delete stays deleted, and they are not in its way."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import iceberg_spark as ice
from iceberg_spark import Table
from iceberg_spark.commits.commit import commit
from iceberg_spark.engines import maintenance
from iceberg_spark.errors import CommitFailedException, IcebergError, ValidationException
from iceberg_spark.maintenance.compact import Compaction
from iceberg_spark.maintenance.compaction import (
    CompactionWork,
    PlannedGroup,
    WrittenGroup,
    run_here,
)
from iceberg_spark.maintenance.rewritten_deletes import plan_removal
from tests.unit.api.tables import data_files, make, rows
from tests.unit.maintenance.test_compaction import live, small_files, summary, tasks

MERGE_ON_READ = {"write.delete.mode": "merge-on-read"}
Meanwhile = Callable[[], object]


def again(table: Table) -> Table:
    """The same table, loaded by someone else."""
    return Table(table._catalog, table._catalog.load(table.identifier))


def compact(
    table: Table, meanwhile: Sequence[Meanwhile], order: str | None = None, **options: Any
) -> Compaction:
    """A compaction that ran; others did something after each of its rewrites, as long as given."""
    given = {key.replace("__", ".").replace("_", "-"): value for key, value in options.items()}
    made = maintenance.compaction(
        table._catalog, table._catalog.load(table.identifier), None, order, None, given, None, None
    )
    waiting = list(meanwhile)

    def run(work: CompactionWork, groups: Sequence[PlannedGroup]) -> list[WrittenGroup]:
        done = run_here(work, groups)
        if waiting:
            waiting.pop(0)()
        return done

    made.run = run
    made.execute()
    table.refresh()
    return made


def rows_left(gone: Sequence[int], count: int = 60) -> list[int]:
    return [number for number in range(count) if number not in gone]


def ids_of(table: Table) -> list[int]:
    return sorted(table.scan().to_arrow()["id"].to_pylist())


@pytest.mark.parametrize("version", ["2", "3"])
@pytest.mark.parametrize("partition_by", [(), ("k",)])
def test_rows_deleted_meanwhile_are_deleted_in_the_new_files(
    partition_by: tuple[str, ...], version: str
) -> None:
    table = small_files(6, partition_by, **MERGE_ON_READ, format_version=version)
    table.delete("id in (0, 1, 25, 26)")
    other = again(table)
    done = compact(table, [lambda: other.delete("id in (2, 24, 27, 59)")])
    assert done.planned_again == 0
    assert ids_of(table) == rows_left([0, 1, 2, 24, 25, 26, 27, 59])
    assert len(tasks(table)) == (3 if partition_by else 1)
    assert int(summary(table)["added-position-deletes"]) == 4
    assert int(summary(table)["total-position-deletes"]) == (4 if version == "3" else 12)


def test_deletes_that_come_at_each_try_are_carried_over() -> None:
    table = small_files(6, **MERGE_ON_READ)
    catalog, other = table._catalog, again(table)
    commits, waiting = catalog.commit, ["id = 3", "id = 33", "id = 4"]

    def commit(*given: Any) -> Any:
        if waiting:
            condition = waiting.pop()
            other.delete(condition)
        return commits(*given)

    made = maintenance.compaction(
        catalog, catalog.load(table.identifier), None, None, None, {}, None, None
    )
    made.catalog = _CommittingWith(catalog, commit)
    made.execute()
    table.refresh()
    assert (made.planned_again, waiting) == (0, [])
    assert ids_of(table) == rows_left([3, 4, 33])
    (task,) = tasks(table)
    found = [name for name in data_files(table) if "deletes" in name]
    live_deletes = {file.file_path for file in task.delete_files}
    assert live_deletes <= set(found)
    assert len(found) == 3 + 1  # those of the three deletes, and the last that was carried over


class _CommittingWith:
    """A catalog whose commits are made by another function."""

    def __init__(self, catalog: Any, commit: Callable[..., Any]) -> None:
        self._catalog = catalog
        self.commit = commit

    def __getattr__(self, name: str) -> Any:
        return getattr(self._catalog, name)


@pytest.mark.parametrize("starting", [True, False])
def test_upserts_meanwhile_replace_rows_of_the_new_files(starting: bool) -> None:
    table = small_files(6)
    other = again(table)
    done = compact(
        table,
        [lambda: other.upsert(rows(id=[7, 8], k=["new", "new"]), ["id"])],
        use_starting_sequence_number=starting,
    )
    assert done.planned_again == (0 if starting else 1)
    found = dict(live(table))
    assert (found[7], found[8], found[9], len(found)) == ("new", "new", "k0", 60)
    assert len(table.scan().to_arrow()) == 60


def test_deletes_that_were_converted_and_rewritten_meanwhile_stay() -> None:
    table = small_files(6, **MERGE_ON_READ)
    table.upsert(rows(id=[1], k=["x"], _op=["D"]), ["id"])
    table.delete("id = 2")
    other = again(table)

    def meanwhile() -> None:
        other.upsert(rows(id=[11], k=["x"], _op=["D"]), ["id"])
        other.maintenance.convert_equality_deletes()
        other.delete("id = 12")
        other.maintenance.rewrite_position_deletes()

    done = compact(table, [meanwhile])
    assert done.planned_again == 0
    assert ids_of(table) == rows_left([1, 2, 11, 12])


def test_rows_appended_meanwhile_stay() -> None:
    table = small_files(6)
    other = again(table)
    compact(table, [lambda: other.append(rows(id=[100], k=["new"]))])
    assert ids_of(table) == [*range(60), 100]
    assert len(tasks(table)) == 2


def test_a_group_whose_files_were_removed_is_planned_again_alone() -> None:
    table = small_files(7, ["k"])
    other = again(table)
    runs: list[int] = []
    done = compact(table, [lambda: other.delete("k = 'k1' and id < 10"), lambda: runs.append(1)])
    assert (done.planned_again, runs) == (1, [1])
    assert len(done.landed) == 3
    assert ids_of(table) == [n for n in range(70) if n >= 10 or n % 3 != 1]
    assert len(tasks(table)) == 3


def test_files_that_went_leave_too_few_to_compact() -> None:
    table = small_files(5)
    other = again(table)
    done = compact(table, [lambda: other.delete("id < 10")])
    assert (done.planned_again, done.landed) == (1, [])
    assert ids_of(table) == list(range(10, 50))
    assert data_files(table) == _ever(table)


def _ever(table: Table) -> set[str]:
    return {
        task.file_path
        for snapshot in table.snapshots()
        for task in tasks(table, snapshot_id=snapshot.snapshot_id)
    }


def test_a_compaction_that_others_always_overtake_gives_up_and_leaves_nothing() -> None:
    table = small_files(8)
    other = again(table)
    turns = [lambda n=n: other.upsert(rows(id=[n], k=["x"]), ["id"]) for n in range(10)]
    with pytest.raises(IcebergError, match="Conflict with delete file"):
        compact(table, turns, use_starting_sequence_number=False)
    table.refresh()
    assert len(table.scan().to_arrow()) == 80
    assert {path for path in data_files(table) if "deletes" not in path} == _ever(table)


@pytest.mark.parametrize("starting", [True, False])
def test_deletes_of_sorted_rows_cause_a_new_plan(starting: bool) -> None:
    table = small_files(6, **MERGE_ON_READ)
    other = again(table)
    done = compact(
        table,
        [lambda: other.delete("id = 3")],
        "id desc",
        min_input_files=2,
        use_starting_sequence_number=starting,
    )
    assert done.planned_again == 1
    assert ids_of(table) == rows_left([3])
    assert [task.delete_files for task in tasks(table)] == [()]


def test_upserts_of_a_former_spec_do_not_come_back() -> None:
    table = small_files(6, ["k"])
    table.update_spec().remove_field("k").add_field("bucket(2, id)").commit()
    other = again(table)
    gone = [lambda: other.upsert(rows(id=[3, 4], k=["k0", "k1"], _op=["D", "D"]), ["id", "k"])]
    done = compact(table, gone)
    assert done.planned_again == 1
    assert ids_of(table) == rows_left([3, 4])


def test_parts_land_by_themselves() -> None:
    table = small_files(5, ["k"])
    done = compact(table, [], partial_progress__enabled=True, partial_progress__max_commits=2)
    assert (len(done.landed), done.failed, done.failed_commits) == (3, 0, 0)
    assert len(table.snapshots()) == 5 + 2
    assert ids_of(table) == list(range(50))


def test_a_group_that_cannot_be_rewritten_is_counted_and_the_others_land(
    caplog: pytest.LogCaptureFixture,
) -> None:
    table = small_files(5, ["k"])
    done = _failing(table, {"k1"}, partial_progress__enabled=True)
    assert "broken" in caplog.text, "why is in the log"
    assert (len(done.landed), done.failed) == (2, 5)
    assert done._result(0).failed_data_files_count == 5
    assert len(tasks(table)) == 2 + 5
    assert ids_of(table) == list(range(50))


def test_too_many_failed_commits_are_an_error() -> None:
    table = small_files(5, ["k"])
    options = {"partial_progress__enabled": True, "partial_progress__max_failed_commits": 1}
    done = _failing(table, {"k1"}, **options)
    assert done.failed_commits == 1
    table = small_files(5, ["k"])
    with pytest.raises(CommitFailedException, match="2 commits") as caught:
        _failing(table, {"k1", "k2"}, **options)
    assert "broken" in str(caught.value.__cause__)
    table.refresh()
    assert ids_of(table) == list(range(50))
    assert len(tasks(table)) == 1 + 10


def test_without_partial_progress_nothing_lands_where_a_group_fails() -> None:
    table = small_files(5, ["k"])
    with pytest.raises(IcebergError, match="broken"):
        _failing(table, {"k1"})
    assert len(table.snapshots()) == 5
    assert data_files(table) == _ever(table)


def _failing(table: Table, broken: set[str], **options: Any) -> Compaction:
    given: Mapping[str, Any] = {
        key.replace("__", ".").replace("_", "-"): value for key, value in options.items()
    }
    made = maintenance.compaction(
        table._catalog, table._catalog.load(table.identifier), None, None, None, given, None, None
    )

    def run(work: CompactionWork, groups: Sequence[PlannedGroup]) -> list[WrittenGroup]:
        if any(group.plan[0].partition[0] in broken for group in groups):
            raise IcebergError("broken")
        return run_here(work, groups)

    made.run = run
    made.execute()
    table.refresh()
    return made


def test_no_more_groups_are_rewritten_at_a_time_than_requested() -> None:
    table = small_files(5, ["k"])
    seen: list[int] = []
    made = maintenance.compaction(
        table._catalog,
        table._catalog.load(table.identifier),
        None,
        None,
        None,
        {"max-concurrent-file-group-rewrites": 2},
        None,
        None,
    )

    def run(work: CompactionWork, groups: Sequence[PlannedGroup]) -> list[WrittenGroup]:
        seen.append(len(groups))
        return run_here(work, groups)

    made.run = run
    made.execute()
    assert seen == [2, 1]
    assert make().maintenance.rewrite_data_files().rewritten_data_files_count == 0


def until_it_lands(location: str, verb: Callable[[Table], object]) -> None:
    while True:
        try:
            verb(ice.load_table(location))
        except (ValidationException, CommitFailedException):
            continue
        return


@pytest.mark.parametrize("version", ["2", "3"])
def test_three_writers_and_a_compaction_lose_nothing_and_bring_nothing_back(
    tmp_path: Path, version: str
) -> None:
    given = {**MERGE_ON_READ, "commit.retry.num-retries": "100", "format_version": version}
    table = make(tmp_path / "t", **given)
    table.append(rows(id=list(range(30)), k=["old"] * 30))
    turns = 4
    changes: list[Callable[[int], Callable[[Table], object]]] = [
        lambda n: lambda t: t.append(rows(id=[100 + n], k=["new"])),
        lambda n: lambda t: t.upsert(rows(id=[n, n + 1], k=[f"turn {n}"] * 2), ["id"]),
        lambda n: lambda t: t.delete(f"id = {20 + n}"),
    ]

    def write(change: Callable[[int], Callable[[Table], object]]) -> None:
        for turn in range(turns):
            until_it_lands(table.location(), change(turn))

    with ThreadPoolExecutor(3) as pool:
        writers = [pool.submit(write, change) for change in changes]
        for _ in range(turns):
            with suppress(ValidationException, CommitFailedException):
                all_files = {"rewrite-all": True}
                ice.load_table(table.location()).maintenance.rewrite_data_files(options=all_files)
        for writer in writers:
            writer.result()
    table.refresh().maintenance.rewrite_data_files(options={"rewrite-all": True})
    expected = {n: "old" for n in range(30) if not 20 <= n < 20 + turns}
    expected |= {turn: f"turn {turn}" for turn in range(turns)}
    expected |= {turns: f"turn {turns - 1}"} | {100 + n: "new" for n in range(turns)}
    assert live(table) == sorted(expected.items())
    assert len(tasks(table)) == 1


def test_files_of_version_1_keep_the_equality_deletes_that_come_meanwhile(tmp_path: Path) -> None:
    """They have the data sequence number 0, which is a number."""
    table = make(tmp_path, format_version="1")
    for number in range(6):
        table.append(rows(id=[number]))
    table.update_properties().set({"format-version": "2"}).commit()
    other = again(table)

    def meanwhile() -> None:
        other.upsert(rows(id=[3], _op=["D"]), ["id"])
        other.append(rows(id=[100]))

    compact(table, [meanwhile], rewrite_all=True)
    assert ids_of(table) == [0, 1, 2, 4, 5, 100]


def test_upkeep_of_deletes_is_refused_on_a_branch_that_was_rolled_back_meanwhile(
    tmp_path: Path,
) -> None:
    """There the data file is live again that the deletes are of."""
    table = make(tmp_path, **MERGE_ON_READ)
    for number in range(6):
        table.append(rows(id=[number, 100 + number]))
    table.delete("id in (0, 1, 2)")
    good = table.current_snapshot()
    assert good is not None
    table.maintenance.rewrite_data_files(options={"rewrite-all": True})
    table.refresh()
    stale = table._catalog.load(table.identifier)
    action, _ = plan_removal(stale.metadata, stale.io, None)
    again(table).manage_snapshots().rollback_to_snapshot(good.snapshot_id).commit()
    with pytest.raises(ValidationException, match="plan the change again"):
        commit(table._catalog, table.identifier, action, stale)
    table.refresh()
    assert ids_of(table) == [3, 4, 5, *range(100, 106)]
