"""Values of Hive-style partition folders."""

from decimal import Decimal

import pytest

from iceberg_spark.errors import InvalidInputError
from iceberg_spark.spec.types import DecimalType
from iceberg_spark.write.hive_paths import partition_value

KIND = DecimalType(38, 2)


@pytest.mark.parametrize("text", ["-123456789012345678901234567890123456.34", "1.50", "0.00"])
def test_a_decimal_keeps_all_digits(text: str):
    assert str(partition_value(KIND, text)) == text


def test_a_decimal_has_the_columns_scale():
    assert partition_value(KIND, "1e3").as_tuple() == Decimal("1000.00").as_tuple()


@pytest.mark.parametrize("text", ["1.505", "x", "", "NaN", "Infinity"])
def test_other_texts_are_refused(text: str):
    with pytest.raises(InvalidInputError):
        partition_value(KIND, text)
