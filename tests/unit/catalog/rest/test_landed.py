"""A commit without a snapshot is known by its effects, update by update."""

import pytest

from iceberg_spark.catalog.rest.commit import has_landed
from iceberg_spark.spec import updates as u
from iceberg_spark.spec.apply_updates import apply
from iceberg_spark.spec.new_table import new_metadata
from iceberg_spark.spec.partition import PartitionField, PartitionSpec
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.snapshot import Snapshot, SnapshotRef, SnapshotRefType
from iceberg_spark.spec.sort import NullOrder, SortDirection, SortField, SortOrder
from iceberg_spark.spec.transforms import IdentityTransform
from iceberg_spark.spec.types import LongType, NestedField

ID = NestedField(1, "id", LongType())
BASE = apply(
    new_metadata(Schema(ID), location="/w/t", now_ms=1, properties={"old": "1"}),
    (
        u.AddSnapshot(Snapshot(7, 5, "/w/list.avro", None, 1, {"operation": "append"})),
        u.SetSnapshotRef("side", SnapshotRef(7, SnapshotRefType.BRANCH)),
    ),
    now_ms=9,
)
STATISTICS = {
    "snapshot-id": 7,
    "statistics-path": "/w/s",
    "file-size-in-bytes": 1,
    "file-footer-size-in-bytes": 1,
    "blob-metadata": [],
}
PARTITIONS = {"snapshot-id": 7, "statistics-path": "/w/p", "file-size-in-bytes": 1}
SPEC = PartitionSpec(1, (PartitionField((1,), 1000, IdentityTransform(), "id_part"),))
KEY = SortField((1,), IdentityTransform(), SortDirection.ASC, NullOrder.NULLS_FIRST)
ORDER = SortOrder(1, (KEY,))
CHANGES: dict[str, tuple[u.TableUpdate, ...]] = {
    "properties": (u.SetProperties({"a": "1"}),),
    "properties gone": (u.RemoveProperties(("old",)),),
    "schema": (
        u.AddSchema(Schema(ID, NestedField(2, "n", LongType()), schema_id=1)),
        u.SetCurrentSchema(1),
    ),
    "spec": (u.AddPartitionSpec(SPEC), u.SetDefaultSpec(1)),
    "order": (u.AddSortOrder(ORDER), u.SetDefaultSortOrder(1)),
    "location": (u.SetLocation("/w/other"),),
    "version": (u.UpgradeFormatVersion(3),),
    "tag": (u.SetSnapshotRef("tag", SnapshotRef(7, SnapshotRefType.TAG)),),
    "branch gone": (u.RemoveSnapshotRef("side"),),
    "snapshot gone": (u.RemoveSnapshotRef("side"), u.RemoveSnapshots((7,))),
    "snapshot": (u.AddSnapshot(Snapshot(8, 9, "/w/l8.avro", 7, 2, {"operation": "append"})),),
    "statistics": (u.SetStatistics(STATISTICS),),
    "partition statistics": (u.SetPartitionStatistics(PARTITIONS),),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_seen_after_it_and_not_before(change: str) -> None:
    updates = CHANGES[change]
    assert not has_landed(BASE, updates)
    assert has_landed(apply(BASE, updates, now_ms=10), updates)
