"""Specification, "Name Mapping Serialization"."""

import json

import pytest

from iceberg_spark.errors import CorruptFileError
from iceberg_spark.spec.name_mapping import from_schema, parse, to_json
from tests.builders import field, list_of, map_of, schema, struct

EXAMPLE = [
    {"field-id": 1, "names": ["id", "record_id"]},
    {"names": ["data"]},
    {
        "field-id": 3,
        "names": ["location"],
        "fields": [
            {"field-id": 4, "names": ["latitude", "lat"]},
            {"field-id": 5, "names": ["longitude", "long"]},
        ],
    },
]


def test_a_mapping_is_written_as_it_was_read():
    assert json.loads(to_json(parse(json.dumps(EXAMPLE)))) == EXAMPLE


def test_every_name_of_a_level_finds_its_field():
    mapping = parse(json.dumps(EXAMPLE))
    assert mapping.field_id("record_id") == 1
    assert mapping.field_id("location", "lat") == 4
    assert mapping.field_id("data") is None
    assert mapping.find("data").names == ("data",)
    assert mapping.find("lat") is None
    assert mapping.find("id", "x") is None
    assert mapping.names_by_id()[5] == ("longitude", "long")


def test_a_schema_gives_its_present_names():
    columns = schema(
        field(1, "l", list_of(2, struct(field(3, "x", "int")))),
        field(4, "m", map_of(5, "string", 6, "int")),
    )
    mapping = from_schema(columns)
    assert mapping.field_id("l", "element", "x") == 3
    assert mapping.field_id("m", "key") == 5
    assert mapping.field_id("m", "value") == 6
    assert parse(to_json(mapping)) == mapping


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[", "is not JSON"),
        ("{}", "must be a JSON array"),
        ('[{"field-id": 1}]', "'names' is missing"),
        ('[{"field-id": "1", "names": []}]', "'field-id' must be an integer"),
        ('[{"names": ["a"]}, {"names": ["a"]}]', "Two fields have the name 'a'"),
        (
            '[{"field-id": 1, "names": ["a"]}, {"field-id": 1, "names": ["b"]}]',
            "id 1 is used twice",
        ),
    ],
)
def test_a_bad_mapping_names_the_property(text, message):
    with pytest.raises(CorruptFileError, match=rf"schema\.name-mapping\.default.*{message}"):
        parse(text)
