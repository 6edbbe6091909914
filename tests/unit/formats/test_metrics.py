"""Metrics gathered from batches, per type, mode and format."""

from __future__ import annotations

import math
import struct
import uuid
from datetime import date
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from iceberg_spark.arrow.schema import to_arrow
from iceberg_spark.formats.metrics import Metrics, MetricsCollector, lower_bound, upper_bound
from iceberg_spark.formats.metrics_modes import (
    COUNTS,
    FULL,
    NONE,
    TRUNCATE_16,
    MetricsMode,
    metrics_modes,
)
from iceberg_spark.spec.data_file import FileFormat
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IcebergType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestampType,
    TimestamptzType,
    TimeType,
    UUIDType,
)
from iceberg_spark.spec.values import to_bytes


def metrics_of(
    kind: IcebergType,
    *batches: list,
    mode: MetricsMode = TRUNCATE_16,
    file_format: FileFormat = FileFormat.PARQUET,
) -> Metrics:
    schema = Schema(NestedField(1, "c", kind))
    collector = MetricsCollector(schema, dict.fromkeys(schema.field_ids, mode), file_format)
    for values in batches:
        array = pa.array(values, to_arrow(schema).field(0).type)
        collector.add(pa.RecordBatch.from_arrays([array], schema=to_arrow(schema)))
    return collector.finish()


U1, U2 = uuid.UUID(int=1), uuid.UUID(int=2**127)


@pytest.mark.parametrize(
    ("kind", "values", "low", "high"),
    [
        (BooleanType(), [True, None, False], False, True),
        (IntegerType(), [3, None, -(2**31)], -(2**31), 3),
        (LongType(), [2**63 - 1, None, -1], -1, 2**63 - 1),
        (FloatType(), [1.5, None, -math.inf], -math.inf, 1.5),
        (DoubleType(), [1.5, None, math.nan, -2.5], -2.5, 1.5),
        (
            DecimalType(9, 2),
            [Decimal("-7.01"), None, Decimal(0)],
            Decimal("-7.01"),
            Decimal("0.00"),
        ),
        (DecimalType(38, 0), [Decimal(10**37), None], Decimal(10**37), Decimal(10**37)),
        (DateType(), [date(1969, 12, 31), None, date(2024, 1, 1)], -1, 19723),
        (TimeType(), [5, None, 86_399_999_999], 5, 86_399_999_999),
        (TimestampType(), [-1, None, 7], -1, 7),
        (TimestamptzType(), [-1, None, 7], -1, 7),
        (StringType(), ["b", None, "a", "ä"], "a", "ä"),
        (BinaryType(), [b"\x80", None, b"\x7f"], b"\x7f", b"\x80"),
        (FixedType(2), [b"\x80\x00", None, b"\x7f\xff"], b"\x7f\xff", b"\x80\x00"),
        (UUIDType(), [U2.bytes, None, U1.bytes], U1, U2),
    ],
    ids=str,
)
def test_bounds_and_counts_of_a_type(kind, values, low, high) -> None:
    found = metrics_of(kind, values)
    assert found.record_count == len(values)
    assert found.value_counts == {1: len(values)}
    assert found.null_value_counts == {1: 1}
    assert found.lower_bounds == {1: to_bytes(kind, low)}
    assert found.upper_bounds == {1: to_bytes(kind, high)}


def test_batches_are_folded() -> None:
    found = metrics_of(LongType(), [5, None], [None], [9, 1], [4])
    assert found.record_count == 6
    assert found.null_value_counts == {1: 2}
    assert (found.lower_bounds, found.upper_bounds) == (
        {1: struct.pack("<q", 1)},
        {1: struct.pack("<q", 9)},
    )


def test_a_column_of_nulls_has_counts_and_no_bounds() -> None:
    found = metrics_of(StringType(), [None, None])
    assert found.null_value_counts == {1: 2}
    assert found.lower_bounds == {}
    assert found.upper_bounds == {}


def test_nan_is_counted_and_never_a_bound() -> None:
    found = metrics_of(DoubleType(), [math.nan, 1.0], [math.nan, None])
    assert found.nan_value_counts == {1: 2}
    assert found.lower_bounds == found.upper_bounds == {1: struct.pack("<d", 1.0)}
    assert metrics_of(FloatType(), [math.nan, None]).lower_bounds == {}


def test_only_floats_have_nan_counts() -> None:
    assert metrics_of(LongType(), [1]).nan_value_counts == {}
    assert metrics_of(FloatType(), [1.0]).nan_value_counts == {1: 0}


@pytest.mark.parametrize(
    ("batches", "low", "high"),
    [
        ([[0.0]], 0.0, 0.0),
        ([[-0.0]], -0.0, -0.0),
        ([[0.0, -0.0]], -0.0, 0.0),
        ([[0.0], [-0.0]], -0.0, 0.0),
        ([[-0.0], [0.0], [1.0]], -0.0, 1.0),
        ([[-1.0, 0.0], [-0.0]], -1.0, 0.0),
    ],
)
def test_minus_zero_comes_before_zero(batches, low: float, high: float) -> None:
    found = metrics_of(DoubleType(), *batches)
    assert found.lower_bounds == {1: struct.pack("<d", low)}
    assert found.upper_bounds == {1: struct.pack("<d", high)}


@pytest.mark.parametrize(
    ("mode", "counted", "bounded"),
    [(NONE, False, False), (COUNTS, True, False), (FULL, True, True)],
)
def test_a_mode_says_what_is_kept(mode, counted: bool, bounded: bool) -> None:
    found = metrics_of(DoubleType(), [1.0], mode=mode)
    for counts in (found.value_counts, found.null_value_counts, found.nan_value_counts):
        assert bool(counts) is counted
    assert bool(found.lower_bounds) is bool(found.upper_bounds) is bounded


NESTED = Schema(
    NestedField(
        1,
        "st",
        StructType(
            NestedField(2, "x", DoubleType()),
            NestedField(3, "in", StructType(NestedField(4, "y", LongType()))),
        ),
    ),
    NestedField(5, "li", ListType(6, LongType())),
    NestedField(7, "m", MapType(8, StringType(), 9, LongType())),
)
ROWS = [
    {"st": {"x": 1.0, "in": {"y": 7}}, "li": [1], "m": [("k", 1)]},
    {"st": {"x": None, "in": None}, "li": None, "m": None},
    {"st": None, "li": [None], "m": []},
]


def nested(file_format: FileFormat) -> Metrics:
    collector = MetricsCollector(NESTED, metrics_modes(NESTED, {}), file_format)
    collector.add(pa.RecordBatch.from_pylist(ROWS, schema=to_arrow(NESTED)))
    return collector.finish()


def test_fields_of_structs_count_null_parents_and_lists_and_maps_have_no_metrics() -> None:
    found = nested(FileFormat.PARQUET)
    assert found.value_counts == {2: 3, 4: 3}
    assert found.null_value_counts == {2: 2, 4: 2}
    assert found.lower_bounds == {2: struct.pack("<d", 1.0), 4: struct.pack("<q", 7)}


def test_orc_counts_structs_lists_and_maps_too() -> None:
    found = nested(FileFormat.ORC)
    assert found.null_value_counts == {1: 1, 2: 2, 3: 2, 4: 2, 5: 1, 7: 1}
    assert found.lower_bounds == {2: struct.pack("<d", 1.0), 4: struct.pack("<q", 7)}


@pytest.mark.parametrize(
    ("kind", "value"), [(BinaryType(), b"a"), (FixedType(1), b"a"), (UUIDType(), U1.bytes)]
)
def test_orc_has_no_bounds_of_bytes(kind, value) -> None:
    found = metrics_of(kind, [value], file_format=FileFormat.ORC)
    assert found.value_counts == {1: 1}
    assert found.lower_bounds == {}


def test_avro_has_the_record_count_only() -> None:
    found = metrics_of(LongType(), [1, 2], file_format=FileFormat.AVRO)
    assert found == Metrics(2)


TOP = "\U0010ffff"


@pytest.mark.parametrize(
    ("value", "width", "bound"),
    [
        ("iceberg", 7, "iceberg"),
        ("iceberg", 3, "icf"),
        ("a\U0010ffffb", 2, "b"),
        (TOP * 3, 2, None),
        ("ab\ud7ffcd", 3, "ab\ue000"),
        ("\U00010348" * 3, 2, "\U00010348\U00010349"),
        ("", 3, ""),
    ],
)
def test_an_upper_bound_of_text_is_raised_by_code_point(value, width, bound) -> None:
    expected = None if bound is None else bound.encode()
    assert upper_bound(StringType(), value, width) == expected


@pytest.mark.parametrize(
    ("value", "bound"),
    [
        (b"\x01\x02\x03", b"\x01\x03"),
        (b"\x01\xff\x03", b"\x02"),
        (b"\xff\xff\x00", None),
        (b"\xff\xff", b"\xff\xff"),
    ],
)
def test_an_upper_bound_of_bytes_is_raised_by_byte(value: bytes, bound: bytes | None) -> None:
    assert upper_bound(BinaryType(), value, 2) == bound


def test_a_bound_that_can_not_be_raised_may_stay_whole() -> None:
    assert upper_bound(StringType(), TOP * 3, 2, or_whole=True) == (TOP * 3).encode()


def test_numbers_and_fixed_are_never_cut() -> None:
    assert upper_bound(FixedType(4), b"abcd", 2) == b"abcd"
    assert lower_bound(LongType(), 2**40, 1) == struct.pack("<q", 2**40)


text = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)


@given(st.lists(text, min_size=1, max_size=5), st.integers(1, 5))
def test_every_text_lies_between_its_bounds(values: list[str], width: int) -> None:
    mode = MetricsMode(TRUNCATE_16.kind, width)
    found = metrics_of(StringType(), values, mode=mode)
    for value in values:
        assert found.lower_bounds[1] <= value.encode()
        assert value.encode() <= found.upper_bounds.get(1, b"\xff")
    assert len(found.lower_bounds[1].decode()) <= width


@given(st.lists(st.binary(max_size=8), min_size=1, max_size=5), st.integers(1, 5))
def test_every_binary_lies_between_its_bounds(values: list[bytes], width: int) -> None:
    found = metrics_of(BinaryType(), values, mode=MetricsMode(TRUNCATE_16.kind, width))
    upper = found.upper_bounds.get(1, b"\xff" * 9)
    assert all(found.lower_bounds[1] <= value <= upper for value in values)
