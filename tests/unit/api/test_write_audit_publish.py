"""Write, audit, publish: staged snapshots and audit branches (Java: `write.wap.enabled`)."""

import pytest

import iceberg_spark as ice
from iceberg_spark import Table
from iceberg_spark.errors import InvalidInputError, NoSuchSnapshotError, ValidationException
from tests.unit.api.tables import data_files, ids, make, rows

WAP = {"write.wap.enabled": "true"}


def staged(table: Table, wap_id: str) -> int:
    return next(s.snapshot_id for s in table.snapshots() if s.summary.get("wap.id") == wap_id)


@pytest.fixture
def table() -> Table:
    made = make(**WAP)
    made.append(rows(id=[1]))
    return made


def test_a_write_with_a_wap_id_moves_nothing(table: Table) -> None:
    before = table.refs()
    table.append(rows(id=[2]), snapshot_properties={"wap.id": "a"})
    assert table.refs() == before
    assert ids(table) == [1]
    assert ids(table, snapshot_id=staged(table, "a")) == [1, 2]
    assert len(table.history()) == 1


def test_every_kind_of_write_is_staged(table: Table) -> None:
    properties = {"wap.id": "a"}
    table.overwrite(rows(id=[2]), snapshot_properties=properties)
    table.dynamic_partition_overwrite(rows(id=[3]), snapshot_properties=properties)
    table.delete("id = 1", snapshot_properties=properties)
    assert ids(table) == [1]
    assert len(table.snapshots()) == 4


def test_what_was_staged_is_published_once(table: Table) -> None:
    table.append(rows(id=[2]), snapshot_properties={"wap.id": "a"})
    table.append(rows(id=[3]))
    table.manage_snapshots().cherrypick(staged(table, "a")).commit()
    assert ids(table) == [1, 2, 3]
    current = table.current_snapshot()
    assert current is not None
    assert current.summary["published-wap-id"] == "a"
    assert "wap.id" not in current.summary
    with pytest.raises(ValidationException, match=r"wap\.id 'a' was published by snapshot"):
        table.manage_snapshots().cherrypick(staged(table, "a")).commit()


def test_a_second_snapshot_of_a_published_id_is_refused(table: Table) -> None:
    for number in (2, 3):
        table.append(rows(id=[number]), snapshot_properties={"wap.id": "a"})
    first, second = (s.snapshot_id for s in table.snapshots() if "wap.id" in s.summary)
    table.manage_snapshots().cherrypick(first).commit()
    with pytest.raises(ValidationException, match="published"):
        table.manage_snapshots().cherrypick(second).commit()
    assert ids(table) == [1, 2]


def test_what_was_staged_right_after_main_becomes_main(table: Table) -> None:
    table.append(rows(id=[2]), snapshot_properties={"wap.id": "a"})
    table.manage_snapshots().cherrypick(staged(table, "a")).commit()
    current = table.current_snapshot()
    assert current is not None
    assert current.snapshot_id == staged(table, "a")


def test_staging_needs_the_tables_consent() -> None:
    table = make()
    table.append(rows(id=[1]))
    before = data_files(table)
    with pytest.raises(InvalidInputError, match=r"set its property 'write\.wap\.enabled'"):
        table.append(rows(id=[2]), snapshot_properties={"wap.id": "a"})
    assert data_files(table) == before


def test_the_first_write_of_a_table_can_be_staged() -> None:
    table = make(**WAP)
    table.append(rows(id=[1]), snapshot_properties={"wap.id": "a"})
    assert table.current_snapshot() is None
    table.manage_snapshots().cherrypick(staged(table, "a")).commit()
    assert ids(table) == [1]


def test_a_branch_is_written_audited_and_published(table: Table) -> None:
    table.manage_snapshots().create_branch(None, "audit").commit()
    table.append(rows(id=[2]), branch="audit")
    assert (ids(table), ids(table, branch="audit")) == ([1], [1, 2])
    table.manage_snapshots().fast_forward("main", "audit").commit()
    assert ids(ice.load_table(table.identifier)) == [1, 2]


def test_a_branch_has_to_be_there_before_it_is_written_to(table: Table) -> None:
    with pytest.raises(NoSuchSnapshotError, match=r"No branch 'audit'.*Create it"):
        table.append(rows(id=[2]), branch="audit")


def test_a_tag_is_not_written_to(table: Table) -> None:
    table.manage_snapshots().create_tag(None, "t").commit()
    with pytest.raises(InvalidInputError, match="'t' is a tag"):
        table.append(rows(id=[2]), branch="t")


def test_staged_snapshots_expire_by_age(table: Table) -> None:
    table.append(rows(id=[2]), snapshot_properties={"wap.id": "a"})
    result = table.maintenance.expire_snapshots(1 << 60)
    assert result.deleted_data_files_count == 1
    assert ids(table) == [1]


def test_a_batch_is_not_staged(table: Table) -> None:
    """It would count as landed, and what the audit rejects could never be run again."""
    before, staged_as = table.metadata_location, {"wap.id": "x"}
    with pytest.raises(InvalidInputError, match="staged would count as landed"):
        table.append(rows(id=[7]), txn_app_id="a", txn_version=5, snapshot_properties=staged_as)
    assert table.refresh().metadata_location == before
    table.append(rows(id=[7]), txn_app_id="a", txn_version=5)
    assert 7 in ids(table)
