"""Row ids and deletion vectors where snapshots are picked, left, repeated or removed."""

import time
from collections.abc import Callable

import pytest

from iceberg_spark import Table
from tests.unit.api.tables import ids, make, rows

LINEAGE = ("_row_id", "_last_updated_sequence_number")
MERGE_ON_READ = {"write.delete.mode": "merge-on-read"}
STAGED = {"wap.id": "audit"}


def lives(table: Table, branch: str | None = None) -> dict[int, tuple[int, int]]:
    """Row id and number of the last update by `id`; ids are unique and were given."""
    found = table.refresh().scan(branch=branch, metadata_columns=LINEAGE).to_arrow()
    columns = (found[name].to_pylist() for name in ("id", *LINEAGE))
    known = {number: (row_id, last) for number, row_id, last in zip(*columns, strict=True)}
    given = [row_id for row_id, _ in known.values()]
    assert len(set(given)) == len(given)
    assert all(0 <= each < (table.metadata.next_row_id or 0) for each in given)
    assert not table.maintenance.check().problems
    return known


def made() -> Table:
    """Two files, of letters a and b, three rows each; one of them is deleted by a vector."""
    table = make(
        partition_by=("k",), **{"format-version": "3", "write.wap.enabled": "true"}, **MERGE_ON_READ
    )
    table.append(rows(id=[1, 2, 3, 4, 5, 6], k=list("aaabbb")))
    table.delete("id = 1")
    return table


def staged(table: Table) -> int:
    (found,) = (one for one in table.refresh().snapshots() if one.summary.get("wap.id"))
    return found.snapshot_id


def picked_append(table: Table) -> None:
    table.append(rows(id=[7], k=["a"]), snapshot_properties=STAGED)
    table.append(rows(id=[8], k=["b"]))
    table.refresh().manage_snapshots().cherrypick(staged(table)).commit()


def picked_overwrite(table: Table) -> None:
    new = rows(id=[7], k=["a"])
    table.dynamic_partition_overwrite(new, snapshot_properties=STAGED)
    table.append(rows(id=[8], k=["b"]))
    table.refresh().manage_snapshots().cherrypick(staged(table)).commit()


def rolled_back(table: Table) -> None:
    before = table.refresh().current_snapshot()
    assert before is not None
    table.append(rows(id=[9], k=["a"]))
    table.delete("id = 4")
    table.refresh().manage_snapshots().rollback_to_snapshot(before.snapshot_id).commit()
    table.refresh().append(rows(id=[7, 8], k=["a", "b"]))


CASES: dict[str, tuple[Callable[[Table], None], set[int]]] = {
    "an append that is picked": (picked_append, {2, 3, 4, 5, 6, 7, 8}),
    "an overwrite that is picked": (picked_overwrite, {4, 5, 6, 7, 8}),
    "after a rollback": (rolled_back, {2, 3, 4, 5, 6, 7, 8}),
}


@pytest.mark.parametrize("case", CASES)
def test_rows_that_stay_keep_their_ids_and_new_ones_get_others(case: str) -> None:
    change, left = CASES[case]
    table = made()
    before = lives(table)
    change(table)
    after = lives(table)
    assert after.keys() == left
    assert {key: life for key, life in after.items() if key < 7} == {
        key: life for key, life in before.items() if key in left
    }
    assert {row_id for row_id, _ in before.values()}.isdisjoint(after[key][0] for key in (7, 8))


def test_branches_give_ids_that_the_other_does_not_have() -> None:
    table = made()
    head = table.refresh().current_snapshot()
    assert head is not None
    table.manage_snapshots().create_branch(head.snapshot_id, "b").commit()
    table.refresh().append(rows(id=[7], k=["a"]), branch="b")
    table.append(rows(id=[8], k=["a"]))
    table.delete("id = 2", branch="b")
    main, other = lives(table), lives(table, "b")
    assert main.keys() == {2, 3, 4, 5, 6, 8}
    assert other.keys() == {3, 4, 5, 6, 7}
    assert main[8][0] != other[7][0]
    assert all(main[key] == other[key] for key in (3, 4, 5, 6))


def test_a_file_of_vectors_stays_while_one_of_them_is_live() -> None:
    table = made()
    table.delete("id in (2, 4)")
    table.delete("id = 5")
    table.refresh().maintenance.expire_snapshots(older_than=int(time.time() * 1000) + 1000)
    assert ids(table.refresh()) == [3, 6]
    live = {file.file_path for task in table.scan().plan_files() for file in task.delete_files}
    assert len(live) == 2
    table.maintenance.remove_orphan_files(
        older_than=int(time.time() * 1000) + 1000, allow_recent=True
    )
    table.maintenance.rewrite_manifests()
    assert ids(table.refresh()) == [3, 6]
    assert not table.maintenance.check().problems
