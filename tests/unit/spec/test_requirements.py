"""Requirements: derived from updates, checked before a commit, written as the REST catalog does."""

import json

import pytest

from iceberg_spark.errors import CommitFailedException, CorruptFileError, UnsupportedError
from iceberg_spark.spec import requirements as r
from iceberg_spark.spec import updates as u
from iceberg_spark.spec.apply_updates import apply
from iceberg_spark.spec.partition import UNPARTITIONED
from iceberg_spark.spec.requirements import check, requirements_for
from iceberg_spark.spec.rest_json import (
    requirement_from_json,
    requirement_to_json,
    update_from_json,
    update_to_json,
)
from iceberg_spark.spec.sort import UNSORTED
from tests.builders import CREATED_MS, EVENTS, TABLE_UUID, branch, metadata, snapshot, tag

BASE = apply(
    metadata(partition_by=["id"]),
    [
        u.AddSnapshot(snapshot(1)),
        u.SetSnapshotRef("main", branch(1)),
        u.SetSnapshotRef("b", branch(1)),
        u.SetSnapshotRef("t", tag(1)),
    ],
    now_ms=CREATED_MS + 9,
)
UUID = r.AssertTableUuid(TABLE_UUID)


@pytest.mark.parametrize(
    ("updates", "expected"),
    [
        ([], []),
        ([u.SetProperties({"a": "b"}), u.SetLocation("x")], []),
        ([u.AddSnapshot(snapshot(2))], []),
        ([u.SetSnapshotRef("main", branch(1))] * 2, [r.AssertRefSnapshotId("main", 1)]),
        ([u.SetSnapshotRef("new", branch(1))], [r.AssertRefSnapshotId("new", None)]),
        ([u.AddSchema(EVENTS)] * 2, [r.AssertLastAssignedFieldId(4)]),
        ([u.SetCurrentSchema()], [r.AssertCurrentSchemaId(0)]),
        ([u.AddPartitionSpec(UNPARTITIONED)], [r.AssertLastAssignedPartitionId(1000)]),
        ([u.SetDefaultSpec()], [r.AssertDefaultSpecId(0)]),
        ([u.AddSortOrder(UNSORTED)], []),
        ([u.SetDefaultSortOrder()], [r.AssertDefaultSortOrderId(0)]),
        (
            [u.RemovePartitionSpecs((1,))],
            [r.AssertDefaultSpecId(0), r.AssertRefSnapshotId("b", 1)],
        ),
        ([u.RemoveSchemas((1,))], [r.AssertCurrentSchemaId(0), r.AssertRefSnapshotId("b", 1)]),
    ],
)
def test_updates_need_that_what_they_build_on_has_not_changed(updates, expected):
    assert list(requirements_for(BASE, updates)) == [UUID, *expected]


def test_a_creation_needs_that_there_is_no_table():
    assert requirements_for(None, [u.AddSchema(EVENTS)]) == (r.AssertCreate(),)


def test_replacing_a_table_needs_only_that_no_id_is_given_twice():
    updates = [u.AddSchema(EVENTS), u.SetCurrentSchema(), u.SetSnapshotRef("main", branch(1))]
    assert requirements_for(BASE, updates, replace=True) == (UUID, r.AssertLastAssignedFieldId(4))


HELD = [
    UUID,
    r.AssertTableUuid(TABLE_UUID.upper()),
    r.AssertRefSnapshotId("main", 1),
    r.AssertRefSnapshotId("none", None),
    r.AssertLastAssignedFieldId(4),
    r.AssertCurrentSchemaId(0),
    r.AssertLastAssignedPartitionId(1000),
    r.AssertDefaultSpecId(0),
    r.AssertDefaultSortOrderId(0),
]


def test_requirements_that_hold_pass():
    check(BASE, HELD)
    check(None, [r.AssertCreate()])


@pytest.mark.parametrize(
    ("requirement", "message"),
    [
        (r.AssertCreate(), "assert-create failed: file:/warehouse/t has a table already"),
        (
            r.AssertTableUuid("x"),
            f"assert-table-uuid failed: expected table-uuid x, found {TABLE_UUID}",
        ),
        (r.AssertRefSnapshotId("main", 2), "snapshot of 'main' 2, found 1"),
        (r.AssertRefSnapshotId("main", None), "snapshot of 'main' none, found 1"),
        (r.AssertRefSnapshotId("x", 2), "snapshot of 'x' 2, found none"),
        (r.AssertLastAssignedFieldId(3), "last-column-id 3, found 4"),
        (r.AssertCurrentSchemaId(3), "schema-id 3, found 0"),
        (r.AssertLastAssignedPartitionId(3), "last-partition-id 3, found 1000"),
        (r.AssertDefaultSpecId(3), "default-spec-id 3, found 0"),
        (r.AssertDefaultSortOrderId(3), "default-sort-order-id 3, found 0"),
    ],
)
def test_a_requirement_that_fails_says_what_was_expected_and_found(requirement, message):
    with pytest.raises(CommitFailedException, match=message):
        check(BASE, [requirement])


@pytest.mark.parametrize("requirement", HELD)
def test_only_a_creation_works_without_a_table(requirement):
    with pytest.raises(CommitFailedException, match="there is no table"):
        check(None, [requirement])


UPDATES = [
    (u.AssignUuid("x"), '{"action":"assign-uuid","uuid":"x"}'),
    (u.UpgradeFormatVersion(2), '{"action":"upgrade-format-version","format-version":2}'),
    (u.SetCurrentSchema(), '{"action":"set-current-schema","schema-id":-1}'),
    (u.SetDefaultSpec(), '{"action":"set-default-spec","spec-id":-1}'),
    (u.AddPartitionSpec(UNPARTITIONED), '{"action":"add-spec","spec":{"spec-id":0,"fields":[]}}'),
    (
        u.AddSortOrder(UNSORTED),
        '{"action":"add-sort-order","sort-order":{"order-id":0,"fields":[]}}',
    ),
    (u.SetDefaultSortOrder(), '{"action":"set-default-sort-order","sort-order-id":-1}'),
    (
        u.SetSnapshotRef("b", branch(1, min_snapshots_to_keep=2)),
        (
            '{"action":"set-snapshot-ref","ref-name":"b","snapshot-id":1,"type":"branch",'
            '"min-snapshots-to-keep":2}'
        ),
    ),
    (u.RemoveSnapshots((1, 2)), '{"action":"remove-snapshots","snapshot-ids":[1,2]}'),
    (u.RemoveSnapshotRef("b"), '{"action":"remove-snapshot-ref","ref-name":"b"}'),
    (u.SetLocation("x"), '{"action":"set-location","location":"x"}'),
    (u.SetProperties({"a": "b"}), '{"action":"set-properties","updates":{"a":"b"}}'),
    (u.RemoveProperties(("a",)), '{"action":"remove-properties","removals":["a"]}'),
    (
        u.SetStatistics({"snapshot-id": 1}),
        '{"action":"set-statistics","snapshot-id":1,"statistics":{"snapshot-id":1}}',
    ),
    (u.RemoveStatistics(1), '{"action":"remove-statistics","snapshot-id":1}'),
    (
        u.SetPartitionStatistics({"snapshot-id": 1}),
        '{"action":"set-partition-statistics","partition-statistics":{"snapshot-id":1}}',
    ),
    (u.RemovePartitionStatistics(1), '{"action":"remove-partition-statistics","snapshot-id":1}'),
    (u.RemovePartitionSpecs((1,)), '{"action":"remove-partition-specs","spec-ids":[1]}'),
    (u.RemoveSchemas((1,)), '{"action":"remove-schemas","schema-ids":[1]}'),
    (
        u.AddEncryptionKey({"key-id": "k"}),
        '{"action":"add-encryption-key","encryption-key":{"key-id":"k"}}',
    ),
    (u.RemoveEncryptionKey("k"), '{"action":"remove-encryption-key","key-id":"k"}'),
]


@pytest.mark.parametrize(("update", "text"), UPDATES)
def test_an_update_has_its_rest_form(update, text):
    assert json.dumps(update_to_json(update), separators=(",", ":")) == text
    assert update_from_json(json.loads(text)) == update


@pytest.mark.parametrize("update", [u.AddSchema(EVENTS), u.AddSnapshot(snapshot(1, 2))])
def test_schemas_and_snapshots_travel_in_updates(update):
    assert update_from_json(json.loads(json.dumps(update_to_json(update)))) == update


@pytest.mark.parametrize("requirement", [r.AssertCreate(), *HELD])
def test_a_requirement_survives_its_rest_form(requirement):
    node = requirement_to_json(requirement)
    assert node["type"].startswith("assert-")
    assert requirement_from_json(json.loads(json.dumps(node))) == requirement


def test_a_reference_that_must_not_exist_is_written_as_null():
    assert requirement_to_json(r.AssertRefSnapshotId("b", None)) == {
        "type": "assert-ref-snapshot-id",
        "ref": "b",
        "snapshot-id": None,
    }


def test_unknown_and_incomplete_json_is_refused():
    with pytest.raises(UnsupportedError, match="Unknown table update 'dance'"):
        update_from_json({"action": "dance"})
    with pytest.raises(UnsupportedError, match="Unknown table requirement 'dance'"):
        requirement_from_json({"type": "dance"})
    with pytest.raises(CorruptFileError, match="'spec-id' is missing"):
        update_from_json({"action": "set-default-spec"})
