"""Transforms, partition fields and sort fields from text."""

import pytest

from iceberg_spark.errors import InvalidSchemaError
from iceberg_spark.spec.transform_text import (
    parse_partition_field,
    parse_partition_spec,
    parse_sort_field,
    parse_sort_order,
    parse_transform,
)
from iceberg_spark.spec.transforms import BucketTransform, TruncateTransform, UnknownTransform
from tests.builders import field, list_of, map_of, schema, struct

COLUMNS = schema(
    field(1, "id", "long"),
    field(2, "ts", "timestamp"),
    field(3, "s", "string"),
    field(4, "a", struct(field(5, "b", "int"), field(6, "c d", "date"))),
    field(7, "l", list_of(8, struct(field(9, "x", "int")))),
    field(10, "m", map_of(11, "string", 12, "int")),
    field(13, "day", "date"),
    field(14, "f", "double"),
    field(15, "odd`name", "int"),
)


@pytest.mark.parametrize(
    "text", ["identity", "bucket[16]", "truncate[4]", "year", "month", "day", "hour", "void"]
)
def test_a_stored_transform_reads_back_as_it_is_written(text):
    assert str(parse_transform(text)) == text
    assert parse_transform(text.upper()) == parse_transform(text)


def test_an_unknown_transform_keeps_its_text():
    assert parse_transform("zorder[3, 4]") == UnknownTransform("zorder[3, 4]")


@pytest.mark.parametrize("text", ["bucket[0]", "truncate[0]", "bucket[2147483648]"])
def test_widths_start_at_1(text):
    with pytest.raises(InvalidSchemaError, match="must be 1 to"):
        parse_transform(text)


@pytest.mark.parametrize(
    ("text", "transform", "source", "name"),
    [
        ("id", "identity", 1, "id"),
        ("identity(id)", "identity", 1, "id"),
        ("days(ts)", "day", 2, "ts_day"),
        ("day(ts)", "day", 2, "ts_day"),
        ("date(ts)", "day", 2, "ts_day"),
        ("hours(ts)", "hour", 2, "ts_hour"),
        ("hour(ts)", "hour", 2, "ts_hour"),
        ("date_hour(ts)", "hour", 2, "ts_hour"),
        ("months(ts)", "month", 2, "ts_month"),
        ("years(ts)", "year", 2, "ts_year"),
        ("bucket(16, id)", "bucket[16]", 1, "id_bucket"),
        ("bucket(id, 16)", "bucket[16]", 1, "id_bucket"),
        (" BUCKET ( 16 ,id ) ", "bucket[16]", 1, "id_bucket"),
        ("truncate(4, s)", "truncate[4]", 3, "s_trunc"),
        ("void(s)", "void", 3, "s_null"),
        ("a.b", "identity", 5, "a.b"),
        ("days(a.`c d`)", "day", 6, "a.c d_day"),
        ("`id`", "identity", 1, "id"),
        ("day", "identity", 13, "day"),
        ("`odd``name`", "identity", 15, "odd`name"),
        ("bucket(4, id) as shard", "bucket[4]", 1, "shard"),
        ("days(ts) AS `the day`", "day", 2, "the day"),
    ],
)
def test_a_partition_field_is_read(text, transform, source, name):
    part = parse_partition_field(text, COLUMNS)
    assert (str(part.transform), part.source_ids, part.name) == (transform, (source,), name)


def test_case_matters_only_when_asked_to():
    assert parse_partition_field("days(TS)", COLUMNS, case_sensitive=False).name == "ts_day"
    with pytest.raises(InvalidSchemaError, match="No column 'TS'"):
        parse_partition_field("days(TS)", COLUMNS)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nope", "No column 'nope'"),
        ("weeks(ts)", "Unknown transform 'weeks'"),
        ("days(ts, 3)", "day(s)? takes one column"),
        ("bucket(id)", "bucket takes a number and a column"),
        ("bucket(16, 4)", "bucket takes a number and a column"),
        ("bucket(0, id)", "must be 1 to"),
        ("days(ts", "closing parenthesis"),
        ("days()", "a column name is missing"),
        ("", "a column name is missing"),
        ("a.", "a column name is missing"),
        ("id desc", "from 'desc' on"),
        ("`id", "Can't read"),
    ],
)
def test_a_text_that_can_not_be_read_is_named(text, message):
    with pytest.raises(InvalidSchemaError, match=message):
        parse_partition_field(text, COLUMNS)


def test_partition_field_ids_count_from_1000():
    spec = parse_partition_spec(["days(ts)", "bucket(4, id)"], COLUMNS)
    assert [part.field_id for part in spec.fields] == [1000, 1001]


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["a"], "not primitive"),
        (["l.element.x"], "inside a list"),
        (["m.value"], "inside a map"),
        (["m.key"], "inside a map"),
        (["days(id)"], "day can't be used on column 'id' of type long"),
        (["hours(a.`c d`)"], "hour can't be used"),
        (["bucket(4, f)"], "bucket.* of type double"),
        (["truncate(4, ts)"], "truncate.* of type timestamp"),
        (["id", "bucket(4, s) as id"], "Two partition fields are named 'id'"),
        (["bucket(4, id) as s"], "has the name of a column"),
        (["id as s"], "has the name of another column"),
        (["days(ts)", "hours(ts)"], "redundant: column 'ts'"),
        (["id", "id as other"], "redundant: column 'id'"),
    ],
)
def test_a_spec_that_breaks_a_rule_is_refused(texts, message):
    with pytest.raises(InvalidSchemaError, match=message):
        parse_partition_spec(texts, COLUMNS)


def test_different_transforms_of_one_column_are_allowed():
    assert (
        len(parse_partition_spec(["bucket(4, id)", "bucket(8, id) as b8", "id"], COLUMNS).fields)
        == 3
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("id", "identity(1) asc nulls-first"),
        ("id asc", "identity(1) asc nulls-first"),
        ("id desc", "identity(1) desc nulls-last"),
        ("id DESC NULLS FIRST", "identity(1) desc nulls-first"),
        ("id nulls last", "identity(1) asc nulls-last"),
        ("bucket(4, id) asc", "bucket[4](1) asc nulls-first"),
        ("a.b desc nulls last", "identity(5) desc nulls-last"),
    ],
)
def test_a_sort_field_is_read(text, expected):
    assert str(parse_sort_field(text, COLUMNS)) == expected


@pytest.mark.parametrize("text", ["id up", "id nulls", "id desc nulls middle", "id nulls last asc"])
def test_a_sort_text_that_can_not_be_read_is_named(text):
    with pytest.raises(InvalidSchemaError, match=f"Can't read '{text}'"):
        parse_sort_field(text, COLUMNS)


def test_a_sort_order_has_the_id_1_or_0_when_unsorted():
    assert parse_sort_order(["id", "s desc"], COLUMNS).order_id == 1
    assert parse_sort_order([], COLUMNS).order_id == 0
    with pytest.raises(InvalidSchemaError, match="not primitive"):
        parse_sort_order(["l"], COLUMNS)


def test_widths_are_kept():
    assert parse_partition_field("bucket(5, id)", COLUMNS).transform == BucketTransform(5)
    assert parse_partition_field("truncate(6, s)", COLUMNS).transform == TruncateTransform(6)
