"""The exact filter on Arrow data: shapes of columns that the properties don't draw."""

import pyarrow as pa
import pytest

from iceberg_spark.errors import InvalidExpressionError, UnsupportedError
from iceberg_spark.expr import row_filter as module
from iceberg_spark.expr.arrow_literal import arrow_type, scalar
from iceberg_spark.expr.bind import bind
from iceberg_spark.expr.parse import parse_predicate
from iceberg_spark.expr.row_filter import row_filter
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.types import (
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    IntegerType,
    ListType,
    LongType,
    NestedField,
    StringType,
    StructType,
    TimestamptzType,
    UnknownType,
    UUIDType,
)

SCHEMA = Schema(
    NestedField(1, "i", LongType()),
    NestedField(2, "d", DoubleType()),
    NestedField(3, "s", StringType()),
    NestedField(4, "st", StructType(NestedField(5, "x", IntegerType()))),
    NestedField(6, "day", DateType()),
)
PATHS = {1: ("i",), 2: ("d",), 3: ("s",), 4: ("st",), 5: ("st", "x"), 6: ("day",)}


def keeps(sql, data):
    mask = row_filter(bind(SCHEMA, parse_predicate(sql)), PATHS)(data)
    assert mask.null_count == 0 and mask.type == pa.bool_()
    return mask.to_pylist()


def test_a_null_struct_makes_its_fields_null():
    structs = pa.StructArray.from_arrays(
        [pa.array([1, 1, None], pa.int32())], ["x"], mask=pa.array([False, True, False])
    )
    data = pa.record_batch({"st": structs})
    assert keeps("st.x = 1", data) == [True, False, False]
    assert keeps("st.x IS NULL", data) == [False, True, True]
    assert keeps("st IS NULL", data) == [False, True, False]


def test_batches_tables_and_empty_ones():
    batch = pa.record_batch({"i": pa.array([1, None, 3])})
    table = pa.table({"i": pa.chunked_array([[1, None], [], [3]])})
    assert keeps("i > 1", batch) == keeps("i > 1", table) == [False, False, True]
    assert keeps("i > 1", table.slice(0, 0)) == keeps("i > 1", table.schema.empty_table()) == []
    assert keeps("true", batch) == [True] * 3


def test_nulls_inside_a_dictionary():
    indices = pa.array([0, 1, None, 2], pa.int8())
    data = pa.table({"s": pa.DictionaryArray.from_arrays(indices, pa.array(["a", None, "b"]))})
    assert keeps("s = 'a'", data) == [True, False, False, False]
    assert keeps("s != 'a'", data) == [False, False, False, True]
    assert keeps("s IS NULL", data) == [False, True, True, False]


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view()])
def test_every_form_of_text(kind):
    data = pa.table({"s": pa.array(["ab", "b", None, "é"], kind)})
    assert keeps("s LIKE 'a%'", data) == [True, False, False, False]
    assert keeps("s > 'z'", data) == [False, False, False, True]
    assert keeps("s NOT IN ('ab', 'x')", data) == [False, True, False, True]


def test_a_column_of_the_file_may_be_narrower():
    data = pa.table({"i": pa.array([1, 2], pa.int32())})
    assert keeps("i > 3000000000", data) == [False, False]
    assert keeps("i IN (2, 3000000000)", data) == [False, True]


@pytest.mark.parametrize("count", [module.SEARCH_FROM - 1, module.SEARCH_FROM * 3])
def test_short_and_long_lists_mean_the_same(count):
    listed = ", ".join(str(i) for i in range(0, 2 * count, 2))
    data = pa.table({"i": [0, 1, None, 2 * count - 2, 2 * count, -5]})
    assert keeps(f"i IN ({listed})", data) == [True, False, False, True, False, False]
    assert keeps(f"i NOT IN ({listed})", data) == [False, True, False, False, True, True]
    floats = pa.table({"d": [-0.0, 0.5, None, float("nan")]})
    assert keeps(f"d IN ({listed})", floats) == [True, False, False, False]
    assert keeps(f"d NOT IN ({listed})", floats) == [False, True, False, True]
    days = pa.table({"day": pa.array([0, 1], pa.int32()).cast(pa.date32())})
    dates = ", ".join(f"DATE '{1970 + i}-01-01'" for i in range(count))
    assert keeps(f"day IN ({dates})", days) == [True, False]


def test_a_column_that_was_not_read_is_named():
    with pytest.raises(InvalidExpressionError, match="'i'"):
        row_filter(bind(SCHEMA, parse_predicate("i = 1")), {})


def test_arrow_types_of_primitives():
    assert arrow_type(UUIDType()) == pa.binary(16)
    assert arrow_type(TimestamptzType()) == pa.timestamp("us", tz="UTC")
    assert arrow_type(FixedType(3)) == pa.binary(3)
    assert arrow_type(DecimalType(38, 10)) == pa.decimal128(38, 10)
    assert arrow_type(UnknownType()) == pa.null()
    assert scalar(3, DateType()) == pa.scalar(3, pa.date32())
    with pytest.raises(UnsupportedError, match="list"):
        arrow_type(ListType(1, IntegerType()))
