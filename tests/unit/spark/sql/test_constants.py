"""Constants that Spark has folded come back as literals of the same value."""

from decimal import Decimal
from types import SimpleNamespace

import pytest
from pyspark.sql.types import DecimalType, StructField, StructType

from iceberg_spark.spark.sql.constants import _literal

KIND = StructType([StructField("c", DecimalType(38, 2))])


@pytest.mark.parametrize("sign", ["", "-"])
def test_a_decimal_keeps_all_digits(sign: str):
    value = Decimal(f"{sign}123456789012345678901234567890123456.34")
    literal = _literal(value, SimpleNamespace(schema=KIND), 0)
    assert literal.sql("spark") == f"CAST({value} AS DECIMAL(38, 2))"
