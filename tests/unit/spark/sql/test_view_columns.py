"""Which types a view's column may be given: those that Spark casts without loss."""

import pytest
from pyspark.sql import types as s

from iceberg_spark.spark.sql.view_columns import can_widen

KINDS = {
    "byte": s.ByteType(),
    "int": s.IntegerType(),
    "long": s.LongType(),
    "float": s.FloatType(),
    "double": s.DoubleType(),
    "decimal(9,0)": s.DecimalType(9, 0),
    "decimal(10,0)": s.DecimalType(10, 0),
    "decimal(12,2)": s.DecimalType(12, 2),
    "string": s.StringType(),
    "binary": s.BinaryType(),
    "boolean": s.BooleanType(),
    "date": s.DateType(),
    "timestamp": s.TimestampType(),
    "timestamp_ntz": s.TimestampNTZType(),
    "null": s.NullType(),
}
WIDER = {
    "byte": "int long float double string decimal(9,0) decimal(10,0) decimal(12,2)",
    "int": "long float double string decimal(10,0) decimal(12,2)",
    "long": "float double string timestamp",
    "float": "double string",
    "double": "string",
    "decimal(9,0)": "int long string decimal(10,0) decimal(12,2)",
    "decimal(10,0)": "long string decimal(12,2)",
    "decimal(12,2)": "string",
    "string": "",
    "binary": "string",
    "boolean": "string",
    "date": "timestamp timestamp_ntz string",
    "timestamp": "timestamp_ntz long string",
    "timestamp_ntz": "timestamp string",
    "null": " ".join(KINDS),
}
"""Spark 4.1: Cast.canUpCast, as its source has it."""


@pytest.mark.parametrize("given", KINDS)
def test_types_widen_as_sparks_do(given: str):
    found = {name for name, kind in KINDS.items() if can_widen(KINDS[given], kind)}
    assert found == {given, *WIDER[given].split()}


def test_nested_types_widen_within():
    def struct(kind: s.DataType) -> s.StructType:
        return s.StructType([s.StructField("a", kind)])

    narrow, wide = s.IntegerType(), s.LongType()
    for outer in (s.ArrayType, struct, lambda kind: s.MapType(kind, kind)):
        assert can_widen(outer(narrow), outer(wide))
        assert not can_widen(outer(wide), outer(narrow))
    assert not can_widen(struct(narrow), s.StructType([*struct(wide), *struct(wide)]))
    assert not can_widen(s.ArrayType(narrow), wide)
