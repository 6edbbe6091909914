"""Iceberg schemas as Arrow schemas and back."""

import pyarrow as pa
import pytest

from iceberg_spark.arrow.file_fields import ids_of
from iceberg_spark.arrow.from_arrow import from_arrow, iceberg_type
from iceberg_spark.arrow.schema import FIELD_ID, field_id, to_arrow, to_arrow_type
from iceberg_spark.errors import InvalidSchemaError
from iceberg_spark.spec import types as t
from iceberg_spark.spec.name_mapping import from_schema
from tests.builders import field, list_of, map_of, schema, struct

PAIRS = [
    (t.BooleanType(), pa.bool_()),
    (t.IntegerType(), pa.int32()),
    (t.LongType(), pa.int64()),
    (t.FloatType(), pa.float32()),
    (t.DoubleType(), pa.float64()),
    (t.DecimalType(9, 2), pa.decimal128(9, 2)),
    (t.DecimalType(38, 0), pa.decimal128(38, 0)),
    (t.DateType(), pa.date32()),
    (t.TimeType(), pa.time64("us")),
    (t.TimestampType(), pa.timestamp("us")),
    (t.TimestamptzType(), pa.timestamp("us", tz="UTC")),
    (t.StringType(), pa.string()),
    (t.FixedType(5), pa.binary(5)),
    (t.BinaryType(), pa.binary()),
    (t.UnknownType(), pa.null()),
]
NESTED = schema(
    field(1, "id", "long", required=True, doc="the key"),
    field(2, "st", struct(field(3, "a", "int"), field(4, "b", "string", required=True))),
    field(5, "l", list_of(6, struct(field(7, "x", "double")), required=True)),
    field(8, "m", map_of(9, "string", 10, list_of(11, "date"))),
)


@pytest.mark.parametrize(("kind", "arrow"), PAIRS, ids=str)
def test_types_both_ways(kind, arrow):
    assert to_arrow_type(kind) == arrow
    assert iceberg_type(arrow) == kind


def test_uuid_is_16_fixed_bytes_and_arrows_own_uuid_is_one():
    assert to_arrow_type(t.UUIDType()) == pa.binary(16)
    assert iceberg_type(pa.uuid()) == t.UUIDType()


def test_nanosecond_types_of_version_3():
    assert to_arrow_type(t.TimestampNanoType()) == pa.timestamp("ns")
    assert to_arrow_type(t.TimestamptzNanoType()) == pa.timestamp("ns", tz="UTC")
    assert iceberg_type(pa.timestamp("ns")) == t.TimestampType()
    assert iceberg_type(pa.timestamp("ns", "UTC")) == t.TimestamptzType()
    assert iceberg_type(pa.timestamp("ns"), nano=True) == t.TimestampNanoType()
    assert iceberg_type(pa.timestamp("ns", "UTC"), nano=True) == t.TimestamptzNanoType()


def test_ids_docs_and_nullability_survive_both_ways_at_any_depth():
    arrow = to_arrow(NESTED)
    assert from_arrow(arrow) == NESTED
    assert arrow.field("id").metadata == {FIELD_ID: b"1", b"doc": b"the key"}
    assert not arrow.field("id").nullable
    element = arrow.field("l").type.value_field
    assert (element.name, field_id(element), element.nullable) == ("element", 6, False)
    assert field_id(arrow.field("m").type.key_field) == 9
    assert field_id(arrow.field("m").type.item_field) == 10


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        (pa.large_string(), t.StringType()),
        (pa.string_view(), t.StringType()),
        (pa.dictionary(pa.int8(), pa.large_string()), t.StringType()),
        (pa.run_end_encoded(pa.int32(), pa.int16()), t.IntegerType()),
        (pa.large_binary(), t.BinaryType()),
        (pa.binary_view(), t.BinaryType()),
        (pa.int8(), t.IntegerType()),
        (pa.uint16(), t.IntegerType()),
        (pa.uint32(), t.LongType()),
        (pa.float16(), t.FloatType()),
        (pa.date64(), t.DateType()),
        (pa.time32("ms"), t.TimeType()),
        (pa.timestamp("s"), t.TimestampType()),
        (pa.timestamp("ms", "Europe/Berlin"), t.TimestamptzType()),
        (pa.decimal256(30, 3), t.DecimalType(30, 3)),
        (pa.large_list(pa.int32()), t.ListType(1, t.IntegerType())),
        (pa.list_(pa.int32(), 3), t.ListType(1, t.IntegerType())),
        (pa.list_view(pa.int32()), t.ListType(1, t.IntegerType())),
    ],
    ids=str,
)
def test_other_layouts_of_a_users_arrow_are_what_they_stand_for(given, kind):
    assert iceberg_type(given) == kind


@pytest.mark.parametrize(
    "kind", [pa.uint64(), pa.duration("s"), pa.decimal256(50, 2), pa.month_day_nano_interval()]
)
def test_a_type_that_iceberg_lacks_names_the_column(kind):
    with pytest.raises(InvalidSchemaError, match=r"'st\.bad'"):
        from_arrow(pa.schema([pa.field("st", pa.struct([("bad", kind)]))]))


def test_ids_are_fresh_where_one_is_missing():
    plain = pa.schema(
        [
            pa.field("a", pa.int32(), metadata={FIELD_ID: "7"}),
            pa.field("l", pa.list_(pa.int32())),
        ]
    )
    assert from_arrow(plain).field_ids == (1, 2, 3)


def test_ids_come_from_a_name_mapping():
    bare = pa.schema([field.remove_metadata() for field in to_arrow(NESTED)])
    assert from_arrow(bare, id_of=ids_of(from_schema(NESTED))).field_ids == NESTED.field_ids
    with pytest.raises(InvalidSchemaError, match="'extra'"):
        from_arrow(pa.schema([("extra", pa.int8())]), id_of=ids_of(from_schema(NESTED)))


def test_sparks_id_of_minus_one_is_none():
    assert field_id(pa.field("element", pa.int8(), metadata={FIELD_ID: "-1"})) is None
    assert field_id(pa.field("element", pa.int8(), metadata={"iceberg.id": "4"})) == 4
