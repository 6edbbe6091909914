"""Types that casts over Connect name, as SQL says them."""

import pytest
from pyspark.sql import types as s
from pyspark.sql.connect.types import pyspark_types_to_proto_types

from iceberg_spark.errors import UnsupportedError
from iceberg_spark.spark.catalyst.column_texts import cast_type

NESTED = s.StructType(
    [
        s.StructField("a`b", s.ArrayType(s.TimestampType())),
        s.StructField("m", s.MapType(s.StringType(), s.DecimalType(9, 2)), nullable=False),
    ]
)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (s.NullType(), "void"), (s.ByteType(), "tinyint"), (s.ShortType(), "smallint"),
        (s.IntegerType(), "int"), (s.LongType(), "bigint"), (s.BinaryType(), "binary"),
        (s.DateType(), "date"), (s.TimestampType(), "timestamp_ltz"),
        (s.TimestampNTZType(), "timestamp_ntz"), (s.TimeType(3), "time(3)"),
        (s.DecimalType(38, 18), "decimal(38,18)"), (s.StringType(), "string"),
        (s.StringType("UNICODE"), "string collate UNICODE"), (s.CharType(5), "char(5)"),
        (s.VarcharType(7), "varchar(7)"), (s.CalendarIntervalType(), "interval"),
        (s.DayTimeIntervalType(), "interval day to second"),
        (s.DayTimeIntervalType(1), "interval hour"),
        (s.YearMonthIntervalType(), "interval year to month"), (s.VariantType(), "variant"),
        (
            NESTED,
            "struct<`a``b`: array<timestamp_ltz>, `m`: map<string, decimal(9,2)> NOT NULL>",
        ),
    ],
)  # fmt: skip
def test_a_type_is_said_as_sql(kind: s.DataType, text: str) -> None:
    assert cast_type(pyspark_types_to_proto_types(kind)) == text


def test_a_type_that_sql_cant_say_is_refused() -> None:
    geometry = s.ArrayType(s.GeometryType(4326))
    with pytest.raises(UnsupportedError, match="geometry"):
        cast_type(pyspark_types_to_proto_types(geometry))
