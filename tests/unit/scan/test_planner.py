"""Planning, from the manifest list to tasks (specification: "Scan Planning")."""

import pickle
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from iceberg_spark.errors import CorruptFileError, NoSuchFileError, UnsupportedError
from iceberg_spark.expr.nodes import ALWAYS_TRUE
from iceberg_spark.expr.to_text import to_text
from iceberg_spark.manifest.reader import read_manifest
from iceberg_spark.scan import prune_manifests
from iceberg_spark.scan.column_stats import MAP_OF
from iceberg_spark.scan.split import SplitOptions
from iceberg_spark.scan.task import FileScanTask
from iceberg_spark.spec.partition import PartitionSpec
from iceberg_spark.spec.transform_text import parse_partition_spec
from iceberg_spark.spec.transforms import UnknownTransform
from tests.limits import set_limits
from tests.unit.scan.entries import COLUMNS, bounds, counts, data, equality, position, vector
from tests.unit.scan.tables import commit, new_table, paths, planned, with_spec, without

EXISTING, DELETED = 0, 2


def test_an_empty_table_has_no_files(tmp_path: Path) -> None:
    found = planned(new_table(tmp_path))
    assert (len(found), found.record_count, list(found)) == (0, 0, [])


def test_deleted_entries_are_not_planned(tmp_path: Path) -> None:
    base = commit(
        new_table(tmp_path), [data("a"), data("b", status=DELETED), data("c", status=EXISTING)]
    )
    assert paths(planned(base)) == ["a", "c"]


def test_files_come_in_the_order_of_the_manifests(tmp_path: Path) -> None:
    base = commit(new_table(tmp_path), [data("a"), data("b")], [data("c")])
    assert paths(planned(commit(base, [data("d")]))) == ["a", "b", "c", "d"]


def test_a_task_carries_what_the_manifest_says(tmp_path: Path) -> None:
    base = commit(new_table(tmp_path, ["id"]), [data("a", 1, [7], record_count=3)])
    (task,) = planned(base)
    assert (task.file_path, task.partition, task.spec_id, task.record_count) == ("a", (7,), 0, 3)
    assert (task.start, task.length, task.data_sequence_number) == (0, 100, 1)
    assert task.is_whole_file


def test_manifests_are_skipped_by_their_partition_summaries(tmp_path: Path) -> None:
    base = commit(
        new_table(tmp_path, ["id"]), [data("a", 1, [1]), data("b", 1, [2])], [data("c", 1, [5])]
    )
    (tmp_path / "1-0-0.avro").unlink()
    found = planned(base, "id = 5")
    assert paths(found) == ["c"]
    assert (found.metrics.total_data_manifests, found.metrics.scanned_data_manifests) == (2, 1)
    assert found.metrics.skipped_files_in_manifests == 2


def test_manifests_without_summaries_are_opened(tmp_path: Path) -> None:
    base = commit(new_table(tmp_path, ["id"]), [data("a", 1, [1])], change={"partitions": None})
    found = planned(base, "id = 5")
    assert (paths(found), found.metrics.scanned_data_manifests) == ([], 1)


def test_manifests_without_live_files_by_their_counts_are_not_opened(tmp_path: Path) -> None:
    base = commit(new_table(tmp_path), [data("a")], [data("b", status=DELETED)])
    (tmp_path / "1-0-1.avro").unlink()
    assert paths(planned(base)) == ["a"]


def test_files_are_skipped_by_partition(tmp_path: Path) -> None:
    base = commit(new_table(tmp_path, ["id"]), [data(str(k), 1, [k]) for k in (1, 2, 3, None)])
    found = planned(base, "id >= 2")
    assert paths(found) == ["2", "3"]
    assert found.metrics.skipped_files_by_partition == 2
    assert found.metrics.skipped_file_size_in_bytes == 200


def test_files_are_skipped_by_bounds(tmp_path: Path) -> None:
    files = [data(f"{low}", **bounds(id=(low, low + 9))) for low in (0, 10, 20)]
    found = planned(commit(new_table(tmp_path), files), "id between 8 and 12")
    assert paths(found) == ["0", "10"]
    assert found.metrics.skipped_files_by_metrics == 1


def test_files_are_skipped_by_null_counts(tmp_path: Path) -> None:
    files = [
        data("some", **counts("null_value_counts", s=3)),
        data("none", **counts("null_value_counts", s=0)),
        data("unknown"),
    ]
    base = commit(new_table(tmp_path), files)
    assert paths(planned(base, "s is null")) == ["some", "unknown"]


def test_bounds_of_a_file_with_nan_do_not_skip_larger_values(tmp_path: Path) -> None:
    files = [
        data("nan", **bounds(x=(1.0, 2.0)), **counts("nan_value_counts", x=1)),
        data("none", **bounds(x=(1.0, 2.0)), **counts("nan_value_counts", x=0)),
    ]
    assert paths(planned(commit(new_table(tmp_path), files), "x > 5")) == ["nan"]


def test_a_truncated_upper_bound_keeps_the_file(tmp_path: Path) -> None:
    base = commit(new_table(tmp_path), [data("a", **bounds(s=("aaa", "aab")))])
    assert paths(planned(base, "s = 'aaazzz'")) == ["a"]


def test_bounds_written_before_a_promotion_are_decoded(tmp_path: Path) -> None:
    narrow = {
        "lower_bounds": [{"key": 1, "value": (1).to_bytes(4, "little")}],
        "upper_bounds": [{"key": 1, "value": (9).to_bytes(4, "little")}],
    }
    base = commit(new_table(tmp_path), [data("int", **narrow), data("long", **bounds(id=(1, 90)))])
    assert paths(planned(base, "id = 50")) == ["long"]


def test_a_filter_that_the_partition_proves_leaves_no_residual(tmp_path: Path) -> None:
    base = commit(new_table(tmp_path, ["id"]), [data(str(k), 1, [k]) for k in (1, 2)])
    found = planned(base, "id >= 2")
    assert [task.residual for task in found] == [ALWAYS_TRUE]
    assert found.record_count == 10


def test_what_the_partition_does_not_prove_is_left(tmp_path: Path) -> None:
    base = commit(new_table(tmp_path, ["id"]), [data(str(k), 1, [k]) for k in (1, 2)])
    found = planned(base, "id = 1 and s = 'x' or id = 2")
    assert [to_text(task.residual) for task in found] == ["s = 'x'", "true"]
    assert found.record_count is None
    assert found.metrics.files_with_residual == 1


@pytest.mark.parametrize(
    ("row_filter", "partition_by", "are_needed"),
    [
        ("id >= 2 and id < 19", ["id"], False),
        ("id > 3 and s is null or id = 9", ["id", "s"], False),
        ("id = 10 and x > 1", ["id"], True),
        ("id < 15", ["truncate(10, id)"], True),
    ],
)
def test_statistics_are_decoded_only_for_what_partitions_leave_open(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    row_filter: str,
    partition_by: list[str],
    are_needed: bool,
) -> None:
    base = commit(
        new_table(tmp_path, partition_by), [data("f", 1, [10, None][: len(partition_by)])]
    )
    decoded: set[str] = set()

    def spy(*args: Any, columns: Collection[str]) -> Any:
        decoded.update(columns)
        return read_manifest(*args, columns=columns)

    monkeypatch.setattr(prune_manifests, "read_manifest", spy)
    assert paths(planned(base, row_filter)) == ["f"]
    statistics = {name.partition(".")[0] for name in decoded} & set(MAP_OF.values())
    assert bool(statistics) == are_needed


def decoded_maps(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The maps of statistics that planning decodes from now on."""
    maps: set[str] = set()

    def spy(*args: Any, columns: Collection[str]) -> Any:
        maps.update({name.partition(".")[0] for name in columns} & set(MAP_OF.values()))
        return read_manifest(*args, columns=columns)

    monkeypatch.setattr(prune_manifests, "read_manifest", spy)
    return maps


BOUNDS = {"lower_bounds", "upper_bounds"}


@pytest.mark.parametrize(
    ("row_filter", "maps"),
    [
        ("id = 5 AND s < 'm'", BOUNDS),
        ("id IN (5, 6) OR s LIKE 'b%'", BOUNDS),
        ("id = 5 AND s IS NOT NULL", {*BOUNDS, "null_value_counts", "value_counts"}),
        ("x > 5", {*BOUNDS, "null_value_counts", "value_counts", "nan_value_counts"}),
    ],
)
def test_counts_are_decoded_only_where_bounds_do_not_decide(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, row_filter: str, maps: set[str]
) -> None:
    files = [data("f", **bounds(id=(1, 9), s=("a", "z"), x=(1.0, 9.0)))]
    base = commit(new_table(tmp_path), files)
    decoded = decoded_maps(monkeypatch)
    assert paths(planned(base, row_filter)) == ["f"]
    assert decoded == maps


def test_files_without_bounds_are_skipped_by_their_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nulls = {
        "value_counts": counts("value_counts", id=10)["value_counts"],
        "null_value_counts": counts("null_value_counts", id=10)["null_value_counts"],
    }
    with_bounds = [data("5", **bounds(id=(5, 5))), data("7", **bounds(id=(7, 7)))]
    without_bounds = [data("nulls", **nulls), data("unknown"), data("6", **bounds(id=(6, 6)))]
    base = commit(new_table(tmp_path), with_bounds, without_bounds, with_bounds[:1])
    decoded = decoded_maps(monkeypatch)
    assert paths(planned(base, "id = 5")) == ["5", "unknown", "5"]
    assert decoded == {*BOUNDS, "value_counts", "null_value_counts"}


def test_a_range_within_a_partition_is_pruned_by_bounds(tmp_path: Path) -> None:
    files = [
        data(f"{low}", 1, [low - low % 10], **bounds(id=(low, low + 1))) for low in (4, 10, 18)
    ]
    base = commit(new_table(tmp_path, ["truncate(10, id)"]), files)
    assert paths(planned(base, "id < 15")) == ["4", "10"]
    assert paths(planned(base, "id < 10 or id = 18")) == ["4", "18"]


def test_each_manifest_is_pruned_by_the_spec_it_was_written_with(tmp_path: Path) -> None:
    spec = PartitionSpec(1, parse_partition_spec(["truncate(10, id)"], COLUMNS).fields)
    base = commit(
        with_spec(new_table(tmp_path, ["id"]), spec), [data("1", 1, [1]), data("15", 1, [15])]
    )
    base = commit(base, [data("0-9", 2, [0]), data("10-19", 2, [10])], spec_id=1)
    found = planned(base, "id = 15")
    assert paths(found) == ["15", "10-19"]
    assert [to_text(task.residual) for task in found] == ["true", "id = 15"]


def test_an_unknown_transform_prunes_nothing(tmp_path: Path) -> None:
    spec = parse_partition_spec(["id"], COLUMNS).fields[0]
    odd = PartitionSpec(1, (replace(spec, transform=UnknownTransform("zorder")),))
    base = commit(with_spec(new_table(tmp_path), odd), [data("a", 1, ["x"])], spec_id=1)
    found = planned(base, "id = 15")
    assert (paths(found), [task.partition for task in found]) == (["a"], [("x",)])


def test_deletes_are_attached_to_their_files(tmp_path: Path) -> None:
    base = commit(new_table(tmp_path), [data("a", 1), data("b", 1)])
    base = commit(base, [position("p", 2, paths=("a", "a")), equality("e", [1], 2)])
    found = planned(commit(base, [data("c", 3)]))
    assert [[one.file_path for one in task.delete_files] for task in found] == [
        ["p", "e"],
        ["e"],
        [],
    ]
    assert found.record_count is None
    assert (found.metrics.position_delete_files, found.metrics.equality_delete_files) == (1, 1)
    assert (found.metrics.result_delete_files, found.metrics.files_with_deletes) == (2, 2)


def test_delete_manifests_older_than_all_matched_data_are_not_opened(tmp_path: Path) -> None:
    base = commit(new_table(tmp_path), [data("a", 1)])
    base = commit(base, [position("p", 2)], operation="delete")
    rewritten = [data("b", 3), data("a", 1, status=DELETED)]
    base = without(commit(base, rewritten), "1-0-0.avro")
    (tmp_path / "2-0-0.avro").unlink()
    found = planned(base)
    assert (paths(found), found.metrics.skipped_delete_manifests) == (["b"], 1)


def test_delete_files_older_than_all_matched_data_are_not_indexed(tmp_path: Path) -> None:
    base = commit(new_table(tmp_path), [data("a", 5)])
    deletes = [
        position("old", 4),
        position("p", 5),
        equality("same", [1], 5),
        equality("e", [1], 6),
    ]
    found = planned(commit(base, deletes, change={"sequence_number": 6}))
    assert found.metrics.skipped_delete_files == 2
    assert [one.file_path for one in found[0].delete_files] == ["p", "e"]


def test_delete_files_of_partitions_that_can_not_match_are_skipped(tmp_path: Path) -> None:
    base = commit(new_table(tmp_path, ["id"]), [data("a", 1, [1]), data("b", 1, [2])])
    base = commit(base, [position("p1", 2, [1]), position("p2", 2, [2])], operation="delete")
    found = planned(base, "id = 2")
    assert (found.metrics.indexed_delete_files, found.metrics.skipped_delete_files) == (1, 1)
    assert [one.file_path for one in found[0].delete_files] == ["p2"]


def test_equality_deletes_whose_key_bounds_miss_the_filter_are_skipped(tmp_path: Path) -> None:
    base = commit(new_table(tmp_path), [data("a", 1)])
    known = counts("null_value_counts", id=0)
    base = commit(
        base,
        [
            equality("low", [1], 2, **bounds(id=(1, 4)), **known),
            equality("high", [1], 2, **bounds(id=(5, 9)), **known),
            equality("other", [2], 2, **bounds(id=(1, 4)), **known),
        ],
    )
    found = planned(base, "id = 9")
    assert [one.file_path for one in found[0].delete_files] == ["high", "other"]


def test_no_matching_data_opens_no_deletes(tmp_path: Path) -> None:
    base = commit(new_table(tmp_path, ["id"]), [data("a", 1, [1])])
    base = commit(base, [position("p", 2, [1])], operation="delete")
    assert planned(base, "id = 9").metrics.scanned_delete_manifests == 0


def test_a_deletion_vector_matters_only_for_its_file(tmp_path: Path) -> None:
    base = commit(new_table(tmp_path, ["id"]), [data("a", 1, [1]), data("b", 1, [2])])
    base = commit(base, [vector("a", 2, [1])], operation="delete", format_version=3)
    assert [len(task.delete_files) for task in planned(base, "id = 2")] == [0]
    (delete,) = planned(base, "id = 1")[0].delete_files
    assert (delete.key, delete.content_size_in_bytes) == (("v.puffin", 4, "a"), 40)
    metrics = planned(base).metrics
    assert (metrics.deletion_vectors, metrics.position_delete_files) == (1, 0)
    assert metrics.total_delete_file_size_in_bytes == 40


def test_rows_that_deletion_vectors_delete_are_counted_from_metadata(tmp_path: Path) -> None:
    base = commit(new_table(tmp_path), [data("a"), data("b")])
    base = commit(base, [vector("a", 2)], operation="delete", format_version=3)
    assert planned(base).record_count == 17
    beyond = commit(base, [vector("b", 3, record_count=11)], operation="delete", format_version=3)
    assert planned(beyond).record_count is None
    more = commit(beyond, [position("p", 4)], operation="delete")
    assert planned(more).record_count is None


@pytest.mark.parametrize("deleted", [0, -1])
def test_a_vector_of_no_row_is_read_to_count_rows(tmp_path: Path, deleted: int) -> None:
    base, lies = commit(new_table(tmp_path), [data("a")]), vector("a", 2, record_count=deleted)
    changed = commit(base, [lies], operation="delete", format_version=3)
    assert planned(changed).record_count is None


def test_a_file_of_an_unknown_format_is_an_error_that_names_it(tmp_path: Path) -> None:
    base = commit(new_table(tmp_path), [data("a"), data("odd", file_format="P\0RQUET")])
    with pytest.raises(CorruptFileError, match="File odd has an unknown FileFormat"):
        list(planned(base))
    base = commit(new_table(tmp_path / "deletes"), [data("a")])
    base = commit(base, [position("odd", 2, file_format="LANCE")], operation="delete")
    with pytest.raises(CorruptFileError, match="File odd has an unknown FileFormat"):
        list(planned(base))


def test_an_encrypted_snapshot_is_refused(tmp_path: Path) -> None:
    base = commit(new_table(tmp_path), [data("a")])
    locked = replace(base, snapshots={1: replace(base.snapshots[1], key_id="k1")})
    with pytest.raises(UnsupportedError, match="encrypted"):
        planned(locked)


def test_a_manifest_of_an_unknown_spec_is_corrupt_metadata(tmp_path: Path) -> None:
    base = commit(new_table(tmp_path), [data("a")], change={"partition_spec_id": 9})
    with pytest.raises(CorruptFileError, match="partition spec 9"):
        planned(base)


def test_a_missing_manifest_is_named(tmp_path: Path) -> None:
    base = commit(new_table(tmp_path), [data("a")])
    (tmp_path / "1-0-0.avro").unlink()
    with pytest.raises(NoSuchFileError, match=r"1-0-0\.avro"):
        planned(base)


def test_chunks_of_any_size_plan_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    base = new_table(tmp_path, ["id"])
    for number in range(1, 6):
        base = commit(base, [data(f"{number}{k}", number, [k]) for k in range(3)])
    base = commit(base, [position(f"p{k}", 3, [k]) for k in range(2)], operation="delete")
    whole = list(planned(base, "id > 0 and s = 'x'"))
    set_limits(monkeypatch, prune_manifests, "PLANNING", entries_at_once=4)
    assert list(planned(base, "id > 0 and s = 'x'")) == whole
    assert [len(task.delete_files) for task in whole] == [1, 0] * 3 + [0, 0] * 2


def test_a_plan_is_a_sequence(tmp_path: Path) -> None:
    found = planned(commit(new_table(tmp_path), [data(name) for name in "abc"]))
    assert [found[0].file_path, found[-1].file_path] == ["a", "c"]
    assert [task.file_path for task in found[1:]] == ["b", "c"]
    with pytest.raises(IndexError, match="3 files"):
        found[3]


def test_tasks_made_from_columns_are_ordinary_tasks(tmp_path: Path) -> None:
    (task,) = planned(commit(new_table(tmp_path), [data("a")]))
    assert task == replace(task)
    assert pickle.loads(pickle.dumps(task)) == task
    assert hash(task) == hash(
        FileScanTask(**{name: getattr(task, name) for name in task.__slots__})
    )


def test_groups_hold_about_the_split_size(tmp_path: Path) -> None:
    found = planned(commit(new_table(tmp_path), [data(name) for name in "abcde"]))
    groups = found.groups(SplitOptions(250, 10, 1))
    assert [[task.file_path for task in group] for group in groups] == [
        ["a", "b"],
        ["c", "d"],
        ["e"],
    ]


def test_a_group_counts_the_deletes_of_its_files(tmp_path: Path) -> None:
    base = commit(new_table(tmp_path), [data("a"), data("b")])
    base = commit(base, [position("p", 2, paths=("a", "a"))], operation="delete")
    assert len(planned(base).groups(SplitOptions(250, 10, 1))) == 2


def test_parts_of_a_file_know_their_row_groups(tmp_path: Path) -> None:
    base = commit(new_table(tmp_path), [data("a", split_offsets=[4, 40, 70])])
    tasks = [task for group in planned(base).groups(SplitOptions(70, 10, 1)) for task in group]
    assert [(task.start, task.length) for task in tasks] == [(0, 70), (70, 30)]
    assert [task.split_offsets for task in tasks] == [(4, 40), (70,)]
    assert planned(base)[0].split_offsets == ()


def test_the_split_size_adapts_to_the_slots(tmp_path: Path) -> None:
    size = 64 * 1024 * 1024
    files = [data(name, file_size_in_bytes=size, split_offsets=[4, size // 2]) for name in "ab"]
    found = planned(commit(new_table(tmp_path), files))
    wide = SplitOptions(2 * size, 10, 1)
    assert len(found.groups(wide)) == 1
    assert len(found.groups(replace(wide, parallelism=4))) == 4


def test_a_task_with_deletes_and_a_residual_is_small(tmp_path: Path) -> None:
    folder = "s3://a-bucket-with-a-long-name/warehouse/database/table/data/ts_day=2024-01-01"
    path = f"{folder}/00001-2-7847972a-8607-4163-a844-c942323764fe-0-00001"
    base = commit(new_table(tmp_path, ["id"]), [data(f"{path}.parquet", 1, [1])])
    deletes = [position(f"{path}-deletes-{at}.parquet", 2, [1]) for at in range(3)]
    base = commit(base, deletes, operation="delete")
    (task,) = planned(base, "s in ('x', 'y') and x > 1.5")
    assert len(task.delete_files) == 3
    assert len(pickle.dumps(task)) < 2 * 1024
