"""Updates of snapshots, references, statistics and the logs."""

import pytest

from iceberg_spark.catalog.metadata_log import add_metadata_log_entry
from iceberg_spark.errors import CommitFailedException, ValidationException
from iceberg_spark.spec import updates as u
from iceberg_spark.spec.apply_definitions import ApplyState
from iceberg_spark.spec.apply_updates import apply
from iceberg_spark.spec.snapshot import MetadataLogEntry, SnapshotLogEntry
from tests.builders import CREATED_MS, branch, metadata, snapshot, tag

NOW = CREATED_MS + 5000


def changed(base, *updates, now_ms=NOW):
    return apply(base, updates, now_ms=now_ms)


def committed(base, one, ref="main"):
    return changed(base, u.AddSnapshot(one), u.SetSnapshotRef(ref, branch(one.snapshot_id)))


@pytest.fixture(scope="module")
def two():
    first = committed(metadata(), snapshot(1, 1))
    return committed(first, snapshot(2, 2, parent_snapshot_id=1))


def log_ids(after):
    return [entry.snapshot_id for entry in after.snapshot_log]


def test_main_moves_the_current_snapshot_and_the_log(two):
    assert two.current_snapshot_id == 2
    assert two.last_sequence_number == 2
    assert two.snapshot_log == (
        SnapshotLogEntry(1, CREATED_MS + 1),
        SnapshotLogEntry(2, CREATED_MS + 2),
    )


def test_a_snapshot_alone_is_staged(two):
    after = changed(two, u.AddSnapshot(snapshot(3, 3, parent_snapshot_id=2)))
    assert after.current_snapshot_id == 2
    assert after.last_sequence_number == 3


def test_another_branch_leaves_main_alone(two):
    after = committed(two, snapshot(3, 3, parent_snapshot_id=2), ref="audit")
    assert after.current_snapshot_id == 2
    assert after.refs["audit"] == branch(3)
    assert log_ids(after) == [1, 2]


def test_a_snapshot_id_is_used_once(two):
    with pytest.raises(ValidationException, match="a snapshot 2 already"):
        changed(two, u.AddSnapshot(snapshot(2, 3)))


@pytest.mark.parametrize("number", [1, 2])
def test_the_sequence_number_must_grow(two, number):
    with pytest.raises(CommitFailedException, match=f"sequence number {number}, .* not above .* 2"):
        changed(two, u.AddSnapshot(snapshot(3, number, parent_snapshot_id=2)))


def test_a_first_snapshot_may_have_a_lower_sequence_number_which_lowers_nothing(two):
    assert changed(two, u.AddSnapshot(snapshot(3, 1))).last_sequence_number == 2


def test_v1_has_no_sequence_numbers():
    base = metadata(format_version=1)
    assert changed(base, u.AddSnapshot(snapshot(1, 0))).last_sequence_number == 0
    with pytest.raises(ValidationException, match="v1 has no sequence numbers"):
        changed(base, u.AddSnapshot(snapshot(1, 1)))


def test_a_snapshot_is_at_most_a_minute_older_than_the_table(two):
    late = u.AddSnapshot(snapshot(3, 3, timestamp_ms=NOW - 60_000))
    assert 3 in changed(two, late).snapshots
    with pytest.raises(ValidationException, match="more than a minute before"):
        changed(two, u.AddSnapshot(snapshot(3, 3, timestamp_ms=NOW - 60_001)))


def test_v3_snapshots_take_row_ids():
    base = metadata(format_version=3)
    first = changed(base, u.AddSnapshot(snapshot(1, 1, first_row_id=0, added_rows=10)))
    assert first.next_row_id == 10
    with pytest.raises(CommitFailedException, match=r"first row id 9, .* next row id 10"):
        changed(first, u.AddSnapshot(snapshot(2, 2, first_row_id=9, added_rows=1)))
    with pytest.raises(ValidationException, match=r"needs first-row-id and added-rows"):
        changed(first, u.AddSnapshot(snapshot(2, 2)))


def test_a_reference_needs_its_snapshot(two):
    with pytest.raises(ValidationException, match="'b' to unknown snapshot 9"):
        changed(two, u.SetSnapshotRef("b", branch(9)))


def test_main_is_a_branch(two):
    with pytest.raises(ValidationException, match="'main' can't be a tag"):
        changed(two, u.SetSnapshotRef("main", tag(1)))


def test_retention_is_positive(two):
    with pytest.raises(ValidationException, match="'max-ref-age-ms' must be positive"):
        changed(two, u.SetSnapshotRef("b", tag(1, max_ref_age_ms=0)))


def test_going_back_is_logged_at_the_present(two):
    after = changed(two, u.SetSnapshotRef("main", branch(1)), now_ms=NOW + 7)
    assert after.current_snapshot_id == 1
    assert after.snapshot_log[-1] == SnapshotLogEntry(1, NOW + 7)


def test_a_new_retention_of_main_is_not_logged(two):
    after = changed(two, u.SetSnapshotRef("main", branch(2, min_snapshots_to_keep=3)))
    assert after.snapshot_log == two.snapshot_log


def test_snapshots_replaced_in_the_same_commit_are_not_logged(two):
    after = changed(
        two,
        u.AddSnapshot(snapshot(3, 3, parent_snapshot_id=2)),
        u.SetSnapshotRef("main", branch(3)),
        u.AddSnapshot(snapshot(4, 4, parent_snapshot_id=3)),
        u.SetSnapshotRef("main", branch(4)),
    )
    assert log_ids(after) == [1, 2, 4]
    assert list(after.snapshots) == [1, 2, 3, 4]


def test_a_removed_snapshot_takes_the_history_before_it_along(two):
    three = committed(two, snapshot(3, 3, parent_snapshot_id=2))
    after = changed(three, u.RemoveSnapshots((2,)))
    assert list(after.snapshots) == [1, 3]
    assert log_ids(after) == [3]


def test_references_to_a_removed_snapshot_go_with_it(two):
    tagged = changed(two, u.SetSnapshotRef("old", tag(1)))
    after = changed(tagged, u.RemoveSnapshots((1,)))
    assert list(after.refs) == ["main"]
    assert after.current_snapshot_id == 2


def test_removing_the_current_snapshot_leaves_none(two):
    after = changed(two, u.RemoveSnapshots((2,)))
    assert after.current_snapshot_id is None
    assert after.refs == {}
    assert log_ids(after) == []


def test_removing_what_is_not_there_changes_nothing(two):
    assert changed(two, u.RemoveSnapshots((9,)), u.RemoveSnapshotRef("x")) is two


def test_a_reference_is_removed(two):
    tagged = changed(two, u.SetSnapshotRef("old", tag(1)))
    assert changed(tagged, u.RemoveSnapshotRef("old")).refs == two.refs
    assert changed(two, u.RemoveSnapshotRef("main")).current_snapshot_id is None


def test_references_that_are_removed_together_copy_the_others_once(two, monkeypatch):
    names = [f"b{number}" for number in range(50)]
    tagged = changed(two, *(u.SetSnapshotRef(name, tag(1)) for name in names))
    copies = []
    but = ApplyState.but
    monkeypatch.setattr(
        ApplyState, "but", lambda state, **fields: copies.append(fields) or but(state, **fields)
    )
    removals = [u.RemoveSnapshotRef(name) for name in (*names, "x", "b0")]
    assert changed(tagged, *removals, u.SetProperties({"a": "b"})).refs == two.refs
    assert len(copies) == 2
    copies.clear()
    assert changed(tagged, u.RemoveSnapshots((1,))).refs == two.refs
    assert len(copies) == 2


@pytest.mark.parametrize(
    ("field", "put", "remove"),
    [
        ("statistics", u.SetStatistics, u.RemoveStatistics),
        ("partition_statistics", u.SetPartitionStatistics, u.RemovePartitionStatistics),
    ],
)
def test_a_snapshot_has_one_statistics_file(two, field, put, remove):
    first = {"snapshot-id": 1, "statistics-path": "a"}
    second = first | {"statistics-path": "b"}
    after = changed(two, put(first), put({"snapshot-id": 2, "statistics-path": "c"}), put(second))
    assert [one["statistics-path"] for one in getattr(after, field)] == ["c", "b"]
    assert len(getattr(changed(after, remove(1)), field)) == 1
    assert len(getattr(changed(after, u.RemoveSnapshots((2,))), field)) == 1
    assert changed(two, remove(1)) is two


def test_the_metadata_log_keeps_the_newest_files():
    base = metadata()
    for at in range(4):
        base, gone = add_metadata_log_entry(base, f"v{at}", CREATED_MS + at, 3)
    assert [entry.metadata_file for entry in base.metadata_log] == ["v1", "v2", "v3"]
    assert gone == (MetadataLogEntry("v0", CREATED_MS),)


def test_the_metadata_log_keeps_at_least_one_file():
    after, gone = add_metadata_log_entry(metadata(), "v1", CREATED_MS, 0)
    assert (len(after.metadata_log), gone) == (1, ())
