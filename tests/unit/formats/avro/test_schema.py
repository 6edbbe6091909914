"""Iceberg types as Avro schemas (specification: "Avro")."""

import json

import fastavro
import pytest

from iceberg_spark.errors import CorruptFileError, UnsupportedError
from iceberg_spark.formats.avro.schema import (
    avro_record,
    compatible_name,
    decimal_bytes,
    iceberg_struct,
)
from iceberg_spark.formats.avro.types import parse_record
from iceberg_spark.spec.types import StructType, VariantType
from tests.builders import field, list_of, map_of, struct
from tests.unit.formats.avro_files import VALUES


def _type(kind: str) -> object:
    return avro_record(struct(field(1, "c", kind, required=True)), "t")["fields"][0]["type"]


@pytest.mark.parametrize(
    ("kind", "avro"),
    [
        ("date", {"type": "int", "logicalType": "date"}),
        ("time", {"type": "long", "logicalType": "time-micros"}),
        (
            "timestamp",
            {"type": "long", "logicalType": "timestamp-micros", "adjust-to-utc": False},
        ),
        (
            "timestamptz",
            {"type": "long", "logicalType": "timestamp-micros", "adjust-to-utc": True},
        ),
        (
            "timestamptz_ns",
            {"type": "long", "logicalType": "timestamp-nanos", "adjust-to-utc": True},
        ),
        (
            "decimal(9, 2)",
            {
                "type": "fixed",
                "name": "decimal_9_2",
                "size": 4,
                "logicalType": "decimal",
                "precision": 9,
                "scale": 2,
            },
        ),
        ("uuid", {"type": "fixed", "name": "uuid_fixed", "size": 16, "logicalType": "uuid"}),
        ("fixed[7]", {"type": "fixed", "name": "fixed_7", "size": 7}),
        ("binary", "bytes"),
        ("unknown", "null"),
    ],
)
def test_types_map_as_the_specification_says(kind: str, avro: object) -> None:
    assert _type(kind) == avro


def test_an_optional_field_is_a_union_with_null_and_defaults_to_null() -> None:
    made = avro_record(struct(field(8, "l", "long")), "t")["fields"][0]
    assert made == {"name": "l", "type": ["null", "long"], "default": None, "field-id": 8}


def test_ids_of_elements_keys_and_values_are_written() -> None:
    made = avro_record(
        struct(
            field(1, "l", list_of(9, "int", required=True), required=True),
            field(2, "m", map_of(10, "string", 11, "int"), required=True),
            field(3, "k", map_of(12, "int", 13, "string"), required=True),
        ),
        "t",
    )
    items, by_text, by_id = (one["type"] for one in made["fields"])
    assert items == {"type": "array", "items": "int", "element-id": 9}
    assert (by_text["type"], by_text["key-id"], by_text["value-id"]) == ("map", 10, 11)
    assert by_id["logicalType"] == "map" and by_id["items"]["name"] == "k12_v13"
    assert [one["field-id"] for one in by_id["items"]["fields"]] == [12, 13]


@pytest.mark.parametrize(
    ("name", "avro"),
    [
        ("plain_1", "plain_1"),
        ("1st", "_1st"),
        ("a-b", "a_x2Db"),
        ("a.b c", "a_x2Eb_x20c"),
        ("täst", "t_xE4st"),
        ("Ü1", "_xDC1"),
        ("名", "_x540D"),
        ("٣", "_x663"),
        ("😀", "_xD83D_xDE00"),
    ],
)
def test_names_hold_only_the_characters_that_avro_allows(name: str, avro: str) -> None:
    assert compatible_name(name) == avro


def test_the_real_name_is_kept_beside_a_changed_one() -> None:
    columns = struct(field(1, "a-b", "long"))
    made = avro_record(columns, "t")
    assert made["fields"][0]["iceberg-field-name"] == "a-b"
    assert iceberg_struct(parse_record(made, "x"), "x") == columns


def test_every_type_comes_back_from_its_avro_schema() -> None:
    columns = StructType(
        *(field(at, f"c{at}", kind) for at, kind in enumerate(VALUES, 1)),
        field(50, "u", "unknown"),
        field(51, "s", struct(field(52, "x", "uuid"), field(53, "y", "uuid", required=True))),
        field(54, "l", list_of(55, struct(field(56, "z", "fixed[3]")))),
        field(57, "m", map_of(58, "string", 59, "decimal(9, 2)")),
        field(60, "k", map_of(61, "uuid", 62, list_of(63, "date", required=True))),
    )
    made = json.loads(json.dumps(avro_record(columns, "t")))
    assert iceberg_struct(parse_record(made, "x"), "x") == columns


def test_no_type_name_is_given_twice() -> None:
    columns = StructType(*(field(at, f"c{at}", "uuid") for at in range(1, 4)))
    fastavro.parse_schema(avro_record(columns, "t"))


def test_decimals_use_the_least_bytes_that_hold_their_precision() -> None:
    sizes = {1: 1, 2: 1, 3: 2, 4: 2, 9: 4, 10: 5, 18: 8, 19: 9, 38: 16}
    assert {digits: decimal_bytes(digits) for digits in sizes} == sizes


def test_a_field_without_id_is_refused_by_name() -> None:
    fields = parse_record(
        {"type": "record", "name": "r", "fields": [{"name": "a", "type": "int"}]}, "f.avro"
    )
    with pytest.raises(CorruptFileError, match=r"f\.avro.*'a' without a field id"):
        iceberg_struct(fields, "f.avro")


def test_a_variant_is_a_record_whose_parts_have_no_ids() -> None:
    record = avro_record(struct(field(1, "v", VariantType(), True)), "t")
    parts = [{"name": "metadata", "type": "bytes"}, {"name": "value", "type": "bytes"}]
    kind = {"type": "record", "name": "r1", "logicalType": "variant", "fields": parts}
    assert record["fields"] == [{"name": "v", "type": kind, "field-id": 1}]


def test_a_recursive_type_is_refused() -> None:
    fields = [{"name": "next", "type": ["null", "node"]}]
    with pytest.raises(UnsupportedError, match="recursive"):
        parse_record({"type": "record", "name": "node", "fields": fields}, "f.avro")


def _record(name: str, *fields: object, **more: str) -> dict:
    listed = [{"name": f"f{at}", "type": kind} for at, kind in enumerate(fields)]
    return {"type": "record", "name": name, "fields": listed, **more}


def test_a_name_without_a_namespace_is_of_the_type_around_it() -> None:
    ints, texts = _record("P", "int", "int"), _record("P", "string", namespace="y")
    fields = parse_record(_record("R", ints, texts, "P", "y.P", "x.P", namespace="x"), "f.avro")
    kinds = [[child.type.kind for child in one.type.fields] for one in fields]
    assert kinds == [["int", "int"], ["string"], ["int", "int"], ["string"], ["int", "int"]]


def test_a_name_may_be_of_no_namespace_or_say_its_own() -> None:
    inner = _record("z.Q", _record("P", "int"), "P")
    fields = parse_record(_record("x.R", {"type": "fixed", "name": "N", "namespace": "", "size": 3},
                                  inner, "N", "z.P"), "f.avro")  # fmt: skip
    assert [one.type.kind for one in fields] == ["fixed", "record", "fixed", "record"]
    assert fields[2].type.size == 3


def test_a_type_of_another_namespace_is_not_recursive() -> None:
    inner = _record("R", "int", namespace="y")
    (field,) = parse_record(_record("R", inner, namespace="x"), "f.avro")
    assert field.type.kind == "record"
    with pytest.raises(UnsupportedError, match="recursive"):
        parse_record(_record("R", _record("Q", "x.R"), namespace="x"), "f.avro")


@pytest.mark.parametrize("names", [("Ü", "_xDC"), ("a_x2Db", "a-b"), ("1a", "_1a")])
def test_columns_with_one_avro_name_are_two_fields(names: tuple[str, str]) -> None:
    """A legal name stays as it is; the escaped one gets its field id."""
    columns = struct(*(field(number, name, "int") for number, name in enumerate(names, 1)))
    written = avro_record(columns, "row")["fields"]
    assert len({each["name"] for each in written}) == 2
    assert [each.get("iceberg-field-name", each["name"]) for each in written] == list(names)
    read = iceberg_struct(parse_record(avro_record(columns, "row"), "a file"), "a file")
    assert [each.name for each in read.fields] == list(names)
