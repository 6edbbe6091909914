"""Data files with deletes in groups for Spark's own reader, and what it can't read."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from iceberg_spark.scan.plan import ScanPlan
from iceberg_spark.spark.deletes import files_with_deletes as module
from iceberg_spark.spark.deletes.files_with_deletes import (
    EVERYWHERE,
    DeleteGroups,
    find_files_with_deletes,
)
from tests.limits import set_limits
from tests.unit.scan.entries import BY_ID, counts, data, equality, position, vector
from tests.unit.scan.tables import commit, new_table, planned, with_spec

ID, STRING, DOUBLE = 1, 2, 3


def find_groups(plan: ScanPlan) -> DeleteGroups:
    return find_files_with_deletes(plan, np.flatnonzero([len(task.delete_files) for task in plan]))


def names(plan: ScanPlan, rows: np.ndarray) -> list[str]:
    return [plan[row].file_path for row in rows.tolist()]


def test_files_of_each_kind_of_delete_are_a_group_of_their_own(tmp_path: Path) -> None:
    sizes = {name: {"file_size_in_bytes": 100 + at} for at, name in enumerate("abcd")}
    base = commit(new_table(tmp_path), [data(name, 1, **sizes[name]) for name in "ab"])
    base = commit(base, [equality("e", [ID], 2)])
    base = commit(base, [data(name, 3, **sizes[name]) for name in "cd"])
    deletes = [position(f"p{name}", 4, paths=(name, name)) for name in "bc"]
    plan = planned(commit(base, deletes))
    groups = find_groups(plan).groups
    assert [(g.has_positions, bool(g.equality), names(plan, g.rows)) for g in groups] == [
        (True, False, ["c"]),
        (False, True, ["a"]),
        (True, True, ["b"]),
    ]
    assert [group.needs_file for group in groups] == [True, False, True]
    assert [group.file_key for group in groups] == ["file_size"] * 3


def test_only_files_that_share_a_size_are_told_by_path(tmp_path: Path) -> None:
    files = [data("a", 1), data("b", 1), data("c", 1, file_size_in_bytes=7)]
    base = commit(new_table(tmp_path), files)
    deletes = [position(f"p{name}", 2, paths=(name, name)) for name in "abc"]
    plan = planned(commit(base, deletes))
    found = {group.file_key: names(plan, group.rows) for group in find_groups(plan).groups}
    assert found == {"file_size": ["c"], "file_path": ["a", "b"]}


def test_sequence_numbers_count_where_a_delete_is_not_younger_than_every_file(
    tmp_path: Path,
) -> None:
    base = commit(new_table(tmp_path), [data("a", 1)])
    base = commit(base, [equality("e", [ID], 2)])
    (group,) = find_groups(planned(base)).groups
    assert [d.by_sequence for d in group.equality] == [False] and not group.needs_file
    base = commit(commit(base, [data("b", 3)]), [equality("f", [ID], 4)])
    (group,) = find_groups(planned(base)).groups
    assert [d.by_sequence for d in group.equality] == [True] and group.needs_file


def test_every_set_of_key_columns_is_one_set_of_deletes(tmp_path: Path) -> None:
    base = commit(new_table(tmp_path), [data("a", 1)])
    files = [
        equality("e", [ID], 2),
        equality("f", [STRING, ID], 2),
        equality("g", [ID, STRING], 2),
        equality("h", [ID], 2),
    ]
    (group,) = find_groups(planned(commit(base, files))).groups
    found = [(len(d.keys), [file.file_path for file in d.files]) for d in group.equality]
    assert found == [(1, ["e", "h"]), (2, ["f", "g"])]
    assert [leaf.field_id for leaf in group.keys] == [ID, STRING]


def test_partitions_count_where_deletes_or_files_lie_in_several(tmp_path: Path) -> None:
    base = new_table(tmp_path, ["id"])
    base = commit(base, [data("a", 1, [1]), data("b", 1, [2])])
    one = commit(base, [equality("e", [STRING], 2, [1])])
    (group,) = find_groups(planned(one)).groups
    assert names(planned(one), group.rows) == ["a"]
    assert [d.by_scope for d in group.equality] == [False]
    two = commit(one, [equality("f", [STRING], 2, [2])])
    (group,) = find_groups(planned(two)).groups
    assert [d.by_scope for d in group.equality] == [True]
    (deletes,) = group.equality
    assert sorted(deletes.scopes) == sorted(group.scopes.tolist()) == [0, 1]


def test_a_global_delete_is_apart_from_those_of_a_partition(tmp_path: Path) -> None:
    base = new_table(tmp_path)
    base = with_spec(base, replace(BY_ID, spec_id=1))
    base = commit(base, [data("a", 1, [1])], spec_id=1)
    base = commit(base, [equality("p", [STRING], 2, [1])], spec_id=1)
    plan = planned(commit(base, [equality("g", [STRING], 2)]))
    (group,) = find_groups(plan).groups
    found = {deletes.files[0].file_path: deletes.scopes for deletes in group.equality}
    assert found == {"p": (0,), "g": (EVERYWHERE,)}
    assert not any(deletes.by_scope for deletes in group.equality)


def test_float_keys_are_refused(tmp_path: Path) -> None:
    """Spark's `<=>` takes 0.0 = -0.0, and the specification does not."""
    base = commit(new_table(tmp_path), [data("a", 1), data("b", 3)])
    base = commit(base, [equality("e", [DOUBLE], 2)])
    base = commit(base, [equality("f", [ID], 4)])
    plan = planned(base)
    found = find_groups(plan)
    assert found.refused == {0: "equality deletes by 'x': Spark takes 0.0 and -0.0 for equal"}
    assert [names(plan, group.rows) for group in found.groups] == [["b"]]


@pytest.mark.parametrize(
    ("limit", "reason"),
    [("deletes", "10 position deletes"), ("bitmap_bytes", "bitmaps of")],
)
def test_what_the_driver_would_hold_is_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, reason: str
) -> None:
    base = commit(new_table(tmp_path), [data("a", 1), data("b", 1)])
    plan = planned(commit(base, [position("p", 2, paths=("a", "a"))]))
    assert find_groups(plan).refused == {}
    set_limits(monkeypatch, module, "POSITIONS", **{limit: 0})
    assert find_groups(plan).refused[0].startswith(reason)


@pytest.mark.parametrize(("counted", "may_be"), [({"id": 0}, False), ({"id": 2}, True), ({}, True)])
def test_keys_may_be_null_unless_statistics_say_not(
    tmp_path: Path, counted: dict[str, int], may_be: bool
) -> None:
    base = commit(new_table(tmp_path), [data("a", 1)])
    known = counts("null_value_counts", **counted) if counted else {}
    plan = planned(commit(base, [equality("e", [ID], 2, **known)]))
    (group,) = find_groups(plan).groups
    assert group.equality[0].may_be_null == (may_be,)


def test_positions_of_vectors_count_less_than_those_of_delete_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_limits(monkeypatch, module, "POSITIONS", deletes=10, vector_positions=20)
    base = commit(new_table(tmp_path), [data("a"), data("b", record_count=500)])
    several = [vector("a", 2, record_count=10), vector("b", 2, record_count=190)]
    base = commit(base, several, operation="delete", format_version=3)
    assert find_groups(planned(base)).refused == {}
    set_limits(monkeypatch, module, "POSITIONS", deletes=9)
    assert find_groups(planned(base)).refused.keys() == {0, 1}
