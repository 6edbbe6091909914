"""Changelog scans: what came and went between two snapshots (Java: create_changelog_view)."""

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import iceberg_spark as ice
from iceberg_spark import Table
from iceberg_spark.arrow.schema import to_arrow
from iceberg_spark.commits.commit import commit
from iceberg_spark.commits.new_manifests import read_entries, tuple_type
from iceberg_spark.commits.rewrite_files import RewriteFiles
from iceberg_spark.commits.row_delta import RowDelta
from iceberg_spark.errors import (
    IcebergError,
    InvalidInputError,
    InvalidTypeError,
    NoSuchSnapshotError,
    ValidationException,
)
from iceberg_spark.manifest.entries import data_files
from iceberg_spark.manifest.manifest_list import read_manifest_list
from iceberg_spark.spec.data_file import DataFile
from iceberg_spark.write.context import TaskId
from iceberg_spark.write.data_file_writer import write_data_files
from iceberg_spark.write.equality_delete_writer import equality_schema, write_equality_deletes
from iceberg_spark.write.new_write import write_context
from iceberg_spark.write.position_delete_writer import write_position_deletes
from tests.unit.api.tables import make, rows

MERGE_ON_READ = {"write.delete.mode": "merge-on-read"}


def changed(table: Table, *args: Any, **options: Any) -> list[tuple[Any, ...]]:
    """The changes as tuples (ordinal, type, values...), sorted."""
    found = table.scan().changes(*args, **options).to_arrow().to_pylist()
    added = ("_change_type", "_change_ordinal", "_commit_snapshot_id")
    return sorted(
        (
            row["_change_ordinal"],
            row["_change_type"],
            *(v for k, v in row.items() if k not in added),
        )
        for row in found
    )


def numbers(table: Table) -> list[int]:
    return [each.snapshot_id for each in table.snapshots()]


def contents(table: Table, snapshot_id: int | None) -> Counter[str]:
    if snapshot_id is None:
        return Counter()
    # the table's schema, whatever the snapshot's: older rows have null in newer columns
    names = [field.name for field in table.schema()]
    found = table.scan(snapshot_id=snapshot_id).to_arrow().to_pylist()
    return Counter(str([row.get(name) for name in names]) for row in found)


def differences(table: Table) -> list[tuple[int, str, str]]:
    """What each snapshot changed, as the difference of its rows and its parent's."""
    found: list[tuple[int, str, str]] = []
    ordinal = 0
    for snapshot in table.snapshots():
        if snapshot.operation == "replace":
            continue
        old = contents(table, snapshot.parent_snapshot_id)
        new = contents(table, snapshot.snapshot_id)
        found += [(ordinal, "DELETE", row) for row in (old - new).elements()]
        found += [(ordinal, "INSERT", row) for row in (new - old).elements()]
        ordinal += 1
    return sorted(found)


def as_differences(table: Table) -> list[tuple[int, str, str]]:
    names = [field.name for field in table.schema()]
    return sorted(
        (row["_change_ordinal"], row["_change_type"], str([row[name] for name in names]))
        for row in table.scan().changes().to_arrow().to_pylist()
    )


def delete_positions(table: Table, *positions: tuple[str, int]) -> None:
    context = write_context(table.metadata)
    paths, places = [path for path, _ in positions], [at for _, at in positions]
    files = write_position_deletes(
        context,
        table.io,
        pa.table({"file_path": paths, "pos": places}),
        spec=table.spec(),
        partition=(),
        task=TaskId(),
    )
    _land(table, RowDelta((), files, planned=None))


def delete_equal(table: Table, *numbers: int) -> None:
    kind = to_arrow(equality_schema(table.schema(), [1]))
    keys = [pa.record_batch([pa.array(numbers, pa.int64())], schema=kind)]
    context = write_context(table.metadata)
    files = write_equality_deletes(
        context,
        table.io,
        keys,
        equality_ids=[1],
        spec=table.spec(),
        partition=(),
        task=TaskId(),
    )
    _land(table, RowDelta((), files, planned=None))


def _land(table: Table, action: Any) -> None:
    commit(table._catalog, table.identifier, action, table._loaded)
    table.refresh()


def live_files(table: Table) -> list[str]:
    return [task.file_path for task in table.scan().plan_files()]


@pytest.fixture
def history() -> Table:
    """Appends; an overwrite by filter that rewrites a file; deletes of both modes; a wider row."""
    table = make(schema="id bigint, k string", **MERGE_ON_READ)
    table.append(rows(id=[1, 2, 3, 3], k=["a", "b", "c", "c"]))
    table.append(rows(id=[4, None], k=["d", None]))
    table.overwrite(rows(id=[9], k=["z"]), "id = 2")
    table.delete("id = 3")
    table.update_properties().set({"write.delete.mode": "copy-on-write"}).commit()
    table.update_schema().add_column("more", "double").commit()
    table.delete("id = 1")
    table.append(rows(id=[5], k=["e"], more=[float("nan")]))
    table.overwrite(rows(id=[5], k=["e"], more=[float("nan")]))
    return table


def test_the_changes_are_the_difference_of_each_snapshot_and_its_parent(history: Table) -> None:
    assert as_differences(history) == differences(history)


def test_start_is_exclusive_and_end_inclusive() -> None:
    table = make()
    for number in (1, 2, 3):
        table.append(rows(id=[number]))
    first, second, third = numbers(table)
    assert changed(table, first, second) == [(0, "INSERT", 2, None)]
    assert changed(table, first) == [(0, "INSERT", 2, None), (1, "INSERT", 3, None)]
    assert changed(table, end=first) == [(0, "INSERT", 1, None)]
    assert changed(table, third, third) == []
    assert len(changed(table)) == 3


def test_the_columns_follow_those_of_the_table() -> None:
    table = make()
    table.append(rows(id=[1]))
    found = table.scan().changes().to_arrow()
    assert found.column_names == ["id", "k", "_change_type", "_change_ordinal",
                                  "_commit_snapshot_id"]  # fmt: skip
    assert found.schema.types[2:] == [pa.string(), pa.int32(), pa.int64()]
    assert found["_commit_snapshot_id"].to_pylist() == numbers(table)
    assert table.scan().changes().count() == 1
    assert list(table.scan().changes().to_pandas()["id"]) == [1]


def test_rows_that_were_written_again_are_no_change() -> None:
    table = make()
    table.append(rows(id=[1, 2, 2, 3]))
    table.overwrite(rows(id=[2, 7]), "id > 1")
    assert changed(table, numbers(table)[0]) == [
        (0, "DELETE", 2, None), (0, "DELETE", 3, None), (0, "INSERT", 7, None),
    ]  # fmt: skip


def test_compaction_changes_nothing_and_takes_no_ordinal() -> None:
    table = make()
    table.append(rows(id=[1]))
    table.append(rows(id=[2]))
    old = _files(table)
    context = write_context(table.metadata)
    new = write_data_files(context, table.io, table.scan().to_arrow().to_batches(), TaskId())
    head = table.current_snapshot()
    assert head is not None
    _land(table, RewriteFiles(new, old, planned_on=head.snapshot_id))
    table.append(rows(id=[3]))
    assert [row[:3] for row in changed(table)] == [
        (0, "INSERT", 1), (1, "INSERT", 2), (2, "INSERT", 3),
    ]  # fmt: skip


def _files(table: Table) -> list[DataFile]:
    head = table.current_snapshot()
    assert head is not None
    return [
        file
        for manifest in read_manifest_list(table.io, head, table.metadata)
        for file in data_files(
            read_entries(table.io, table.metadata, manifest), 0, tuple_type(table.metadata, 0)
        )
    ]


def test_rows_deleted_by_position_are_deletes_once() -> None:
    table = make()
    table.append(rows(id=[1, 2, 3]))
    (path,) = live_files(table)
    delete_positions(table, (path, 0))
    delete_positions(table, (path, 0), (path, 2))
    assert changed(table, numbers(table)[0]) == [
        (0, "DELETE", 1, None), (1, "DELETE", 3, None),
    ]  # fmt: skip


def test_rows_deleted_by_value_are_deletes() -> None:
    table = make()
    table.append(rows(id=[1, 2], k=["a", "b"]))
    table.append(rows(id=[2], k=["c"]))
    delete_equal(table, 2)
    assert changed(table, numbers(table)[1]) == [(0, "DELETE", 2, "b"), (0, "DELETE", 2, "c")]


def test_updates_show_both_images_by_the_given_columns() -> None:
    table = make()
    table.append(rows(id=[1, 2, 3], k=["a", "b", "c"]))
    table.overwrite(rows(id=[1, 4], k=["A", "d"]), "id in (1, 2)")
    start = numbers(table)[0]
    assert changed(table, start, identifier_columns=["id"]) == [
        (0, "DELETE", 2, "b"), (0, "INSERT", 4, "d"),
        (0, "UPDATE_AFTER", 1, "A"), (0, "UPDATE_BEFORE", 1, "a"),
    ]  # fmt: skip


def test_updates_show_both_images_by_the_identifier_fields_of_the_schema() -> None:
    table = make(schema=pa.schema([pa.field("id", pa.int64(), nullable=False), ("k", pa.string())]))
    with table.update_schema() as update:
        update.set_identifier_fields("id")
    given = pa.schema([pa.field("id", pa.int64(), nullable=False), ("k", pa.string())])
    table.append(pa.table({"id": [1], "k": ["a"]}, schema=given))
    table.overwrite(pa.table({"id": [1], "k": ["b"]}, schema=given))
    assert [row[1] for row in changed(table, numbers(table)[0], compute_updates=True)] == [
        "UPDATE_AFTER", "UPDATE_BEFORE",
    ]  # fmt: skip
    assert [row[1] for row in changed(table, numbers(table)[0])] == ["DELETE", "INSERT"]


def test_several_removed_rows_of_one_identity_are_refused() -> None:
    table = make()
    table.append(rows(id=[1, 1], k=["a", "b"]))
    table.overwrite(rows(id=[1], k=["c"]))
    with pytest.raises(ValidationException, match="same id; choose identifier_columns"):
        changed(table, numbers(table)[0], identifier_columns=["id"])


def test_net_changes_leave_out_what_cancels_out() -> None:
    table = make()
    table.append(rows(id=[1, 2]))
    table.append(rows(id=[3, 3]))
    table.overwrite(rows(id=[4]), "id = 3 or id = 1")
    table.append(rows(id=[3]))
    start = numbers(table)[0]
    assert changed(table, start, net_changes=True) == [
        (1, "DELETE", 1, None), (1, "INSERT", 4, None), (2, "INSERT", 3, None),
    ]  # fmt: skip


def test_a_filter_and_columns_are_those_of_the_scan() -> None:
    table = make()
    table.append(rows(id=[1, 2], k=["a", "b"]))
    table.overwrite(rows(id=[1, 2], k=["x", "b"]))
    scan = table.scan("id = 1", selected_fields=("id",))
    found = scan.changes(numbers(table)[0]).to_arrow().to_pylist()
    assert [(row["id"], row["_change_type"]) for row in found] == [(1, "DELETE"), (1, "INSERT")]
    assert "k" not in found[0]


def test_nested_values_and_special_numbers_are_compared_as_they_are() -> None:
    kind = pa.schema([
        ("id", pa.int64()), ("s", pa.struct([("x", pa.float64()), ("t", pa.list_(pa.int32()))])),
        ("m", pa.map_(pa.string(), pa.int64())), ("f", pa.float64()),
    ])  # fmt: skip
    table = make(schema=kind)
    nan = float("nan")
    same = {"id": 1, "s": {"x": nan, "t": [1, None]}, "m": [("a", 1)], "f": nan}
    null = {"id": 2, "s": None, "m": None, "f": 0.0}
    table.append(pa.Table.from_pylist([same, null], kind))
    table.overwrite(pa.Table.from_pylist([same, {**null, "s": {"x": None, "t": None}}], kind))
    table.overwrite(pa.Table.from_pylist([same, {**null, "f": -0.0}], kind))
    found = table.scan().changes(numbers(table)[0]).to_arrow().to_pylist()
    assert [(row["id"], row["_change_type"]) for row in found] == [
        (2, "DELETE"), (2, "INSERT"), (2, "DELETE"), (2, "INSERT"),
    ]  # fmt: skip


def test_branches_and_names_are_understood() -> None:
    table = make()
    table.append(rows(id=[1]))
    table.manage_snapshots().create_branch(None, "b").create_tag(None, "t").commit()
    table.append(rows(id=[2]), branch="b")
    table.append(rows(id=[3]))
    assert changed(table, "t", "b") == [(0, "INSERT", 2, None)]
    found = table.scan(branch="b").changes("t").to_arrow()
    assert found["id"].to_pylist() == [2]


def test_a_table_without_a_snapshot_has_no_changes() -> None:
    assert changed(make()) == []


REFUSED: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "an unknown start": ({"start": 5}, IcebergError, "5"),
    "an unknown end": ({"end": 5}, NoSuchSnapshotError, "No snapshot 5"),
    "an unknown name": ({"start": "x"}, NoSuchSnapshotError, "no branch or tag 'x'"),
    "a number as text": ({"end": 1.5}, InvalidTypeError, "end must be a snapshot id"),
    "no identifiers": ({"compute_updates": True}, InvalidInputError, "no identifier fields"),
    "an unknown column": ({"identifier_columns": ["x"]}, IcebergError, "x"),
    "net updates": (
        {"identifier_columns": ["id"], "net_changes": True}, InvalidInputError, "exclude"
    ),
    "net changes as files have them": (
        {"carried_over": True, "net_changes": True}, InvalidInputError, "leave out"
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused_says_why(case: str) -> None:
    table = make()
    table.append(rows(id=[1]))
    arguments, error, message = REFUSED[case]
    with pytest.raises(error, match=message):
        table.scan().changes(**arguments).to_arrow()


def test_a_scan_that_is_pinned_has_no_changes() -> None:
    table = make()
    table.append(rows(id=[1]))
    with pytest.raises(InvalidInputError, match=r"changes\(\) can't be used on a scan with limit"):
        table.scan(limit=1).changes()


def test_a_parent_that_expired_is_named_only_where_its_rows_matter(tmp_path: Path) -> None:
    table = ice.create_table(str(tmp_path / "t"), "id bigint")
    table.append(rows(id=[1]))
    table.append(rows(id=[2]))
    table.overwrite(rows(id=[3]))
    table.maintenance.expire_snapshots(1 << 60)
    with pytest.raises(NoSuchSnapshotError, match="may have expired"):
        changed(table)


def test_rows_that_were_carried_over_are_shown_where_they_are_asked_for() -> None:
    table = make()
    table.append(rows(id=[1, 2]))
    table.delete("id = 2")  # copy-on-write
    assert changed(table, numbers(table)[0]) == [(0, "DELETE", 2, None)]
    shown = changed(table, numbers(table)[0], carried_over=True)
    assert [row[:3] for row in shown] == [(0, "DELETE", 1), (0, "DELETE", 2), (0, "INSERT", 1)]
