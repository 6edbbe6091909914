"""Names and ids of columns."""

import pickle

import pytest

from iceberg_spark.errors import InvalidSchemaError
from tests.builders import field, list_of, map_of, schema, struct

POINT = struct(field(4, "x", "int"), field(5, "Y", "int"))
NESTED = schema(
    field(1, "id", "long"),
    field(2, "points", list_of(3, POINT)),
    field(
        6,
        "by_name",
        map_of(7, "string", 8, struct(field(9, "z", list_of(10, struct(field(11, "w", "int")))))),
    ),
)


def test_full_names_have_element_key_and_value():
    assert NESTED.find_id("points.element.x") == 4
    assert NESTED.find_id("by_name.key") == 7
    assert NESTED.find_id("by_name.value.z.element.w") == 11
    assert NESTED.find_column_name(4) == "points.element.x"


def test_short_names_leave_out_structs_in_lists_and_maps():
    assert NESTED.find_id("points.x") == 4
    assert NESTED.find_id("by_name.z") == 9
    assert NESTED.find_id("by_name.z.w") == 11
    assert NESTED.find_id("BY_NAME.z.W", case_sensitive=False) == 11


def test_a_short_name_gives_way_to_a_real_one():
    inner = struct(field(3, "a", "int"))
    columns = schema(field(1, "l", list_of(2, inner)), field(4, "l.a", "string"))
    assert columns.find_id("l.a") == 4
    assert columns.find_id("l.element.a") == 3


def test_a_column_named_element_does_not_clash():
    inner = struct(field(3, "element", "int"))
    columns = schema(field(1, "l", list_of(2, inner)))
    assert columns.find_id("l.element") == 2
    assert columns.find_id("l.element.element") == 3


def test_an_id_is_used_once():
    with pytest.raises(InvalidSchemaError, match=r"id 1 is used twice, by 'a' and 'b\.element'"):
        schema(field(1, "a", "int"), field(2, "b", list_of(1, "int")))


def test_a_name_is_used_once():
    with pytest.raises(InvalidSchemaError, match="Two fields are named 'a'"):
        schema(("a", "int"), ("a", "long"))


def test_columns_that_differ_by_case_are_ambiguous_only_without_case():
    columns = schema(("a", "int"), ("A", "int"))
    assert columns.find_id("A") == 2
    assert columns.find_id("A", case_sensitive=False) == 2
    columns = schema(("aB", "int"), ("Ab", "int"))
    with pytest.raises(InvalidSchemaError, match="differ only by case"):
        columns.find_id("ab", case_sensitive=False)


def test_a_schema_survives_pickling():
    again = pickle.loads(pickle.dumps(NESTED))
    assert again == NESTED
    assert again.find_id("points.x") == 4


def test_equal_schemas_have_one_hash_whatever_their_defaults_are():
    kind = struct(field(2, "x", "int"))
    one, other, third = (
        schema(field(1, "s", kind, write_default=value)) for value in ({}, {}, {"x": 1})
    )
    assert one == other != third
    assert len({one, other, third}) == 2
