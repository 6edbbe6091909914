"""Schemas as Spark DDL text."""

import pytest

from iceberg_spark.errors import InvalidSchemaError
from iceberg_spark.expr.schema_ddl import schema_from_ddl, type_from_ddl
from iceberg_spark.spec import types as t


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("boolean", t.BooleanType()),
        ("tinyint", t.IntegerType()),
        ("smallint", t.IntegerType()),
        ("int", t.IntegerType()),
        ("bigint", t.LongType()),
        ("float", t.FloatType()),
        ("double", t.DoubleType()),
        ("decimal(9,2)", t.DecimalType(9, 2)),
        ("decimal(9)", t.DecimalType(9, 0)),
        ("decimal", t.DecimalType(10, 0)),
        ("date", t.DateType()),
        ("time", t.TimeType()),
        ("timestamp", t.TimestamptzType()),
        ("timestamp_ltz", t.TimestamptzType()),
        ("timestamp_ntz", t.TimestampType()),
        ("string", t.StringType()),
        ("varchar(10)", t.StringType()),
        ("char(3)", t.StringType()),
        ("binary", t.BinaryType()),
        ("uuid", t.UUIDType()),
    ],
)
def test_a_type_name(text: str, kind: t.IcebergType) -> None:
    assert type_from_ddl(text) == kind


def test_nested_types_not_null_and_comments() -> None:
    schema = schema_from_ddl(
        "id bigint not null comment 'the key', s struct<a: int not null, `b c`: string>, "
        "l array<struct<x: int>>, m map<string, decimal(9,2)>"
    )
    assert schema.find_field("id").required
    assert schema.find_field("id").doc == "the key"
    assert schema.find_field("s.a").required
    assert schema.find_type("s.b c") == t.StringType()
    assert schema.find_type("l.element.x") == t.IntegerType()
    assert schema.find_type("m.value") == t.DecimalType(9, 2)


@pytest.mark.parametrize(
    ("text", "shown"),
    [("id foo", "id foo"), ("id", "'id'"), ("i interval day", "INTERVAL"), ("id bigint,(", "id")],
)
def test_what_is_no_schema_is_shown(text: str, shown: str) -> None:
    with pytest.raises(InvalidSchemaError, match=shown):
        schema_from_ddl(text)


@pytest.mark.parametrize("text", ["fixed[16]", "fixed(16)", "FIXED [ 16 ]"])
def test_bytes_of_one_length_are_written_as_iceberg_does(text: str) -> None:
    """sqlglot takes the word for a decimal."""
    schema = schema_from_ddl(f"a array<{text}>, f {text} not null comment 'no fixed[3]'")
    assert [str(field.field_type) for field in schema.fields] == ["list<fixed[16]>", "fixed[16]"]
    assert schema.fields[1].doc == "no fixed[3]"
    for wrong in ("f fixed", "f varbinary(16)", "f fixed[n]"):
        with pytest.raises(InvalidSchemaError):
            schema_from_ddl(wrong)
