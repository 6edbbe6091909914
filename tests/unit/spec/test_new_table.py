"""The first metadata of a table: fresh ids in Java's order, bound specs, properties."""

import pytest

from iceberg_spark.errors import InvalidOptionError, InvalidSchemaError, UnsupportedError
from iceberg_spark.spec.fresh_ids import assign_fresh_ids
from iceberg_spark.spec.new_table import new_metadata
from iceberg_spark.spec.partition import PartitionField, PartitionSpec
from iceberg_spark.spec.transform_text import parse_partition_spec, parse_sort_order
from iceberg_spark.spec.transforms import IdentityTransform
from tests.builders import field, list_of, map_of, metadata, schema, struct

USERS = schema(
    field(50, "a", struct(field(51, "x", "int"), field(52, "m", map_of(53, "string", 54, "int")))),
    field(60, "l", list_of(61, struct(field(62, "y", "int")))),
    field(70, "b", "string", required=True),
    identifier_field_ids=(70,),
)


def test_all_fields_of_a_struct_get_their_ids_before_what_is_in_them():
    fresh = assign_fresh_ids(USERS)
    names = {name: fresh.find_id(name) for name in fresh.column_names}
    assert names == {
        "a": 1, "l": 2, "b": 3,
        "a.x": 4, "a.m": 5, "a.m.key": 6, "a.m.value": 7,
        "l.element": 8, "l.element.y": 9,
    }  # fmt: skip


def test_identifier_fields_follow_their_names():
    assert assign_fresh_ids(USERS).identifier_field_ids == (3,)


def test_ids_of_a_base_schema_are_kept_by_name():
    base = schema(field(7, "b", "int"))
    fresh = assign_fresh_ids(USERS, last_column_id=20, base=base)
    assert (fresh.find_id("b"), fresh.find_id("a"), fresh.find_id("l")) == (7, 21, 22)


def test_spec_and_sort_order_are_bound_to_the_new_ids_by_name():
    spec = parse_partition_spec(["bucket(4, a.x)", "b"], USERS)
    order = parse_sort_order(["a.x desc"], USERS)
    made = new_metadata(USERS, spec, order, location="x", now_ms=1)
    assert [(part.source_id, part.field_id) for part in made.spec.fields] == [(4, 1000), (3, 1001)]
    assert made.sort_order.fields[0].source_id == 4
    assert (made.last_column_id, made.last_partition_id) == (9, 1001)
    assert (made.default_spec_id, made.default_sort_order_id, made.current_schema_id) == (0, 1, 0)


def test_a_spec_of_another_schema_is_refused():
    spec = PartitionSpec(0, (PartitionField((99,), 1000, IdentityTransform(), "z"),))
    with pytest.raises(InvalidSchemaError, match="source column 99 of partition field 'z'"):
        new_metadata(USERS, spec, location="x", now_ms=1)


def test_a_new_table_is_v2_and_has_no_property_unasked():
    made = metadata()
    assert made.format_version == 2
    assert made.properties == {}
    assert made.current_snapshot_id is None
    assert made.last_sequence_number == 0


def test_the_format_version_may_be_a_property_that_is_not_stored():
    made = metadata(format_version=None, properties={"format-version": "1", "a": "b"})
    assert made.format_version == 1
    assert made.properties == {"a": "b"}


def test_two_answers_for_the_format_version_are_refused():
    with pytest.raises(
        InvalidOptionError, match="'format-version' is 1, but the requested format version is 2"
    ):
        metadata(format_version=2, properties={"format-version": "1"})


def test_an_unknown_format_version_is_refused():
    with pytest.raises(UnsupportedError, match="format-version 9"):
        metadata(format_version=9)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("uuid", "x"),
        ("commit.retry.num-retries", "many"),
        ("commit.retry.num-retries", "-1"),
        ("write.metadata.metrics.column.nope", "full"),
        ("write.format.default", "csv"),
        ("write.metadata.delete-after-commit.enabled", "yes"),
    ],
)
def test_bad_properties_are_refused(key, value):
    with pytest.raises(InvalidOptionError, match=f"'{key}'"):
        metadata(properties={key: value})
