"""Ids of new schemas, specs and orders in a request: those that the table will give them."""

from collections.abc import Sequence
from typing import Any

from iceberg_spark.catalog.catalog import LoadedTable, TableChange
from iceberg_spark.catalog.rest.commit import updates_of
from iceberg_spark.io.storage import open_storage
from iceberg_spark.spec import updates as u
from iceberg_spark.spec.apply_updates import apply
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.new_table import new_metadata
from iceberg_spark.spec.partition import PartitionField, PartitionSpec
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.sort import NullOrder, SortDirection, SortField, SortOrder
from iceberg_spark.spec.transforms import IdentityTransform
from iceberg_spark.spec.types import LongType, NestedField

A, B, C = (NestedField(number, name, LongType()) for number, name in ((1, "a"), (2, "b"), (3, "c")))
BASE = new_metadata(Schema(A, B), location="/w/t", now_ms=1)
SPEC = PartitionSpec(0, (PartitionField((1,), 1000, IdentityTransform(), "a"),))
ORDER = SortOrder(
    1, (SortField((1,), IdentityTransform(), SortDirection.ASC, NullOrder.NULLS_FIRST),)
)


def sent(base: TableMetadata | None, updates: Sequence[u.TableUpdate]) -> list[dict[str, Any]]:
    table = base and LoadedTable("db.t", base, "/w/m.json", open_storage())
    return list(updates_of(TableChange("db.t", (), tuple(updates), table)))


def test_a_new_schema_has_the_next_id_and_the_highest_column():
    (node,) = sent(BASE, [u.AddSchema(Schema(A, B, C))])
    assert (node["schema"]["schema-id"], node["last-column-id"]) == (1, 3)


def test_columns_that_were_dropped_keep_their_ids_taken():
    wide = apply(BASE, [u.AddSchema(Schema(A, B, C)), u.SetCurrentSchema()], now_ms=2)
    (node,) = sent(wide, [u.AddSchema(Schema(A))])
    assert (node["schema"]["schema-id"], node["last-column-id"]) == (2, 3)


def test_what_is_there_already_has_its_own_id():
    grown = apply(BASE, [u.AddSchema(Schema(A)), u.AddPartitionSpec(SPEC)], now_ms=2)
    schema, spec = sent(grown, [u.AddSchema(Schema(A, B)), u.AddPartitionSpec(SPEC)])
    assert schema["schema"]["schema-id"] == 0
    assert spec["spec"]["spec-id"] == 1


def test_several_of_one_commit_are_counted_up():
    schemas = [u.AddSchema(Schema(A)), u.AddSchema(Schema(A, B, C)), u.AddSchema(Schema(A))]
    assert [one["schema"]["schema-id"] for one in sent(BASE, schemas)] == [1, 2, 1]


def test_specs_and_orders_have_the_next_ids_and_unsorted_is_0():
    updates = [u.AddPartitionSpec(SPEC), u.AddSortOrder(ORDER), u.AddSortOrder(SortOrder(0, ()))]
    spec, order, unsorted = sent(BASE, updates)
    assert spec["spec"]["spec-id"] == 1
    assert order["sort-order"]["order-id"] == 1
    assert unsorted["sort-order"]["order-id"] == 0


def test_a_creation_keeps_the_ids_that_the_server_gave():
    (node,) = sent(None, [u.AddSchema(Schema(A, B, schema_id=5))])
    assert (node["schema"]["schema-id"], node["last-column-id"]) == (5, 2)
