"""Transform results, partition types and what a schema may hold."""

import pytest

from iceberg_spark.errors import InvalidSchemaError
from iceberg_spark.spec.compatibility import check_schema
from iceberg_spark.spec.partition import PartitionField, PartitionSpec
from iceberg_spark.spec.partition_type import partition_type, union_partition_type
from iceberg_spark.spec.transform_text import parse_partition_spec, parse_transform
from iceberg_spark.spec.transforms import VoidTransform, can_transform, result_type
from tests.builders import field, list_of, schema, struct, type_of

DAYS = ["date", "timestamp", "timestamptz", "timestamp_ns", "timestamptz_ns"]
TRUNCATED = ["int", "long", "decimal(9, 2)", "string", "binary"]
HASHED = [*TRUNCATED, *DAYS, "time", "uuid", "fixed[4]"]
ALL = [*HASHED, "boolean", "float", "double", "unknown", "geometry", "geography", "variant"]
IDENTITY = [kind for kind in ALL if kind not in ("geometry", "geography", "variant")]
TAKES = {
    "identity": IDENTITY,
    "bucket[4]": HASHED,
    "truncate[4]": TRUNCATED,
    "year": DAYS,
    "month": DAYS,
    "day": DAYS,
    "hour": DAYS[1:],
    "void": ALL,
}


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("text", TAKES)
def test_a_transform_takes_the_types_of_the_specification(text, kind):
    assert can_transform(parse_transform(text), type_of(kind)) == (kind in TAKES[text])


@pytest.mark.parametrize(
    ("text", "source", "result"),
    [
        ("identity", "uuid", "uuid"),
        ("bucket[4]", "string", "int"),
        ("truncate[4]", "decimal(9, 2)", "decimal(9, 2)"),
        ("year", "date", "int"),
        ("month", "timestamptz", "int"),
        ("day", "timestamp", "date"),
        ("hour", "timestamp_ns", "int"),
        ("void", "double", "double"),
        ("zorder", "double", "string"),
    ],
)
def test_a_transform_has_its_result_type(text, source, result):
    assert result_type(parse_transform(text), type_of(source)) == type_of(result)


COLUMNS = schema(("id", "long"), ("ts", "timestamp"))


def test_partition_fields_have_their_own_ids_and_are_optional():
    spec = parse_partition_spec(["id", "days(ts)"], COLUMNS)
    assert partition_type(spec, COLUMNS) == struct(
        field(1000, "id", "long"), field(1001, "ts_day", "date")
    )


def test_a_dropped_source_is_looked_up_in_former_schemas_or_read_as_string():
    spec = parse_partition_spec(["id"], COLUMNS)
    now = schema(field(2, "ts", "timestamp"))
    assert partition_type(spec, now).fields[0].field_type == type_of("string")
    assert partition_type(spec, now, [COLUMNS]).fields[0].field_type == type_of("long")


def test_the_union_of_specs_has_every_field_once_by_id():
    first = parse_partition_spec(["days(ts)", "id"], COLUMNS)
    renamed = PartitionField((1,), 1001, first.fields[1].transform, "key")
    voided = PartitionField((2,), 1000, VoidTransform(), "ts_day")
    second = PartitionSpec(1, (renamed, voided))
    assert union_partition_type([first, second], COLUMNS) == struct(
        field(1000, "ts_day", "date"), field(1001, "key", "long")
    )


POINT = field(2, "p", struct(field(3, "x", "int", True), field(4, "y", "double", True)))
STRICT = field(2, "p", POINT.field_type, True)
INTS = field(5, "l", list_of(6, struct(field(7, "z", "int", True)), True), True)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (schema(POINT, identifier_field_ids=(3,)), "inside the optional struct 'p'"),
        (schema(STRICT, identifier_field_ids=(4,)), r"'p\.y' is of type double"),
        (schema(STRICT, identifier_field_ids=(2,)), "'p' is not primitive"),
        (schema(INTS, identifier_field_ids=(7,)), "inside a list or map"),
        (schema(("a", "int"), identifier_field_ids=(1,)), "'a' is optional"),
        (schema(field(1, "u", "unknown", True)), "'u' of type unknown must be optional"),
        (schema(field(1, "v", "variant", write_default=1)), "'v' .* can't have a default"),
        (schema(field(2_147_483_448, "a", "int")), "has the id 2147483448"),
        (schema(field(0, "a", "int")), "has the id 0"),
    ],
)
def test_a_schema_that_breaks_a_rule_is_refused(columns, message):
    with pytest.raises(InvalidSchemaError, match=message):
        check_schema(columns, 3)


def test_an_identifier_may_sit_in_required_structs():
    check_schema(schema(STRICT, identifier_field_ids=(3,)), 1)


def test_every_problem_is_listed():
    columns = schema(("a", "timestamp_ns"), ("b", "variant"))
    with pytest.raises(
        InvalidSchemaError, match=r"'a' has type timestamp_ns.*'b' has type variant"
    ):
        check_schema(columns, 2)
