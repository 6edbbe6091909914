"""Entries that two versions of a table share are made once, and what differs is read."""

import copy
from typing import Any

import pytest

from iceberg_spark.errors import CorruptFileError
from iceberg_spark.spec.metadata_json import FormerEntries, metadata_from_dict, metadata_to_dict


def version(*snapshots: int, log: int = 0) -> dict[str, Any]:
    """Metadata with these snapshots and so many former files."""
    return {
        "format-version": 2, "table-uuid": "u", "location": "/t", "last-updated-ms": 99,
        "last-sequence-number": 99, "last-column-id": 1, "current-schema-id": 0,
        "schemas": [
            {"type": "struct", "schema-id": 0,
             "fields": [{"id": 1, "name": "a", "required": False, "type": "int"}]}
        ],
        "default-spec-id": 0, "partition-specs": [{"spec-id": 0, "fields": []}],
        "last-partition-id": 999, "default-sort-order-id": 0,
        "sort-orders": [{"order-id": 0, "fields": []}],
        "snapshots": [
            {"snapshot-id": each, "sequence-number": each, "timestamp-ms": each, "schema-id": 0,
             "manifest-list": f"/t/{each}.avro", "summary": {"operation": "append"}}
            for each in snapshots
        ],
        "metadata-log": [{"metadata-file": f"/t/{n}", "timestamp-ms": n} for n in range(log)],
    }  # fmt: skip


def former(node: dict[str, Any]) -> FormerEntries:
    read = FormerEntries({})
    metadata_from_dict(node, read)
    return FormerEntries(read.seen)


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ((1, 2, 3), (1, 2, 3, 4)),
        ((1, 2, 3, 4, 5), (2, 4, 5, 6)),
        ((1, 2, 3), (3, 2, 1)),
        ((1, 2), (7, 8, 9, 10, 11, 12, 1, 2)),
        ((), (1,)),
        ((1,), ()),
    ],
)
def test_metadata_is_what_it_is_without_a_former_version(
    before: tuple[int, ...], now: tuple[int, ...]
):
    node = version(*now, log=len(now))
    known = former(version(*before, log=len(before)))
    assert metadata_from_dict(copy.deepcopy(node), known) == metadata_from_dict(node)


def test_equal_entries_are_taken_over():
    read = FormerEntries({})
    before = metadata_from_dict(version(1, 2), read)
    after = metadata_from_dict(version(1, 2, 3), FormerEntries(read.seen))
    assert after.snapshots[1] is before.snapshots[1]
    assert after.schemas[0] is before.schemas[0]
    assert list(after.snapshots) == [1, 2, 3]


def test_a_changed_entry_of_the_same_id_is_read():
    node = version(1, 2)
    node["snapshots"][0]["manifest-list"] = "/t/other.avro"
    after = metadata_from_dict(node, former(version(1, 2)))
    assert after.snapshots[1].manifest_list == "/t/other.avro"


@pytest.mark.parametrize(("one", "other"), [(1, True), (1, 1.0), (True, 1), (0.0, -0.0)])
def test_an_unknown_member_that_equals_another_is_kept_as_it_is(one: object, other: object):
    known, now = version(1), version(1)
    known["snapshots"][0]["later"] = {"deep": [one]}
    now["snapshots"][0]["later"] = {"deep": [other]}
    written = metadata_to_dict(metadata_from_dict(now, former(known)))
    assert repr(written["snapshots"][0]["later"]) == repr({"deep": [other]})


@pytest.mark.parametrize("wrong", [True, 1.0])
def test_a_number_that_is_none_is_refused_where_an_equal_one_was_known(wrong: object):
    node = version(1)
    node["snapshots"][0]["timestamp-ms"] = wrong
    with pytest.raises(CorruptFileError, match="must be an integer"):
        metadata_from_dict(node, former(version(1)))


def test_entries_of_another_format_version_are_not_taken():
    read = FormerEntries({})
    before = metadata_from_dict(version(1), read)
    newer = {**version(1), "format-version": 3, "next-row-id": 0}
    after = metadata_from_dict(newer, FormerEntries(read.seen))
    assert after.snapshots[1] == before.snapshots[1]
    assert after.snapshots[1] is not before.snapshots[1]


def test_an_entry_of_one_list_is_none_of_another():
    node = version(1, log=1)
    node["snapshots"] = node["metadata-log"]
    with pytest.raises(CorruptFileError, match=r"'snapshots'\[0\]"):
        metadata_from_dict(node, former(version(1, log=1)))


def test_an_error_names_the_entry_behind_known_ones():
    node = version(1, 2, 3)
    del node["snapshots"][2]["timestamp-ms"]
    with pytest.raises(CorruptFileError, match=r"'snapshots'\[2\].*'timestamp-ms'"):
        metadata_from_dict(node, former(version(1, 2)))


def test_an_id_that_comes_twice_is_refused_among_known_entries():
    node = version(1, 2)
    node["snapshots"].append(node["snapshots"][0])
    with pytest.raises(CorruptFileError, match="Two snapshots"):
        metadata_from_dict(node, former(version(1, 2)))
