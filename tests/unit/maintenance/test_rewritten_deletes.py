"""Minor compaction of delete files: the rows stay, the files get fewer and quicker to read."""

import random
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from iceberg_spark import Table
from iceberg_spark.commits.commit import commit
from iceberg_spark.commits.rewrite_files import RewriteFiles
from iceberg_spark.commits.row_delta import RowDelta
from iceberg_spark.errors import ValidationException
from iceberg_spark.maintenance.rewritten_deletes import DeleteRewrite, Runner, run_here
from iceberg_spark.scan.task import DeleteFile
from iceberg_spark.spec.data_file import DataFile, DataFileContent
from iceberg_spark.write.context import TaskId
from iceberg_spark.write.data_file_writer import write_data_files
from iceberg_spark.write.new_write import write_context
from iceberg_spark.write.position_delete_writer import write_position_deletes
from tests.unit.api.tables import data_files, make, rows


def live(table: Table) -> list[tuple[Any, ...]]:
    return sorted(tuple(row.values()) for row in table.scan().to_arrow().to_pylist())


def deletes(table: Table) -> list[DeleteFile]:
    """The delete files that apply to some data file, by path."""
    found = {d.file_path: d for task in table.scan().plan_files() for d in task.delete_files}
    return [found[path] for path in sorted(found)]


def again(table: Table) -> Table:
    """The same table, loaded by someone else."""
    return Table(table._catalog, table._catalog.load(table.identifier))


def upserted(partition_by: tuple[str, ...] = ()) -> Table:
    """100 rows, then five upserts with deletes and repeated keys."""
    table = make(partition_by=partition_by)
    table.append(rows(id=list(range(100)), k=["a"] * 100))
    chance = random.Random(3)
    for turn in range(5):
        ids = [chance.randrange(120) for _ in range(40)]
        operations = [chance.choice("UUD") for _ in ids]
        table.upsert(rows(id=ids, k=[f"{turn}-{n}" for n in range(40)], _op=operations), ["id"])
    return table


def summary(table: Table) -> dict[str, str]:
    snapshot = table.current_snapshot()
    assert snapshot is not None
    return dict(snapshot.summary or {})


@pytest.mark.parametrize("partition_by", [(), ("bucket(3, id)",)])
def test_equality_deletes_become_position_deletes_and_no_row_changes(
    partition_by: tuple[str, ...],
) -> None:
    table = upserted(partition_by)
    before = live(table)
    result = table.maintenance.convert_equality_deletes()
    assert live(table) == before
    assert {one.content for one in deletes(table)} == {DataFileContent.POSITION_DELETES}
    said = summary(table)
    assert said["operation"] == "replace"
    assert said["total-equality-deletes"] == "0"
    assert said["added-position-deletes"] == str(result.added_position_deletes)
    assert int(said["removed-delete-files"]) == result.removed_delete_files
    assert int(said["total-records"]) - int(said["total-position-deletes"]) == len(before)


def test_converting_without_equality_deletes_does_nothing() -> None:
    table = make()
    assert table.maintenance.convert_equality_deletes() == DeleteRewrite()
    table.append(rows(id=[1], k=["a"]))
    assert table.maintenance.convert_equality_deletes() == DeleteRewrite()
    assert len(table.snapshots()) == 1


def test_equality_deletes_that_reach_no_row_just_go() -> None:
    table = make()
    table.upsert(rows(id=[1, 2], k=["a", "b"]), ["id"])
    assert table.maintenance.convert_equality_deletes() == DeleteRewrite(1, 0, 0)
    assert live(table) == [(1, "a"), (2, "b")]


def _compacted(table: Table) -> RewriteFiles:
    """What a compaction does that read the table as loaded: one file for all, as old as it."""
    snapshot = table.current_snapshot()
    assert snapshot is not None
    old = _data(table)
    context = write_context(table.metadata)
    batches = table.scan().to_arrow().cast(pa.schema(_schema(table))).to_batches()
    new = write_data_files(context, table.io, batches, TaskId())
    return RewriteFiles(
        new,
        old,
        planned_on=snapshot.snapshot_id,
        data_sequence_number=snapshot.sequence_number,
    )


def _schema(table: Table) -> list[pa.Field]:
    return list(table.scan().to_arrow().schema)


def _data(table: Table) -> list[DataFile]:
    tasks = list(table.scan().plan_files())
    return [
        DataFile(
            content=DataFileContent.DATA,
            file_path=task.file_path,
            file_format=task.file_format,
            partition=task.partition,
            record_count=task.record_count,
            file_size_in_bytes=task.file_size_in_bytes,
            partition_spec_id=task.spec_id,
        )
        for task in tasks
    ]


def meanwhile(monkeypatch: pytest.MonkeyPatch, change: Callable[[], object]) -> None:
    """Let someone else commit after a rewrite was planned."""

    def after_planning(_spark: object) -> Runner:
        change()
        return run_here

    monkeypatch.setattr("iceberg_spark.api.maintenance.delete_runner", after_planning)


def test_a_compaction_that_moved_older_rows_under_the_deletes_stops_a_conversion(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its file has a smaller data sequence number: its deleted rows would come back."""
    table = make()
    table.append(rows(id=[1, 2], k=["a", "b"]))
    compaction = _compacted(again(table))
    table.upsert(rows(id=[2], k=["B"]), ["id"])
    maintenance = again(table).maintenance
    meanwhile(
        monkeypatch,
        lambda: commit(table._catalog, table.identifier, compaction, again(table)._loaded),
    )
    with pytest.raises(ValidationException, match="convert them again"):
        maintenance.convert_equality_deletes()
    monkeypatch.undo()
    assert live(table.refresh()) == [(1, "a"), (2, "B")]
    table.maintenance.convert_equality_deletes()
    assert live(table) == [(1, "a"), (2, "B")]


def test_a_conversion_stops_a_compaction_that_read_the_rows_before_they_were_deleted() -> None:
    table = make()
    table.append(rows(id=[1, 2], k=["a", "b"]))
    compaction = _compacted(again(table))
    table.upsert(rows(id=[2], k=["B"]), ["id"])
    table.maintenance.convert_equality_deletes()
    with pytest.raises(ValidationException, match="plan the change again"):
        commit(table._catalog, table.identifier, compaction, table._loaded)
    assert live(table.refresh()) == [(1, "a"), (2, "B")]


def test_newer_rows_that_came_meanwhile_don_t_stop_a_conversion(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = upserted()
    late = again(table).maintenance
    meanwhile(monkeypatch, lambda: again(table).append(rows(id=[500], k=["new"])))
    late.convert_equality_deletes()
    monkeypatch.undo()
    before = live(table)
    assert live(table.refresh()) == sorted([*before, (500, "new")])


# ------------------------------------------------------------------------- position deletes


def delete_at(table: Table, positions: dict[str, list[int]], granularity: str = "file") -> None:
    """Commit position deletes, in one file for each data file or in one for all."""
    pairs = [(path, at) for path, places in positions.items() for at in places]
    found = write_position_deletes(
        write_context(table.metadata),
        table.io,
        rows(file_path=[p for p, _ in pairs], pos=[at for _, at in pairs]),
        spec=table.spec(),
        partition=(),
        task=TaskId(),
        granularity=granularity,
    )
    commit(table._catalog, table.identifier, RowDelta((), found), table._loaded)
    table.refresh()


def test_many_position_deletes_become_one_for_each_data_file() -> None:
    table = make()
    for start in (0, 10):
        table.append(rows(id=list(range(start, start + 10)), k=["a"] * 10))
    first, second = sorted(task.file_path for task in table.scan().plan_files())
    delete_at(table, {first: [1], second: [2]}, "partition")
    delete_at(table, {first: [3]})
    delete_at(table, {second: [2, 5]})
    before = live(table)
    highest = {
        task.file_path: max(one.data_sequence_number for one in task.delete_files)
        for task in table.scan().plan_files()
    }
    assert table.maintenance.rewrite_position_deletes() == DeleteRewrite(3, 2, 4)
    assert live(table) == before
    found = deletes(table)
    assert {(d.referenced_data_file, d.data_sequence_number) for d in found} == set(highest.items())
    assert summary(table)["operation"] == "replace"
    assert table.maintenance.rewrite_position_deletes() == DeleteRewrite()


def test_dangling_position_deletes_are_dropped() -> None:
    table = make()
    table.append(rows(id=[1, 2], k=["a", "b"]))
    delete_at(table, {_data(table)[0].file_path: [0]})
    with table.transaction() as tx:
        tx.overwrite_files(delete=_data(table))
    table.append(rows(id=[3], k=["c"]))
    assert table.maintenance.rewrite_position_deletes() == DeleteRewrite(1, 0, 0)
    assert summary(table)["total-delete-files"] == "0"
    assert live(table) == [(3, "c")]


def test_equality_deletes_stay_when_position_deletes_are_rewritten() -> None:
    table = upserted()
    before, equality = live(table), summary(table)["total-equality-deletes"]
    table.maintenance.rewrite_position_deletes()
    assert live(table) == before
    assert summary(table)["total-equality-deletes"] == equality


def test_both_one_after_the_other_and_further_upserts() -> None:
    table = upserted(("bucket(2, id)",))
    table.maintenance.convert_equality_deletes()
    table.upsert(rows(id=[5, 6], k=["x", "y"]), ["id"])
    before = live(table)
    table.maintenance.convert_equality_deletes()
    table.maintenance.rewrite_position_deletes()
    assert live(table) == before
    assert len(deletes(table)) == len({d.referenced_data_file for d in deletes(table)})


def test_a_rewrite_that_fails_to_commit_leaves_no_file(monkeypatch: pytest.MonkeyPatch) -> None:
    table = upserted()
    files = data_files(table)

    def refused(*_: object, **__: object) -> None:
        raise ValidationException("no")

    monkeypatch.setattr("iceberg_spark.api.maintenance.commit", refused)
    with pytest.raises(ValidationException, match="no"):
        table.maintenance.convert_equality_deletes()
    assert data_files(table) == files
