"""Spark's types and Iceberg's (Java: TypeToSparkType, SparkTypeToType)."""

import pytest
from pyspark.sql import types as s

from iceberg_spark.errors import UnsupportedError
from iceberg_spark.spark.adapt.types import from_spark, to_spark
from iceberg_spark.spec import types as t
from iceberg_spark.spec.schema import Schema

PAIRS = [
    (s.BooleanType(), t.BooleanType()),
    (s.IntegerType(), t.IntegerType()),
    (s.LongType(), t.LongType()),
    (s.FloatType(), t.FloatType()),
    (s.DoubleType(), t.DoubleType()),
    (s.DecimalType(9, 2), t.DecimalType(9, 2)),
    (s.DateType(), t.DateType()),
    (s.TimestampType(), t.TimestamptzType()),
    (s.TimestampNTZType(), t.TimestampType()),
    (s.StringType(), t.StringType()),
    (s.BinaryType(), t.BinaryType()),
]


@pytest.mark.parametrize(("spark", "iceberg"), PAIRS)
def test_types_with_an_equal_go_both_ways(spark: s.DataType, iceberg: t.IcebergType) -> None:
    struct = s.StructType([s.StructField("c", spark)])
    schema = from_spark(struct)
    assert schema.fields[0].field_type == iceberg
    assert to_spark(schema) == struct


@pytest.mark.parametrize(
    ("spark", "iceberg"),
    [
        (s.ByteType(), t.IntegerType()),
        (s.ShortType(), t.IntegerType()),
        (s.CharType(3), t.StringType()),
        (s.VarcharType(3), t.StringType()),
    ],
)
def test_narrower_spark_types_become_the_next_iceberg_type(
    spark: s.DataType, iceberg: t.IcebergType
) -> None:
    assert from_spark(s.StructType([s.StructField("c", spark)])).fields[0].field_type == iceberg


@pytest.mark.parametrize(
    ("iceberg", "spark"),
    [(t.UUIDType(), s.StringType()), (t.FixedType(4), s.BinaryType())],
)
def test_iceberg_types_that_spark_shows_otherwise(
    iceberg: t.IcebergType, spark: s.DataType
) -> None:
    assert to_spark(Schema(t.NestedField(1, "c", iceberg)))["c"].dataType == spark


def test_nested_types_keep_nullability_names_and_comments() -> None:
    inner = s.StructType(
        [s.StructField("x", s.IntegerType(), False), s.StructField("y", s.StringType())]
    )
    struct = s.StructType(
        [
            s.StructField("s", inner, False, {"comment": "a struct"}),
            s.StructField("l", s.ArrayType(inner, False)),
            s.StructField("m", s.MapType(s.StringType(), s.ArrayType(s.LongType()), False)),
        ]
    )
    schema = from_spark(struct)
    assert to_spark(schema) == struct
    assert schema.fields[0].doc == "a struct"
    assert len(set(schema.field_ids)) == 11


NEWER = s.StructType(
    [
        s.StructField("v", s.ArrayType(s.VariantType())),
        s.StructField("u", s.NullType()),
        s.StructField("g", s.GeometryType(4326)),
        s.StructField("p", s.GeometryType(3857)),
        s.StructField("e", s.GeographyType(4326)),
    ]
)


def test_types_of_version_3_are_the_same_there_and_back() -> None:
    schema = from_spark(NEWER)
    kinds = [str(field.field_type) for field in schema.fields]
    assert kinds == ["list<variant>", "unknown", "geometry", "geometry(EPSG:3857)", "geography"]
    assert to_spark(schema) == NEWER


@pytest.mark.parametrize("kind", [s.DayTimeIntervalType(), s.GeometryType("ANY")])
def test_a_spark_type_without_an_equal_names_the_column(kind: s.DataType) -> None:
    struct = s.StructType([s.StructField("a", s.ArrayType(kind))])
    with pytest.raises(UnsupportedError, match=r"'a\.element'.*cast"):
        from_spark(struct)


NOT_IN_SPARK = (
    t.TimeType(),
    t.TimestampNanoType(),
    t.GeometryType("odd"),
    t.GeographyType(None, "karney"),
)


@pytest.mark.parametrize("kind", NOT_IN_SPARK)
def test_an_iceberg_type_without_an_equal_names_the_column(kind: t.IcebergType) -> None:
    schema = Schema(t.NestedField(1, "s", t.StructType(t.NestedField(2, "c", kind))))
    with pytest.raises(UnsupportedError, match=r"'s\.c' has type .*columns"):
        to_spark(schema)
