"""Compaction of data files: the rows stay, the files become fewer, larger and free of deletes."""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import iceberg_spark as ice
from iceberg_spark import Table
from iceberg_spark.errors import (
    CorruptFileError,
    InvalidInputError,
    InvalidSchemaError,
    NoSuchSnapshotError,
)
from iceberg_spark.maintenance import compaction
from iceberg_spark.maintenance.compact import DataRewrite
from iceberg_spark.scan.task import FileScanTask
from iceberg_spark.spec.quoted_name import quote
from tests.unit.api.tables import data_files, make, rows

MERGE_ON_READ = {"write.delete.mode": "merge-on-read"}


def live(table: Table, **scan: Any) -> list[tuple[Any, ...]]:
    return sorted(tuple(row.values()) for row in table.scan(**scan).to_arrow().to_pylist())


def tasks(table: Table, **scan: Any) -> Sequence[FileScanTask]:
    return list(table.scan(**scan).plan_files())


def small_files(count: int = 6, partition_by: Sequence[str] = (), **properties: str) -> Table:
    """So many files of ten rows each: ids 0 to 9, 10 to 19, ... and `k` as "k0" to "k2"."""
    table = make(partition_by=partition_by, **properties)
    for number in range(count):
        ids = list(range(number * 10, number * 10 + 10))
        table.append(rows(id=ids, k=[f"k{n % 3}" for n in ids]))
    return table


def summary(table: Table) -> dict[str, str]:
    snapshot = table.current_snapshot()
    assert snapshot is not None
    return dict(snapshot.summary or {})


def test_small_files_become_one() -> None:
    table = small_files()
    before, size = live(table), sum(task.file_size_in_bytes for task in tasks(table))
    assert table.maintenance.rewrite_data_files() == DataRewrite(6, 1, size)
    assert live(table) == before
    assert summary(table)["operation"] == "replace"
    assert len(tasks(table)) == 1


def test_a_table_in_good_order_is_left_as_it_is() -> None:
    table = small_files(4)
    assert table.maintenance.rewrite_data_files() == DataRewrite()
    assert make().maintenance.rewrite_data_files() == DataRewrite()
    assert len(table.snapshots()) == 4


def test_each_partition_is_compacted_alone() -> None:
    table = small_files(5, ["k"])
    before = live(table)
    done = table.maintenance.rewrite_data_files()
    assert (done.rewritten_data_files_count, done.added_data_files_count) == (15, 3)
    assert live(table) == before
    assert sorted(task.partition for task in tasks(table)) == [("k0",), ("k1",), ("k2",)]


def test_deleted_rows_are_left_out() -> None:
    table = small_files(2, **MERGE_ON_READ)
    table.delete("id < 4")
    table.upsert(rows(id=[5, 15], k=["new", "new"]), ["id"])
    before = live(table)
    done = table.maintenance.rewrite_data_files(options={"rewrite-all": True})
    assert (done.rewritten_data_files_count, done.added_data_files_count) == (3, 1)
    assert live(table) == before
    assert [(task.record_count, task.delete_files) for task in tasks(table)] == [(16, ())]


def test_a_file_whose_rows_are_all_deleted_goes() -> None:
    table = small_files(1, **MERGE_ON_READ)
    table.upsert(rows(id=list(range(10)), k=["x"] * 10, _op=["D"] * 10), ["id"])
    done = table.maintenance.rewrite_data_files(options={"rewrite-all": True})
    assert (done.rewritten_data_files_count, done.added_data_files_count) == (1, 0)
    assert tasks(table) == []


def test_new_files_are_as_old_as_the_snapshot_that_was_read() -> None:
    table = small_files()
    snapshot = table.current_snapshot()
    assert snapshot is not None
    table.maintenance.rewrite_data_files()
    assert [task.data_sequence_number for task in tasks(table)] == [snapshot.sequence_number]
    again = {"rewrite-all": True, "use-starting-sequence-number": False}
    table.maintenance.rewrite_data_files(options=again)
    assert [task.data_sequence_number for task in tasks(table)] == [8]


def test_where_picks_files_of_which_all_rows_stay() -> None:
    table = small_files()
    before = live(table)
    done = table.maintenance.rewrite_data_files(
        where="id between 15 and 34", options={"min-input-files": 2}
    )
    assert done.rewritten_data_files_count == 3
    assert live(table) == before
    assert sorted(task.record_count for task in tasks(table)) == [10, 10, 10, 30]


def test_large_files_are_split() -> None:
    table = make(**{"write.parquet.row_group_size_bytes": "65536"})
    ids = list(range(200_000))
    table.append(rows(id=ids, k=[str(n * 7919) for n in ids]))
    (whole,) = tasks(table)
    target = whole.file_size_in_bytes // 4
    done = table.maintenance.rewrite_data_files(options={"target-file-size-bytes": target})
    assert done.added_data_files_count in (3, 4, 5)
    sizes = [task.file_size_in_bytes for task in tasks(table)]
    assert max(sizes) < 1.4 * target
    assert table.scan().count() == 200_000


def test_files_of_another_spec_are_written_to_the_tables() -> None:
    table = small_files(6)
    table.update_spec().add_field("k").commit()
    before = live(table)
    done = table.maintenance.rewrite_data_files()
    assert (done.rewritten_data_files_count, done.added_data_files_count) == (6, 3)
    assert live(table) == before
    assert sorted(task.partition for task in tasks(table)) == [("k0",), ("k1",), ("k2",)]


def test_an_output_spec_can_be_chosen() -> None:
    table = small_files(5, ["k"])
    table.update_spec().remove_field("k").commit()
    before = live(table)
    old = next(iter(table.metadata.partition_specs))
    done = table.maintenance.rewrite_data_files(options={"output-spec-id": old})
    assert (done.rewritten_data_files_count, done.added_data_files_count) == (15, 3)
    assert {task.spec_id for task in tasks(table)} == {old}
    assert live(table) == before


def test_a_branch_is_compacted_without_the_others() -> None:
    table = small_files()
    table.manage_snapshots().create_branch(None, "b").commit()
    table.maintenance.rewrite_data_files(branch="b")
    assert (len(tasks(table)), len(tasks(table, branch="b"))) == (6, 1)
    with pytest.raises(NoSuchSnapshotError):
        table.maintenance.rewrite_data_files(branch="c")


def test_columns_that_were_added_and_dropped_are_as_the_table_has_them() -> None:
    table = small_files()
    table.update_schema().add_column("n", "int").delete_column("k").commit()
    before = live(table)
    table.maintenance.rewrite_data_files()
    assert live(table) == before


def test_rows_are_sorted_by_the_requested_order() -> None:
    table = small_files()
    table.maintenance.rewrite_data_files("sort", "k desc, id desc", options={"min-input-files": 2})
    found = [tuple(row.values()) for row in table.scan().to_arrow().to_pylist()]
    assert found == sorted(found, key=lambda row: (row[1], row[0]), reverse=True)
    assert _orders(table) == [0]


def test_the_tables_own_order_is_recorded() -> None:
    table = small_files()
    table.update_sort_order().asc("k").asc("id").commit()
    order = table.metadata.default_sort_order_id
    table.maintenance.rewrite_data_files("sort")
    assert _orders(table) == [order]
    table.maintenance.rewrite_data_files(options={"rewrite-all": True})
    assert _orders(table) == [order]
    table.maintenance.rewrite_data_files(
        "sort", "k, id asc nulls first", options={"rewrite-all": True}
    )
    assert _orders(table) == [order]


def _orders(table: Table) -> list[int]:
    found: list[int] = table.inspect.files()["sort_order_id"].to_pylist()
    return found


def test_a_sort_makes_as_many_files_as_are_expected() -> None:
    table = make()
    for number in range(6):
        ids = [(n * 7919 + number) % 100_003 for n in range(20_000)]
        table.append(rows(id=ids, k=[str(n) for n in ids]))
    before = live(table)
    target = sum(task.file_size_in_bytes for task in tasks(table)) // 3
    done = table.maintenance.rewrite_data_files(
        sort_order="id", options={"target-file-size-bytes": target, "min-input-files": 2}
    )
    assert done.added_data_files_count == 3
    bounds = sorted(
        (row["lower_bounds"][0][1], row["upper_bounds"][0][1])
        for row in table.inspect.files().to_pylist()
    )
    places = [tuple(int.from_bytes(b, "little") for b in pair) for pair in bounds]
    places.sort()
    assert all(left[1] <= right[0] for left, right in pairwise(places))
    assert live(table) == before


def test_a_z_order_keeps_rows_near_in_both_columns() -> None:
    table = make(schema="a int, b int")
    grid = [(a, b) for a in range(64) for b in range(64)]
    for start in range(8):
        part = grid[start::8]
        table.append(
            pa.table(
                {
                    "a": pa.array([p[0] for p in part], pa.int32()),
                    "b": pa.array([p[1] for p in part], pa.int32()),
                }
            )
        )
    before = live(table)
    table.maintenance.rewrite_data_files("sort", "zorder(a, b)")
    found = [tuple(row.values()) for row in table.scan().to_arrow().to_pylist()]
    assert sorted(found) == before
    quarter = found[: len(found) // 4]
    assert {p[0] for p in quarter} == {p[1] for p in quarter} == set(range(32))


@pytest.mark.parametrize(
    ("strategy", "sort_order", "error", "message"),
    [
        ("best", None, InvalidInputError, "'best' is unknown"),
        ("binpack", "id", InvalidInputError, "needs strategy='sort'"),
        ("sort", None, InvalidInputError, "is unsorted"),
        ("sort", "id, zorder(id, k)", InvalidInputError, "mixes columns"),
        ("sort", "zorder()", InvalidInputError, "names no column"),
        (
            "sort",
            "zorder(id, x)",
            InvalidSchemaError,
            "no column 'x'; the table has: [^\n]*$",
        ),
        ("sort", "nothing", InvalidSchemaError, "nothing"),
    ],
)
def test_a_strategy_that_makes_no_sense_is_refused(
    strategy: str, sort_order: str | None, error: type[Exception], message: str
) -> None:
    table = small_files(1)
    with pytest.raises(error, match=message):
        table.maintenance.rewrite_data_files(strategy, sort_order)
    assert len(table.snapshots()) == 1


def test_only_columns_that_differ_within_a_partition_make_a_z_order() -> None:
    table = small_files(5, ["k"])
    with pytest.raises(InvalidInputError, match="constant"):
        table.maintenance.rewrite_data_files("sort", "zorder(k)")
    done = table.maintenance.rewrite_data_files("sort", "zorder(k, id)")
    assert done.added_data_files_count == 3


@pytest.mark.parametrize("name", ["é `x", "a.b", "`", "a, b", "(x)"])
def test_a_z_order_names_odd_columns_in_backticks(name: str, tmp_path: Path) -> None:
    schema = ice.Schema(ice.NestedField(1, name, ice.LongType()))
    table = ice.create_table(str(tmp_path / "t"), schema)
    for number in range(6):
        table.append(pa.table({name: [number]}))
    done = table.maintenance.rewrite_data_files("sort", f"zorder({quote(name)})")
    assert done.rewritten_data_files_count == 6


def test_nothing_is_left_behind() -> None:
    table = small_files(6, ["k"])
    table.maintenance.rewrite_data_files()
    known = {task.file_path for task in tasks(table)}
    old = {
        t.file_path for s in table.snapshots()[:-1] for t in tasks(table, snapshot_id=s.snapshot_id)
    }
    assert data_files(table) == known | old


@pytest.mark.parametrize("order", [None, "id desc", "zorder(id, k)"])
def test_rows_keep_their_ids(order: str | None) -> None:
    table = small_files(6, ["k"], format_version="3")
    lineage = ("_row_id", "_last_updated_sequence_number")
    before = live(table, metadata_columns=lineage)
    assert len({row[2] for row in before}) == 60
    table.maintenance.rewrite_data_files(sort_order=order)
    assert live(table, metadata_columns=lineage) == before
    assert len(tasks(table)) == 3


@pytest.mark.parametrize("version", ["2", "3"])
def test_dangling_deletes_are_removed_on_request(version: str) -> None:
    table = small_files(6, **MERGE_ON_READ, format_version=version)
    table.delete("id in (3, 33)")
    table.upsert(rows(id=[5], k=["x"], _op=["D"]), ["id"])
    before = live(table)
    done = table.maintenance.rewrite_data_files(options={"remove-dangling-deletes": True})
    # Of version 2 the older two went with the data files, as in Java, which counts them no more.
    assert done.removed_delete_files_count == (1 if version == "2" else 3)
    assert summary(table)["total-delete-files"] == "0"
    assert live(table) == before


def test_vectors_go_with_their_files() -> None:
    table = small_files(6, **MERGE_ON_READ, format_version="3")
    table.delete("id in (3, 33)")
    assert table.maintenance.rewrite_data_files().removed_delete_files_count == 2
    assert summary(table)["total-delete-files"] == "0"


@pytest.mark.parametrize("kind", ["orc", "avro"])
def test_tables_of_version_1_and_of_other_formats_are_compacted(kind: str) -> None:
    table = small_files(6, **{"format_version": "1", "write.format.default": kind})
    before = live(table)
    assert table.maintenance.rewrite_data_files().added_data_files_count == 1
    assert live(table) == before
    assert [task.file_format.lower() for task in tasks(table)] == [kind]


@pytest.mark.parametrize("order", [None, "id desc"])
def test_files_with_another_row_count_than_their_entry_are_left(
    monkeypatch: pytest.MonkeyPatch, order: str | None
) -> None:
    table = small_files(5)
    real = compaction.read_task

    def short(*given: Any) -> Any:
        return list(real(*given))[1:]

    monkeypatch.setattr(compaction, "read_task", short)
    with pytest.raises(CorruptFileError, match="0 rows where the metadata says 50"):
        table.maintenance.rewrite_data_files(sort_order=order)
    assert len(table.refresh().snapshots()) == 5
    assert len(data_files(table)) == 5
