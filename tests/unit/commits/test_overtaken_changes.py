"""Changes that rewrite rows, overtaken by commits that only deleted rows of the same files."""

from dataclasses import dataclass, replace

import pytest

import iceberg_spark as ice
from iceberg_spark import Table
from iceberg_spark.commits.action import Action
from iceberg_spark.commits.commit import commit
from iceberg_spark.errors import ValidationException
from iceberg_spark.expr.build import as_unbound
from iceberg_spark.row_level.in_process import delete_rows
from iceberg_spark.row_level.row_level_change import (
    PlannedChange,
    RowLevelMode,
    RowVerb,
    row_change_action,
)
from iceberg_spark.row_level.target_files import target_files
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.write.new_write import write_context
from iceberg_spark.write.sorted_files import write_sorted_files
from tests.unit.api.tables import data_files, ids, make, rows

MERGE_ON_READ = {f"write.{verb}.mode": "merge-on-read" for verb in ("delete", "update", "merge")}


@dataclass(frozen=True, slots=True)
class Late:
    """A change that was planned on a table, and the vectors that it would add."""

    table: Table
    action: Action
    vectors: frozenset[str]

    def land(self) -> None:
        commit(self.table._catalog, self.table.identifier, self.action, self.table._loaded)


def filled(level: str = "serializable", version: str = "3") -> Table:
    """One file of the ids 0 to 9."""
    levels = {f"write.{verb}.isolation-level": level for verb in ("update", "merge")}
    table = make(**{"format-version": version}, **MERGE_ON_READ, **levels)
    table.append(rows(id=list(range(10)), k=["a"] * 10))
    return table


def renumbered(
    table: Table, number: int, *, verb: str = "update", after_deletes: bool = True
) -> Late:
    """An update of one id to a hundred more, planned now."""
    late = ice.load_table(table.location())
    metadata: TableMetadata = late.metadata
    head = late.current_snapshot()
    assert head is not None
    asked = RowVerb(metadata, late.io, RowLevelMode.of(metadata, verb), head.snapshot_id)
    where = as_unbound(f"id = {number}")
    target = target_files(metadata, late.io, where, asked.target_options)
    context = write_context(metadata, io=late.io)
    gone = delete_rows(target, late.io, context, asked.mode)
    new = rows(id=[number + 100], k=["a"]).to_batches()
    change = replace(gone, added_data=write_sorted_files(context, late.io, new))
    action = row_change_action(asked, PlannedChange(change, where, after_deletes))
    return Late(late, action, frozenset(file.file_path for file in change.added_deletes))


@pytest.mark.parametrize("before", [(), (0, 9)], ids=["no vector", "a vector"])
def test_an_update_lands_after_deletes_of_other_rows_of_its_file(before: tuple[int, ...]) -> None:
    table = filled()
    for number in before:
        table.delete(f"id = {number}")
    late = renumbered(table, 3)
    table.delete("id = 4")
    table.delete("id = 5")
    late.land()
    assert ids(table.refresh()) == sorted({*range(10), 103} - {*before, 3, 4, 5})
    (task,) = (each for each in table.scan().plan_files() if each.delete_files)
    (vector,) = task.delete_files
    assert vector.record_count == 3 + len(before)
    assert not table.maintenance.check().problems


def test_an_update_is_refused_after_a_delete_of_its_row() -> None:
    table = filled()
    table.delete("id = 0")
    late, before = renumbered(table, 3), data_files(table)
    table.delete("id in (2, 3)")
    theirs = data_files(table) - before
    with pytest.raises(ValidationException, match=r"deleted a row of .* rewrites"):
        late.land()
    assert ids(table.refresh()) == [1, *range(4, 10)]
    assert theirs <= data_files(table)


def test_an_update_is_refused_after_an_update_of_another_row_of_its_file() -> None:
    table = filled()
    first, second = renumbered(table, 3), renumbered(table, 4)
    first.land()
    with pytest.raises(ValidationException, match=r"may delete rows|a deletion vector"):
        second.land()
    assert ids(table.refresh()) == [0, 1, 2, *range(4, 10), 103]


@pytest.mark.parametrize("level", ["serializable", "snapshot"])
def test_what_reads_rows_that_it_does_not_change_lands_by_isolation(level: str) -> None:
    table = filled(level)
    late = renumbered(table, 3, verb="merge", after_deletes=False)
    table.delete("id = 4")
    if level == "snapshot":
        late.land()
        assert ids(table.refresh()) == [0, 1, 2, *range(5, 10), 103]
        return
    with pytest.raises(ValidationException, match="plan the change again"):
        late.land()


def test_an_upsert_of_the_row_is_a_conflict() -> None:
    table = filled("snapshot")
    late = renumbered(table, 3)
    table.upsert(rows(id=[3], k=["b"]), ["id"])
    with pytest.raises(ValidationException, match="may delete rows"):
        late.land()


def test_deletes_of_a_missing_file_are_unknown() -> None:
    table = filled()
    table.delete("id = 0")
    late = renumbered(table, 3)
    table.delete("id = 4")
    live = {each.file_path for task in table.scan().plan_files() for each in task.delete_files}
    vectors = {path for path in data_files(table) if path.endswith(".puffin")}
    (old,) = vectors - live - late.vectors
    table.io.delete(old)
    with pytest.raises(ValidationException, match="is gone; plan the change again"):
        late.land()


def test_version_2_keeps_the_conflict() -> None:
    table = filled(version="2")
    late = renumbered(table, 3)
    table.delete("id = 4")
    with pytest.raises(ValidationException, match="may delete rows"):
        late.land()
