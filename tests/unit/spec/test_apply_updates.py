"""Updates applied to metadata: schemas, specs, orders and what belongs to the whole table."""

import dataclasses

import pytest

from iceberg_spark.errors import (
    InvalidOptionError,
    InvalidSchemaError,
    UnsupportedError,
    ValidationException,
)
from iceberg_spark.spec import updates as u
from iceberg_spark.spec.apply_updates import apply
from iceberg_spark.spec.partition import PartitionField, PartitionSpec
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.sort import UNSORTED, NullOrder, SortDirection, SortField, SortOrder
from iceberg_spark.spec.transform_text import parse_partition_field, parse_sort_order
from iceberg_spark.spec.transforms import UnknownTransform
from tests.builders import CREATED_MS, EVENTS, field, metadata, schema

NOW = CREATED_MS + 5000
WIDER = Schema(*EVENTS.fields, field(5, "e", "int"))


def changed(base, *updates):
    return apply(base, updates, now_ms=NOW)


def spec_of(*texts, first_id=1000):
    fields = (
        parse_partition_field(text, EVENTS, field_id=first_id + at) for at, text in enumerate(texts)
    )
    return PartitionSpec(9, tuple(fields))


def test_no_change_returns_the_base_itself():
    base = metadata(properties={"a": "b"})
    assert changed(base) is base
    assert changed(base, u.SetProperties({"a": "b"}), u.SetLocation(base.location + "/")) is base


def test_a_change_sets_the_time_of_the_update():
    assert changed(metadata(), u.SetLocation("x")).last_updated_ms == NOW


def test_a_new_schema_gets_the_next_id_and_raises_the_last_column_id():
    base = metadata()
    after = changed(base, u.AddSchema(WIDER), u.SetCurrentSchema())
    assert after.current_schema_id == 1
    assert after.schema.fields == WIDER.fields
    assert after.last_column_id == 5


def test_an_equal_schema_keeps_its_id():
    base = changed(metadata(), u.AddSchema(WIDER), u.SetCurrentSchema())
    after = changed(base, u.AddSchema(EVENTS), u.SetCurrentSchema(u.LAST_ADDED))
    assert after.current_schema_id == 0
    assert len(after.schemas) == 2


def test_a_schema_that_differs_in_a_doc_is_another_one():
    child = dataclasses.replace(EVENTS.fields[0], doc="new")
    after = changed(metadata(), u.AddSchema(Schema(child, *EVENTS.fields[1:])))
    assert sorted(after.schemas) == [0, 1]


def test_last_added_needs_one_that_was_added():
    with pytest.raises(ValidationException, match="last added schema: none has been added"):
        changed(metadata(), u.SetCurrentSchema())


@pytest.mark.parametrize(
    ("update", "what"),
    [
        (u.SetCurrentSchema(7), "schema"),
        (u.SetDefaultSpec(7), "partition spec"),
        (u.SetDefaultSortOrder(7), "sort order"),
    ],
)
def test_an_unknown_id_is_refused(update, what):
    with pytest.raises(ValidationException, match=f"no {what} with the id 7"):
        changed(metadata(), update)


def test_dropping_the_source_of_the_default_spec_is_refused():
    base = metadata(partition_by=["days(ts)"])
    narrow = schema(("id", "long"))
    with pytest.raises(InvalidSchemaError, match="source column 2 of partition field 'ts_day'"):
        changed(base, u.AddSchema(narrow), u.SetCurrentSchema())


def test_schemas_and_specs_that_are_not_current_can_be_removed():
    base = changed(metadata(), u.AddSchema(WIDER), u.AddPartitionSpec(spec_of("id")))
    after = changed(base, u.RemoveSchemas((1,)), u.RemovePartitionSpecs((1,)))
    assert (list(after.schemas), list(after.partition_specs)) == ([0], [0])
    with pytest.raises(ValidationException, match="current schema can't be removed"):
        changed(base, u.RemoveSchemas((0, 1)))
    with pytest.raises(ValidationException, match="default partition spec can't be removed"):
        changed(base, u.RemovePartitionSpecs((0,)))


def test_a_new_spec_gets_the_next_id_and_raises_the_last_partition_id():
    base = metadata(partition_by=["id"])
    after = changed(
        base, u.AddPartitionSpec(spec_of("days(ts)", first_id=1001)), u.SetDefaultSpec()
    )
    assert (after.default_spec_id, after.last_partition_id) == (1, 1001)


def test_an_equal_spec_keeps_its_id_whatever_its_field_ids():
    base = metadata(partition_by=["id"])
    after = changed(base, u.AddPartitionSpec(spec_of("id", first_id=1005)), u.SetDefaultSpec())
    assert after is base


def test_v1_needs_partition_field_ids_in_sequence():
    base = metadata(format_version=1)
    with pytest.raises(ValidationException, match="1000, 1001"):
        changed(base, u.AddPartitionSpec(spec_of("id", first_id=1001)))
    assert changed(base, u.AddPartitionSpec(spec_of("id"))).last_partition_id == 1000


def test_sort_orders_count_from_1_and_unsorted_is_0():
    base = metadata()
    by_id = parse_sort_order(["id"], EVENTS)
    after = changed(base, u.AddSortOrder(by_id), u.SetDefaultSortOrder())
    assert after.default_sort_order_id == 1
    again = changed(after, u.AddSortOrder(SortOrder(4)), u.SetDefaultSortOrder())
    assert again.sort_order == UNSORTED
    assert changed(again, u.AddSortOrder(dataclasses.replace(by_id, order_id=8))) is again


def test_unknown_transforms_are_not_written():
    key = SortField((1,), UnknownTransform("z"), SortDirection.ASC, NullOrder.NULLS_FIRST)
    part = PartitionField((1,), 1000, UnknownTransform("z"), "z")
    with pytest.raises(InvalidSchemaError, match="unknown transform can't be written"):
        changed(metadata(), u.AddSortOrder(SortOrder(1, (key,))))
    with pytest.raises(InvalidSchemaError, match="Unknown transform 'z' can't be written"):
        changed(metadata(), u.AddPartitionSpec(PartitionSpec(1, (part,))))


def test_partition_field_ids_are_unique_in_a_spec():
    spec = PartitionSpec(1, (*spec_of("id").fields, *spec_of("s").fields))
    with pytest.raises(InvalidSchemaError, match="same id"):
        changed(metadata(), u.AddPartitionSpec(spec))


def test_a_version_goes_up_only():
    base = metadata()
    assert changed(base, u.UpgradeFormatVersion(2)) is base
    assert changed(base, u.UpgradeFormatVersion(3)).next_row_id == 0
    with pytest.raises(ValidationException, match="can't go back from format-version 2 to 1"):
        changed(base, u.UpgradeFormatVersion(1))
    with pytest.raises(UnsupportedError, match="format-version 4 is not supported"):
        changed(base, u.UpgradeFormatVersion(4))


def test_an_upgrade_from_v1_gives_a_uuid():
    base = dataclasses.replace(metadata(format_version=1), table_uuid="")
    assert len(changed(base, u.UpgradeFormatVersion(2)).table_uuid) == 36


@pytest.mark.parametrize(
    ("child", "message"),
    [
        (field(9, "c", "timestamp_ns"), "needs format-version 3"),
        (field(9, "c", "variant"), "needs format-version 3"),
        (field(9, "c", "int", initial_default=1), "initial default, which needs format-version 3"),
    ],
)
def test_v2_refuses_what_came_with_v3(child, message):
    wider = Schema(*EVENTS.fields, child)
    with pytest.raises(InvalidSchemaError, match=message):
        changed(metadata(), u.AddSchema(wider))
    upgraded = changed(metadata(), u.UpgradeFormatVersion(3), u.AddSchema(wider))
    assert upgraded.last_column_id == 9


def test_properties_are_set_and_removed():
    base = metadata(properties={"a": "1", "b": "2"})
    after = changed(base, u.SetProperties({"b": "3", "c": "4"}), u.RemoveProperties(("a", "z")))
    assert after.properties == {"b": "3", "c": "4"}


@pytest.mark.parametrize("key", ["format-version", "uuid", "current-schema"])
def test_reserved_properties_are_refused(key):
    with pytest.raises(InvalidOptionError, match=f"'{key}'"):
        changed(metadata(), u.SetProperties({key: "2"}))


def test_a_uuid_and_a_location_can_be_set():
    after = changed(metadata(), u.AssignUuid("u"), u.SetLocation("s3://b/t/"))
    assert (after.table_uuid, after.location) == ("u", "s3://b/t")


def test_encryption_keys_come_and_go():
    one = changed(metadata(), u.AddEncryptionKey({"key-id": "k"}))
    assert changed(one, u.AddEncryptionKey({"key-id": "k"})) is one
    assert changed(one, u.RemoveEncryptionKey("k")).encryption_keys == ()


def test_unknown_members_survive_a_change():
    base = dataclasses.replace(metadata(), extra={"new": 1})
    assert changed(base, u.SetLocation("x")).extra == {"new": 1}


@pytest.mark.parametrize(
    ("updates", "missing"),
    [
        ([], "location"),
        ([u.SetLocation("x")], "schema"),
        ([u.SetLocation("x"), u.AddSchema(EVENTS), u.SetCurrentSchema()], "partition spec"),
    ],
)
def test_a_new_table_needs_its_parts(updates, missing):
    with pytest.raises(ValidationException, match=f"needs a {missing}"):
        apply(None, updates, now_ms=NOW)
