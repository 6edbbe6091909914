"""Row-level changes, and what they conflict with."""

import struct
from typing import Any

import pytest

from iceberg_spark.commits.append import AppendFiles
from iceberg_spark.commits.conflicts import Planned
from iceberg_spark.commits.delete_files import DeleteFiles
from iceberg_spark.commits.overwrite_files import OverwriteFiles
from iceberg_spark.commits.replace_deletes import ReplaceDeletes
from iceberg_spark.commits.rewrite_files import RewriteFiles
from iceberg_spark.commits.row_delta import RowDelta
from iceberg_spark.errors import InvalidInputError, UnsupportedError, ValidationException
from iceberg_spark.expr.parse import parse_predicate
from iceberg_spark.spec.data_file import DataFile
from tests.builders import equality_deletes, position_deletes
from tests.unit.commits.tables import (
    LoadedTable,
    entries,
    file,
    live,
    make_table,
    metadata_names,
    referenced_names,
    reloaded,
    run,
)
from tests.unit.commits.test_overwrite_files import ids

NAN = float("nan")
OTHER_NAN = struct.unpack("<d", b"\x01" * 6 + b"\xf8\x7f")[0]
"""Another one of its bits, and no object of Python that equals the first."""


def positions(table: LoadedTable, name: str, *partition: Any, **rest: Any) -> DataFile:
    path = f"{table.metadata.location}/data/{name}.parquet"
    return position_deletes(path, partition=partition, **rest)


def start(**stats: Any) -> tuple[LoadedTable, Planned]:
    table = make_table()
    table = run(table, AppendFiles([file(table, "a", **stats), file(table, "b")]))
    return table, Planned(table.metadata.current_snapshot_id)


def test_data_and_deletes_land_together():
    table, _ = start()
    deletes = [positions(table, "p"), equality_deletes([1], f"{table.metadata.location}/e.parquet")]
    table = run(table, RowDelta([file(table, "c")], deletes))
    assert live(table.metadata) == {"a", "b", "c", "p", "e"}
    snapshot = table.metadata.current_snapshot
    assert snapshot is not None
    wanted = {
        "operation": "overwrite",
        "added-data-files": "1",
        "added-delete-files": "2",
        "added-position-delete-files": "1",
        "added-equality-delete-files": "1",
        "total-delete-files": "2",
    }
    assert wanted.items() <= snapshot.summary.items()
    assert metadata_names(table) == referenced_names(table.metadata)


def test_the_operation_describes_the_change():
    table, _ = start()
    only_deletes = run(table, RowDelta(deletes=[positions(table, "p")]))
    assert only_deletes.metadata.current_snapshot is not None
    assert only_deletes.metadata.current_snapshot.operation == "delete"
    only_data = run(only_deletes, RowDelta([file(table, "c")]))
    assert only_data.metadata.current_snapshot is not None
    assert only_data.metadata.current_snapshot.operation == "append"


def test_replaced_delete_files_go():
    table, _ = start()
    old = positions(table, "p")
    table = run(table, RowDelta(deletes=[old]))
    table = run(table, RowDelta(deletes=[positions(table, "q")], remove_deletes=[old]))
    assert live(table.metadata) == {"a", "b", "q"}
    with pytest.raises(ValidationException, match=r"p\.parquet is not in the table any more"):
        run(table, RowDelta(deletes=[positions(table, "r")], remove_deletes=[old]))


def test_a_v1_table_is_refused_and_the_property_named():
    table = make_table(format_version=1)
    with pytest.raises(UnsupportedError, match="format-version"):
        run(table, RowDelta(deletes=[positions(table, "p")]))


def test_data_and_delete_files_must_not_be_mixed_up():
    with pytest.raises(InvalidInputError, match="holds deletes"):
        RowDelta([position_deletes()])
    table = make_table()
    with pytest.raises(InvalidInputError, match="holds data"):
        RowDelta(deletes=[file(table, "a")])


@pytest.mark.parametrize("serializable", [True, False])
def test_rows_added_since_are_a_conflict_for_serializable_only(serializable: bool):
    table, planned = start()
    run(table, AppendFiles([file(table, "late", **ids(1, 9))]))
    action = RowDelta(
        deletes=[positions(table, "p")],
        planned=Planned(planned.snapshot_id, refuse_new_data=serializable),
    )
    if serializable:
        with pytest.raises(ValidationException, match=r"Conflict with snapshot \d+.*late\.parquet"):
            run(table, action)
        assert "p" not in live(reloaded(table).metadata)
    else:
        assert "p" in live(run(table, action).metadata)


def test_rows_added_since_that_the_filter_can_not_match_are_no_conflict():
    table, planned = start()
    run(table, AppendFiles([file(table, "late", **ids(1, 9))]))
    read = Planned(planned.snapshot_id, row_filter=parse_predicate("id > 50"))
    table = run(table, RowDelta(deletes=[positions(table, "p")], planned=read))
    assert live(table.metadata) == {"a", "b", "late", "p"}


def test_deletes_added_since_are_a_conflict():
    table, planned = start()
    run(table, RowDelta(deletes=[positions(table, "late")]))
    action = RowDelta(deletes=[positions(table, "p")], planned=planned)
    with pytest.raises(ValidationException, match=r"late\.parquet may delete rows"):
        run(table, action)


@pytest.mark.parametrize("how", ["delete", "overwrite", "compaction"])
@pytest.mark.parametrize("allow_deleted", [True, False])
def test_a_data_file_that_deletes_point_to_must_still_be_there(how: str, allow_deleted: bool):
    table, planned = start()
    gone = file(table, "a")
    if how == "delete":
        run(table, DeleteFiles([gone.file_path]))
    elif how == "overwrite":
        run(table, OverwriteFiles([file(table, "a2")], [gone]))
    else:
        run(table, RewriteFiles([file(table, "a2")], [gone], planned_on=planned.snapshot_id))
    action = RowDelta(
        deletes=[positions(table, "p")],
        referenced=[gone.file_path],
        allow_deleted=allow_deleted,
        planned=Planned(planned.snapshot_id, refuse_new_data=False, refuse_new_deletes=False),
    )
    if how == "delete" and allow_deleted:
        assert "p" in live(run(table, action).metadata)
    else:
        with pytest.raises(ValidationException, match=r"a\.parquet was removed by snapshot"):
            run(table, action)


def late_delete(table: LoadedTable, kind: str) -> DataFile:
    name = f"{table.metadata.location}/late.parquet"
    match kind:
        case "position for a":
            return position_deletes(name, referenced_data_file=file(table, "a").file_path)
        case "position for b":
            return position_deletes(name, referenced_data_file=file(table, "b").file_path)
        case "position, by bounds for b":
            path = {2147483546: file(table, "b").file_path.encode()}
            return position_deletes(name, lower_bounds=path, upper_bounds=path)
        case "position":
            return position_deletes(name)
        case _:
            return equality_deletes([1], name)


@pytest.mark.parametrize(
    ("kind", "conflicts"),
    [
        ("position for a", True),
        ("position for b", False),
        ("position, by bounds for b", False),
        ("position", True),
        ("equality", True),
    ],
)
def test_a_new_delete_for_a_replaced_file_is_a_conflict(kind: str, conflicts: bool):
    table, planned = start()
    run(table, RowDelta(deletes=[late_delete(table, kind)]))
    action = RewriteFiles([file(table, "a2")], [file(table, "a")], planned_on=planned.snapshot_id)
    if conflicts:
        with pytest.raises(ValidationException, match=r"late\.parquet"):
            run(table, action)
    else:
        assert live(run(table, action).metadata) == {"a2", "b", "late"}


def test_deletes_of_another_partition_are_no_conflict_for_a_replaced_file():
    table = make_table(["region"])
    table = run(table, AppendFiles([file(table, "a", "x")]))
    start = table.metadata.current_snapshot_id
    run(table, RowDelta(deletes=[positions(table, "late", "y")]))
    action = RewriteFiles([file(table, "a2", "x")], [file(table, "a", "x")], planned_on=start)
    assert live(run(table, action).metadata) == {"a2", "late"}


@pytest.mark.parametrize(
    ("of_file", "of_delete", "conflicts"),
    [(NAN, OTHER_NAN, True), (NAN, NAN, True), (0.0, -0.0, False), (-0.0, -0.0, True)],
)
def test_partitions_are_distinguished_by_bits_and_all_nans_are_equal(
    of_file: float, of_delete: float, conflicts: bool
):
    table = make_table(["v"])
    table = run(table, AppendFiles([file(table, "a", of_file)]))
    planned = Planned(table.metadata.current_snapshot_id, refuse_new_deletes=False)
    run(table, RowDelta(deletes=[positions(table, "late", of_delete)]))
    action = OverwriteFiles(
        [file(table, "a2", of_file)], [file(table, "a", of_file)], planned=planned
    )
    if conflicts:
        with pytest.raises(ValidationException, match=r"late\.parquet"):
            run(table, action)
    else:
        assert live(run(table, action).metadata) == {"a2", "late"}


def test_older_rows_that_come_into_the_nan_partition_keep_its_equality_deletes():
    table = make_table(["v"])
    old = equality_deletes([1], f"{table.metadata.location}/e.parquet", partition=(NAN,))
    table = run(table, RowDelta([file(table, "a", NAN)], [old]))
    start = table.metadata.current_snapshot_id
    converted = [one for one in entries(table.metadata) if one.data_file.equality_ids]
    late = [file(table, "late", OTHER_NAN)]
    run(
        table, RewriteFiles(late, [file(table, "a", NAN)], planned_on=start, data_sequence_number=0)
    )
    action = ReplaceDeletes([positions(table, "p", NAN)], converted, planned_on=start)
    with pytest.raises(ValidationException, match=r"late\.parquet"):
        run(table, action)


def test_a_starting_snapshot_that_is_no_ancestor_is_an_error():
    table, _ = start()
    action = RowDelta(deletes=[positions(table, "p")], planned=Planned(12345))
    with pytest.raises(ValidationException, match="not an ancestor"):
        run(table, action)


def test_snapshots_of_the_same_transaction_are_no_conflict():
    table, planned = start()
    action = RowDelta(deletes=[positions(table, "p")], planned=planned)
    table = run(table, AppendFiles([file(table, "c")]), action)
    assert live(table.metadata) == {"a", "b", "c", "p"}
