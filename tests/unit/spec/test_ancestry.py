"""Ancestors, time travel, and lookups in metadata."""

import dataclasses

import pytest

from iceberg_spark.errors import CorruptFileError, InvalidInputError, NoSuchSnapshotError
from iceberg_spark.spec.ancestry import ancestors, ancestors_between, is_ancestor_of, snapshot_at
from iceberg_spark.spec.snapshot import SnapshotLogEntry
from tests.builders import metadata, snapshot


def table(parents, log=()):
    found = {one: snapshot(one, one, parent_snapshot_id=parent) for one, parent in parents.items()}
    entries = tuple(SnapshotLogEntry(one, time) for one, time in log)
    return dataclasses.replace(metadata(), snapshots=found, snapshot_log=entries)


CHAIN = table({1: None, 2: 1, 3: 2, 4: 2})


def ids(snapshots):
    return [one.snapshot_id for one in snapshots]


def test_ancestors_go_back_to_the_first():
    assert ids(ancestors(CHAIN, 3)) == [3, 2, 1]


def test_ancestors_end_where_one_has_expired():
    assert ids(ancestors(table({5: 4}), 5)) == [5]


def test_an_unknown_snapshot_is_named():
    with pytest.raises(NoSuchSnapshotError, match="No snapshot 9"):
        list(ancestors(CHAIN, 9))


def test_a_circle_of_parents_is_corrupt():
    with pytest.raises(CorruptFileError, match="its own ancestor"):
        list(ancestors(table({1: 2, 2: 1}), 1))


def test_a_snapshot_is_its_own_ancestor_but_not_its_siblings():
    assert is_ancestor_of(CHAIN, 3, 3)
    assert is_ancestor_of(CHAIN, 3, 1)
    assert not is_ancestor_of(CHAIN, 3, 4)


def test_between_excludes_the_start():
    assert ids(ancestors_between(CHAIN, 3, 1)) == [3, 2]
    assert ids(ancestors_between(CHAIN, 3, 3)) == []
    assert ids(ancestors_between(CHAIN, 3, None)) == [3, 2, 1]
    assert ids(ancestors_between(table({3: 2}), 3, 2)) == [3]


def test_between_needs_an_ancestor():
    with pytest.raises(InvalidInputError, match="4 is not an ancestor of snapshot 3"):
        ancestors_between(CHAIN, 3, 4)


TIMES = table({1: None, 2: 1, 3: 2}, [(1, 100), (2, 200), (3, 300), (1, 400)])


@pytest.mark.parametrize(
    ("time", "expected"), [(100, 1), (199, 1), (200, 2), (300, 3), (399, 3), (400, 1), (9999, 1)]
)
def test_the_snapshot_log_says_what_was_current(time, expected):
    assert snapshot_at(TIMES, time).snapshot_id == expected


def test_before_the_log_there_is_nothing():
    with pytest.raises(NoSuchSnapshotError, match=r"as of 99 .* first one known is of 100"):
        snapshot_at(TIMES, 99)


def test_an_empty_log_is_said():
    with pytest.raises(NoSuchSnapshotError, match="snapshot log is empty"):
        snapshot_at(metadata(), 99)


def test_a_logged_snapshot_may_have_expired():
    with pytest.raises(NoSuchSnapshotError, match="No snapshot 1"):
        snapshot_at(table({2: 1}, [(1, 100), (2, 200)]), 150)
