"""Branches, tags and the current snapshot, as Java's ManageSnapshots has them."""

import pyarrow as pa
import pytest

import iceberg_spark as ice
from iceberg_spark import Table
from iceberg_spark.errors import (
    IcebergError,
    InvalidInputError,
    InvalidTypeError,
    NoSuchSnapshotError,
    ValidationException,
)
from tests.unit.api.tables import data_files, ids, make, rows


def add(table: Table, *numbers: int, branch: str | None = None) -> int:
    """Append rows; the new snapshot's id."""
    before = {each.snapshot_id for each in table.snapshots()}
    table.append(rows(id=list(numbers)), branch=branch)
    return next(s.snapshot_id for s in table.snapshots() if s.snapshot_id not in before)


@pytest.fixture
def table() -> Table:
    """Three appends to main: 1, 2, 3."""
    made = make()
    for number in (1, 2, 3):
        add(made, number)
    return made


def history(table: Table) -> list[int]:
    return [each.snapshot_id for each in table.snapshots()]


def test_a_branch_is_created_at_a_snapshot_with_its_retention(table: Table) -> None:
    first = history(table)[0]
    table.manage_snapshots().create_branch(
        first, "b", max_ref_age_ms=3, max_snapshot_age_ms=2, min_snapshots_to_keep=1
    ).commit()
    ref = table.refs()["b"]
    assert (ref.snapshot_id, ref.is_branch) == (first, True)
    assert (ref.max_ref_age_ms, ref.max_snapshot_age_ms, ref.min_snapshots_to_keep) == (3, 2, 1)
    assert ids(table, branch="b") == [1]


def test_a_tag_is_created_at_a_snapshot_and_at_the_current_one(table: Table) -> None:
    with table.manage_snapshots() as manage:
        manage.create_tag(history(table)[1], "old", max_ref_age_ms=9).create_tag(None, "now")
    assert ids(table, tag="old") == [1, 2]
    assert ids(table, tag="now") == [1, 2, 3]
    assert table.refs()["old"].max_ref_age_ms == 9
    assert not table.refs()["old"].is_branch


def test_a_with_block_that_fails_changes_nothing(table: Table) -> None:
    with pytest.raises(InvalidInputError), table.manage_snapshots() as manage:
        manage.create_tag(None, "t").set_current_snapshot()
    assert set(table.refresh().refs()) == {"main"}


def test_steps_see_those_before_them(table: Table) -> None:
    (
        table.manage_snapshots()
        .create_branch(history(table)[0], "a")
        .rename_branch("a", "b")
        .fast_forward("b", "main")
        .create_tag(None, "t")
        .remove_tag("t")
        .commit()
    )
    assert set(table.refs()) == {"main", "b"}
    assert ids(table, branch="b") == [1, 2, 3]


def test_replacing_a_branch_keeps_the_retention_that_is_not_given(table: Table) -> None:
    first = history(table)[0]
    table.manage_snapshots().create_branch(None, "b", min_snapshots_to_keep=4).commit()
    table.manage_snapshots().replace_branch(first, "b", max_ref_age_ms=7).commit()
    ref = table.refs()["b"]
    assert (ref.snapshot_id, ref.min_snapshots_to_keep, ref.max_ref_age_ms) == (first, 4, 7)


def test_a_tag_is_replaced(table: Table) -> None:
    table.manage_snapshots().create_tag(None, "t", max_ref_age_ms=5).commit()
    table.manage_snapshots().replace_tag(history(table)[0], "t").commit()
    assert (ids(table, tag="t"), table.refs()["t"].max_ref_age_ms) == ([1], 5)


def test_retention_is_set_later(table: Table) -> None:
    with table.manage_snapshots() as manage:
        manage.set_min_snapshots_to_keep("main", 5).set_max_snapshot_age_ms("main", 6)
        manage.set_max_ref_age_ms("main", 7)
    ref = table.refs()["main"]
    assert (ref.min_snapshots_to_keep, ref.max_snapshot_age_ms, ref.max_ref_age_ms) == (5, 6, 7)


def test_main_is_rolled_back_to_an_earlier_snapshot(table: Table) -> None:
    table.manage_snapshots().rollback_to_snapshot(history(table)[0]).commit()
    assert ids(table) == [1]
    assert len(table.history()) == 4
    assert len(table.snapshots()) == 3


def test_rolling_back_to_a_time_takes_the_newest_snapshot_before_it(table: Table) -> None:
    # snapshots of one millisecond would make the time ambiguous: what counts is "before"
    second = table.snapshots()[1]
    table.manage_snapshots().rollback_to_timestamp(second.timestamp_ms + 1).commit()
    current = table.current_snapshot()
    assert current is not None
    assert current.timestamp_ms == second.timestamp_ms


def test_a_time_without_a_snapshot_before_it_is_refused(table: Table) -> None:
    with pytest.raises(NoSuchSnapshotError, match="no snapshot before"):
        table.manage_snapshots().rollback_to_timestamp(table.snapshots()[0].timestamp_ms).commit()


def test_only_ancestors_can_be_rolled_back_to_but_any_snapshot_made_current(table: Table) -> None:
    table.manage_snapshots().create_branch(None, "b").commit()
    other = add(table, 9, branch="b")
    with pytest.raises(ValidationException, match="not an ancestor"):
        table.manage_snapshots().rollback_to_snapshot(other).commit()
    table.manage_snapshots().set_current_snapshot(other).commit()
    assert ids(table) == [1, 2, 3, 9]


def test_the_current_snapshot_can_be_given_by_a_name(table: Table) -> None:
    table.manage_snapshots().create_tag(history(table)[0], "t").commit()
    table.manage_snapshots().set_current_snapshot(ref_name="t").commit()
    assert ids(table) == [1]


def test_a_branch_is_forwarded_only_to_a_descendant(table: Table) -> None:
    table.manage_snapshots().create_branch(None, "b").commit()
    add(table, 4, branch="b")
    add(table, 5)
    with pytest.raises(ValidationException, match=r"not an ancestor.*cherrypick"):
        table.manage_snapshots().fast_forward("main", "b").commit()


def test_forwarding_a_branch_that_is_missing_creates_it(table: Table) -> None:
    table.manage_snapshots().fast_forward("new", "main").commit()
    assert table.refs()["new"].snapshot_id == history(table)[2]


REFUSED = {
    "a taken name": (lambda m: m.create_branch(None, "t"), "has a tag 't' already"),
    "main as a new branch": (lambda m: m.create_branch(None, "main"), "branch 'main' already"),
    "removing main": (lambda m: m.remove_branch("main"), "'main' can't be removed"),
    "renaming main": (lambda m: m.rename_branch("main", "x"), "'main' can't be renamed"),
    "renaming to a taken name": (lambda m: m.rename_branch("b", "t"), "'t' already"),
    "a tag as a branch": (lambda m: m.remove_branch("t"), "is a tag, no branch"),
    "a branch as a tag": (lambda m: m.replace_tag(1, "b"), "No snapshot 1"),
    "a missing branch": (lambda m: m.remove_branch("x"), "No branch 'x'.*main, b, t"),
    "a missing target": (lambda m: m.fast_forward("b", "x"), "No branch or tag 'x'"),
    "forwarding a tag": (lambda m: m.fast_forward("t", "b"), "is a tag, no branch"),
    "an unknown snapshot": (lambda m: m.create_tag(12, "x"), "No snapshot 12"),
    "a retention of zero": (lambda m: m.set_max_ref_age_ms("t", 0), "must be positive"),
    "snapshots of a tag": (lambda m: m.set_min_snapshots_to_keep("t", 1), "A tag can't have"),
    "an unknown current snapshot": (lambda m: m.set_current_snapshot(5), "No snapshot 5"),
    "picking an unknown snapshot": (lambda m: m.cherrypick(5), "No snapshot 5"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_refused_change_says_why_and_changes_nothing(table: Table, case: str) -> None:
    change, message = REFUSED[case]
    table.manage_snapshots().create_branch(None, "b").create_tag(None, "t").commit()
    before = table.metadata
    with pytest.raises((IcebergError, ValueError), match=message):
        change(table.manage_snapshots().create_tag(None, "kept-out")).commit()
    assert table.refresh().metadata == before


def test_wrong_types_are_refused_at_once(table: Table) -> None:
    manage = table.manage_snapshots()
    with pytest.raises(InvalidTypeError, match="snapshot_id must be an integer"):
        manage.create_tag("1", "t")  # type: ignore[arg-type]
    with pytest.raises(InvalidTypeError, match="name of a branch or tag"):
        manage.remove_tag(None)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="either snapshot_id or ref_name"):
        manage.set_current_snapshot()


def test_a_table_without_a_snapshot_has_nothing_that_a_tag_could_point_to() -> None:
    with pytest.raises(NoSuchSnapshotError, match="write to the table first"):
        make().manage_snapshots().create_tag(None, "t").commit()


def test_a_branch_of_a_table_without_a_snapshot_gets_an_empty_one() -> None:
    table = make()
    manage = table.manage_snapshots().create_branch(None, "b", min_snapshots_to_keep=3)
    manage.create_tag(None, "t")
    with pytest.raises(NoSuchSnapshotError, match="write to the table first"):
        manage.commit()  # main has none still, and nothing lands
    assert not table.refresh().metadata.refs
    table.manage_snapshots().create_branch(None, "b", min_snapshots_to_keep=3).commit()
    assert table.current_snapshot() is None
    assert table.metadata.refs["b"].min_snapshots_to_keep == 3
    assert table.snapshots()[0].summary["total-records"] == "0"
    assert ids(table, branch="b") == []
    add(table, 4, branch="b")
    assert ids(table, branch="b") == [4]
    with pytest.raises(InvalidInputError, match="already"):
        table.manage_snapshots().create_branch(None, "b").commit()


def test_a_reference_that_another_commit_made_is_seen(table: Table) -> None:
    other = ice.load_table(table.identifier)
    other.manage_snapshots().create_tag(None, "t").commit()
    with pytest.raises(InvalidInputError, match="already"):
        table.manage_snapshots().create_tag(None, "t").commit()


def test_a_transaction_takes_them_with_other_changes(table: Table) -> None:
    with table.transaction() as tx:
        tx.append(rows(id=[4]))
        tx.manage_snapshots().create_tag(None, "after").commit()
    assert ids(table, tag="after") == [1, 2, 3, 4]
    assert len(table.metadata.metadata_log) == 4  # one commit for both


def test_cherrypick_moves_main_to_a_snapshot_that_follows_it(table: Table) -> None:
    table.manage_snapshots().create_branch(None, "b").commit()
    ahead = add(table, 4, branch="b")
    table.manage_snapshots().cherrypick(ahead).commit()
    current = table.current_snapshot()
    assert current is not None
    assert current.snapshot_id == ahead


def test_cherrypick_repeats_an_append(table: Table) -> None:
    table.manage_snapshots().create_branch(None, "b").commit()
    picked = add(table, 4, branch="b")
    add(table, 5)
    files = data_files(table)
    table.manage_snapshots().cherrypick(picked).commit()
    current = table.current_snapshot()
    assert current is not None
    assert current.summary["source-snapshot-id"] == str(picked)
    assert current.operation == "append"
    assert ids(table) == [1, 2, 3, 4, 5]
    assert data_files(table) == files


def test_cherrypick_repeats_a_dynamic_overwrite_and_its_removals() -> None:
    table = make(schema="id bigint, k string", partition_by=["k"])
    table.append(rows(id=[1, 2], k=["a", "b"]))
    table.manage_snapshots().create_branch(None, "b").commit()
    table.dynamic_partition_overwrite(rows(id=[3], k=["a"]), branch="b")
    picked = table.refs()["b"].snapshot_id
    table.append(rows(id=[4], k=["c"]))
    table.manage_snapshots().cherrypick(picked).commit()
    assert ids(table) == [2, 3, 4]
    current = table.current_snapshot()
    assert current is not None
    assert current.operation == "overwrite"


def test_a_dynamic_overwrite_of_partitions_that_changed_is_not_repeated() -> None:
    table = make(schema="id bigint, k string", partition_by=["k"])
    table.append(rows(id=[1], k=["a"]))
    table.manage_snapshots().create_branch(None, "b").commit()
    table.dynamic_partition_overwrite(rows(id=[3], k=["a"]), branch="b")
    table.append(rows(id=[4], k=["a"]))
    with pytest.raises(ValidationException, match="Conflict with snapshot"):
        table.manage_snapshots().cherrypick(table.refs()["b"].snapshot_id).commit()
    assert ids(table.refresh()) == [1, 4]


def test_other_operations_are_not_repeated(table: Table) -> None:
    table.manage_snapshots().create_branch(None, "b").commit()
    table.overwrite(rows(id=[8]), branch="b")
    add(table, 5)
    with pytest.raises(ValidationException, match=r"\(overwrite\): only appends"):
        table.manage_snapshots().cherrypick(table.refs()["b"].snapshot_id).commit()


def test_a_snapshot_is_picked_once(table: Table) -> None:
    table.manage_snapshots().create_branch(None, "b").commit()
    picked = add(table, 4, branch="b")
    add(table, 5)
    table.manage_snapshots().cherrypick(picked).commit()
    with pytest.raises(ValidationException, match="picked already"):
        table.manage_snapshots().cherrypick(picked).commit()
    with pytest.raises(ValidationException, match="main has it already"):
        table.manage_snapshots().cherrypick(history(table)[0]).commit()


def test_picking_on_an_empty_main_moves_it_there() -> None:
    table = make()
    add(table, 1)
    only = history(table)[0]
    table.manage_snapshots().create_tag(None, "t").commit()
    assert table.current_snapshot() is not None
    table.manage_snapshots().set_current_snapshot(only).commit()
    assert ids(table) == [1]


def test_what_a_pick_wrote_is_cleaned_up_when_it_is_refused(table: Table) -> None:
    def avro() -> set[str]:
        return {
            info.path
            for info in table.io.list(f"{table.location()}/metadata")
            if info.path.endswith(".avro")
        }

    table.manage_snapshots().create_branch(None, "b").commit()
    picked = add(table, 4, branch="b")
    add(table, 5)
    before = avro()
    with pytest.raises(NoSuchSnapshotError):
        table.manage_snapshots().cherrypick(picked).cherrypick(1).commit()
    assert avro() == before
    assert isinstance(table.scan().to_arrow(), pa.Table)
