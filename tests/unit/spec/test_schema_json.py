"""Specification, Appendix C: schemas, partition specs and sort orders as JSON."""

import json

import pytest

from iceberg_spark.errors import CorruptFileError, InvalidSchemaError, UnsupportedError
from iceberg_spark.spec.partition_json import spec_from_dict, spec_to_dict
from iceberg_spark.spec.schema_json import (
    schema_from_dict,
    schema_to_dict,
    type_from_json,
    type_to_json,
)
from iceberg_spark.spec.sort_json import order_from_dict, order_to_dict
from iceberg_spark.spec.transforms import BucketTransform, UnknownTransform

SCHEMA = {
    "type": "struct",
    "schema-id": 3,
    "identifier-field-ids": [1],
    "fields": [
        {
            "id": 1,
            "name": "id",
            "required": True,
            "type": "uuid",
            "doc": "who",
            "initial-default": "0db3e2a8-9d1d-42b9-aa7b-74ebe558dceb",
            "write-default": "ec5911be-b0a7-458c-8438-c9a3e53cffae",
        },
        {
            "id": 2,
            "name": "l",
            "required": False,
            "type": {
                "type": "list",
                "element-id": 3,
                "element": {
                    "type": "map",
                    "key-id": 4,
                    "key": "string",
                    "value-id": 5,
                    "value": {
                        "type": "struct",
                        "fields": [{"id": 6, "name": "x", "required": True, "type": "fixed[3]"}],
                    },
                    "value-required": False,
                },
                "element-required": True,
            },
        },
    ],
}


def without(node, key):
    return {name: value for name, value in node.items() if name != key}


def test_a_schema_is_written_as_it_was_read():
    assert json.dumps(schema_to_dict(schema_from_dict(SCHEMA))) == json.dumps(SCHEMA)


def test_members_we_do_not_know_are_written_back():
    node = SCHEMA | {"new": [1]}
    node["fields"] = [SCHEMA["fields"][0] | {"color": "red"}]
    assert schema_to_dict(schema_from_dict(node)) == node


def test_a_missing_schema_id_is_0():
    assert schema_from_dict(without(SCHEMA, "schema-id")).schema_id == 0


@pytest.mark.parametrize("key", ["fields", "type"])
def test_a_schema_needs_its_members(key):
    with pytest.raises(CorruptFileError, match=f"'{key}' is missing"):
        schema_from_dict(without(SCHEMA, key))


@pytest.mark.parametrize("key", ["id", "name", "required"])
def test_a_field_needs_its_members(key):
    node = SCHEMA | {"fields": [without(SCHEMA["fields"][0], key)]}
    with pytest.raises(CorruptFileError, match=f"Column '.*': .*'{key}' is missing"):
        schema_from_dict(node)


def test_an_unknown_type_names_its_column():
    node = {"type": "struct", "fields": [{"id": 1, "name": "c", "required": False, "type": "x"}]}
    with pytest.raises(UnsupportedError, match="Column 'c': Unknown type 'x'"):
        schema_from_dict(node)


def test_a_bad_default_names_its_column():
    child = {"id": 1, "name": "c", "required": False, "type": "int", "write-default": "1"}
    with pytest.raises(InvalidSchemaError, match="Column 'c': 'write-default'"):
        schema_from_dict({"type": "struct", "fields": [child]})


def test_an_identifier_field_is_a_column():
    with pytest.raises(InvalidSchemaError, match="Identifier field 9"):
        schema_from_dict(SCHEMA | {"identifier-field-ids": [9]})


@pytest.mark.parametrize("node", [{"type": "set"}, 3, None, {"type": "list", "element": "int"}])
def test_a_type_of_another_shape_is_corrupt(node):
    with pytest.raises(CorruptFileError):
        type_from_json(node)


def test_a_type_is_written_as_it_was_read():
    node = SCHEMA["fields"][1]["type"]
    assert type_to_json(type_from_json(node)) == node


SPEC = {
    "spec-id": 2,
    "fields": [
        {"name": "ts_day", "transform": "day", "source-id": 4, "field-id": 1000},
        {"name": "many", "transform": "zorder", "source-ids": [1, 2], "field-id": 1001},
        {"name": "b", "transform": "bucket[16]", "source-id": 1, "field-id": 1005, "new": 1},
    ],
}


def test_a_spec_is_written_as_it_was_read():
    assert json.dumps(spec_to_dict(spec_from_dict(SPEC))) == json.dumps(SPEC)


def test_an_unknown_transform_and_several_sources_are_read():
    spec = spec_from_dict(SPEC)
    assert spec.fields[1].transform == UnknownTransform("zorder")
    assert spec.fields[1].source_ids == (1, 2)
    assert spec.fields[2].transform == BucketTransform(16)


def test_v1_field_ids_that_were_left_out_count_from_1000():
    fields = [without(one, "field-id") for one in SPEC["fields"]]
    spec = spec_from_dict(SPEC | {"fields": fields})
    assert [part.field_id for part in spec.fields] == [1000, 1001, 1002]


def test_field_ids_are_given_for_all_fields_or_none():
    fields = [without(SPEC["fields"][0], "field-id"), *SPEC["fields"][1:]]
    with pytest.raises(CorruptFileError, match="Some partition fields"):
        spec_from_dict(SPEC | {"fields": fields})


def test_partition_field_ids_are_unique_in_a_spec():
    with pytest.raises(CorruptFileError, match="same 'field-id'"):
        spec_from_dict(SPEC | {"fields": [SPEC["fields"][0]] * 2})


@pytest.mark.parametrize("key", ["name", "transform", "source-id"])
def test_a_partition_field_needs_its_members(key):
    node = SPEC | {"fields": [without(SPEC["fields"][0], key)]}
    with pytest.raises(CorruptFileError, match=f"Partition field 0: .*'{key}' is missing"):
        spec_from_dict(node)


ORDER = {
    "order-id": 1,
    "fields": [
        {"transform": "identity", "source-id": 2, "direction": "asc", "null-order": "nulls-first"},
        {"transform": "bucket[4]", "source-id": 3, "direction": "desc", "null-order": "nulls-last"},
    ],
}


def test_a_sort_order_is_written_as_it_was_read():
    assert json.dumps(order_to_dict(order_from_dict(ORDER))) == json.dumps(ORDER)


def test_order_0_is_unsorted():
    with pytest.raises(CorruptFileError, match="reserved for unsorted"):
        order_from_dict(ORDER | {"order-id": 0})


@pytest.mark.parametrize(("key", "value"), [("direction", "up"), ("null-order", "first")])
def test_directions_and_null_orders_are_known(key, value):
    node = ORDER | {"fields": [ORDER["fields"][0] | {key: value}]}
    with pytest.raises(CorruptFileError, match=f"'{value}' must be"):
        order_from_dict(node)
