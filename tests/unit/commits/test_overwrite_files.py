"""Replacing files, and rows that match a predicate."""

from typing import Any

import pytest

from iceberg_spark.commits.append import AppendFiles
from iceberg_spark.commits.delete_files import DeleteFiles
from iceberg_spark.commits.overwrite_files import OverwriteFiles
from iceberg_spark.commits.row_delta import RowDelta
from iceberg_spark.errors import InvalidInputError, ValidationException
from iceberg_spark.expr.nodes import ALWAYS_TRUE, Unbound
from iceberg_spark.expr.parse import parse_predicate
from iceberg_spark.spec.types import DoubleType, LongType
from iceberg_spark.spec.values import to_bytes
from tests.builders import position_deletes
from tests.unit.commits.tables import (
    entries,
    file,
    live,
    make_table,
    manifests,
    metadata_names,
    referenced_names,
    reloaded,
    run,
)


def ids(low: int, high: int) -> dict[str, Any]:
    """Statistics of a file whose ids are in a range, and whose v are 1.5."""
    long, double = LongType(), DoubleType()
    return {
        "value_counts": {1: 10, 3: 10, 99: 10},
        "null_value_counts": {1: 0, 3: 0, 99: 4},
        "nan_value_counts": {3: 0},
        "column_sizes": {1: 80, 99: 7},
        "lower_bounds": {1: to_bytes(long, low), 3: to_bytes(double, 1.5), 99: b"old"},
        "upper_bounds": {1: to_bytes(long, high), 3: to_bytes(double, 1.5), 99: b"older"},
    }


def where(text: str) -> Unbound:
    return parse_predicate(text)


def test_files_are_replaced_by_others():
    table = make_table()
    table = run(table, AppendFiles([file(table, "a"), file(table, "b")]))
    table = run(table, OverwriteFiles([file(table, "c")], [file(table, "a")]))
    assert live(table.metadata) == {"b", "c"}
    snapshot = table.metadata.current_snapshot
    assert snapshot is not None
    wanted = {
        "operation": "overwrite",
        "added-data-files": "1",
        "deleted-data-files": "1",
        "added-records": "10",
        "deleted-records": "10",
        "total-records": "20",
        "total-data-files": "2",
    }
    assert wanted.items() <= snapshot.summary.items()
    assert metadata_names(table) == referenced_names(table.metadata)


@pytest.mark.parametrize(("add", "delete", "operation"), [("c", "", "append"), ("", "a", "delete")])
def test_the_operation_describes_the_change(add: str, delete: str, operation: str):
    table = make_table()
    table = run(table, AppendFiles([file(table, "a")]))
    action = OverwriteFiles([file(table, n) for n in add], [file(table, n) for n in delete])
    snapshot = run(table, action).metadata.current_snapshot
    assert snapshot is not None and snapshot.operation == operation


def test_a_file_that_another_commit_removed_is_a_conflict_and_nothing_stays():
    table = make_table()
    planned = run(table, AppendFiles([file(table, "a"), file(table, "b")]))
    table = run(planned, DeleteFiles([file(planned, "a").file_path]))
    before = metadata_names(table)
    with pytest.raises(ValidationException, match=r"a\.parquet is not in the table any more"):
        run(planned, OverwriteFiles([file(table, "c")], [file(table, "a"), file(table, "b")]))
    assert metadata_names(table) == before
    assert reloaded(table) == table


def test_only_manifests_that_hold_a_file_are_rewritten():
    table = make_table()
    for name in "abc":
        table = run(table, AppendFiles([file(table, name)], merge=False))
    before = {each.manifest_path for each in manifests(table.metadata)}
    table = run(table, OverwriteFiles([file(table, "d")], [file(table, "b")]))
    after = {each.manifest_path for each in manifests(table.metadata)}
    assert len(before & after) == 2
    assert live(table.metadata) == {"a", "c", "d"}


def test_a_rewritten_manifest_keeps_statistics_of_columns_that_we_do_not_know():
    table = make_table()
    kept = file(table, "a", **ids(1, 5))
    table = run(table, AppendFiles([kept, file(table, "b")]))
    table = run(table, DeleteFiles([file(table, "b").file_path]))
    (found,) = (
        e.data_file
        for e in entries(table.metadata)
        if e.data_file.record_count == 10 and e.data_file.file_path == kept.file_path
    )
    assert found == kept
    assert found.null_value_counts is not None and found.null_value_counts[99] == 4


def test_what_earlier_commits_deleted_is_left_out_of_a_rewritten_manifest():
    table = make_table()
    table = run(table, AppendFiles([file(table, n) for n in "abc"]))
    table = run(table, DeleteFiles([file(table, "a").file_path]))
    table = run(table, DeleteFiles([file(table, "b").file_path]))
    assert len(entries(table.metadata)) == 2
    assert live(table.metadata) == {"c"}


def test_a_manifest_without_live_files_is_dropped_by_the_next_change():
    table = make_table()
    table = run(table, AppendFiles([file(table, "a")], merge=False))
    table = run(table, AppendFiles([file(table, "b")], merge=False))
    table = run(table, DeleteFiles([file(table, "a").file_path]))
    assert len(manifests(table.metadata)) == 2
    table = run(table, OverwriteFiles([file(table, "c")]))
    assert len(manifests(table.metadata)) == 2
    assert live(table.metadata) == {"b", "c"}


def test_a_predicate_removes_the_files_whose_rows_all_match():
    table = make_table()
    rows = [file(table, "low", **ids(1, 5)), file(table, "high", **ids(6, 9))]
    table = run(table, AppendFiles(rows))
    table = run(table, OverwriteFiles([file(table, "new")], row_filter=where("id >= 6")))
    assert live(table.metadata) == {"low", "new"}


def test_a_file_that_matches_in_part_is_named_and_nothing_changes():
    table = make_table()
    table = run(table, AppendFiles([file(table, "both", **ids(1, 9))]))
    before = metadata_names(table)
    with pytest.raises(ValidationException, match=r"data/both\.parquet may hold rows that match"):
        run(table, OverwriteFiles([file(table, "new")], row_filter=where("id >= 6")))
    assert metadata_names(table) == before
    assert reloaded(table) == table


def test_the_partition_decides_before_statistics_do():
    table = make_table(["region"])
    rows = [file(table, "x", "x"), file(table, "y", "y"), file(table, "null", None)]
    table = run(table, AppendFiles(rows))
    table = run(table, OverwriteFiles(row_filter=where("region = 'x'")))
    assert live(table.metadata) == {"y", "null"}
    table = run(table, OverwriteFiles(row_filter=where("region is null")))
    assert live(table.metadata) == {"y"}


def test_what_the_partition_leaves_open_is_decided_by_statistics():
    table = make_table(["region"])
    rows = [
        file(table, "x-low", "x", **ids(1, 5)),
        file(table, "x-high", "x", **ids(6, 9)),
        file(table, "y-both", "y", **ids(1, 9)),
    ]
    table = run(table, AppendFiles(rows))
    table = run(table, OverwriteFiles(row_filter=where("region = 'x' and id > 5")))
    assert live(table.metadata) == {"x-low", "y-both"}


def test_everything_is_removed_by_true():
    table = make_table(["region"])
    table = run(table, AppendFiles([file(table, "a", "x"), file(table, "b", None)]))
    delete = position_deletes(f"{table.metadata.location}/d.parquet", partition=("x",))
    table = run(table, RowDelta(deletes=[delete]))
    table = run(table, OverwriteFiles([file(table, "c", "z")], row_filter=ALWAYS_TRUE))
    assert live(table.metadata) == {"c"}
    snapshot = table.metadata.current_snapshot
    assert snapshot is not None
    assert snapshot.summary["total-records"] == "10"
    assert snapshot.summary["total-delete-files"] == "0"


def test_a_predicate_that_matches_no_file_commits_nothing():
    table = make_table()
    table = run(table, AppendFiles([file(table, "a", **ids(1, 5))]))
    assert run(table, DeleteFiles(row_filter=where("id > 100"))) is table


def test_a_path_to_delete_that_is_not_there_is_named():
    table = make_table()
    with pytest.raises(ValidationException, match=r"/nope\.parquet is not in the table"):
        run(table, DeleteFiles(["/nope.parquet"]))


def test_delete_files_are_no_data_files():
    with pytest.raises(InvalidInputError, match="holds deletes"):
        OverwriteFiles([position_deletes()])
