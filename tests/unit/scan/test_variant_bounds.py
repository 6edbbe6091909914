"""Which files a filter on fields of variants leaves, by the bounds of the fields."""

import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from iceberg_spark.arrow.variant.bounds import encoded_bounds
from iceberg_spark.arrow.variant.encode import encode
from iceberg_spark.expr.parse_variant import variant_conjuncts
from iceberg_spark.expr.variant_filter import variant_filter
from iceberg_spark.scan.variant_bounds import variant_columns, variant_mask
from iceberg_spark.spec import types as t
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.values import to_bytes

SCHEMA = Schema(
    t.NestedField(1, "id", t.LongType(), required=False),
    t.NestedField(2, "v", t.VariantType(), required=False),
)
PAIRS = pa.list_(pa.struct([("key", pa.int32()), ("value", pa.binary())]))
WHOLE, TEXT, DOUBLE = pa.int64(), pa.string(), pa.float64()


def bounds(kind: pa.DataType, low: Any, high: Any, *keys: str) -> tuple[bytes, bytes]:
    """The bounds of a column in which one field, by default `a`, has values from low to high."""
    least, most = encode(pa.array([low, high], kind)).to_pylist()
    lower, upper = {keys or ("a",): least}, {keys or ("a",): most}
    if low is None:
        lower = {}
    if high is None:
        upper = {}
    found = encoded_bounds(lower, upper)
    assert found is not None
    return found


def keeps(condition: str, lower: bytes | None, upper: bytes | None, ids: tuple[int, int]) -> bool:
    predicates = variant_conjuncts(condition)
    wanted = variant_filter(SCHEMA, predicates, time_zone="UTC")
    assert wanted is not None
    assert set(variant_columns(wanted)) >= {"lower_bounds.2", "upper_bounds.2"}
    least, most = (to_bytes(t.LongType(), number) for number in ids)
    entries = pa.table(
        {
            "lower_bounds.1": pa.array([least], pa.binary()),
            "upper_bounds.1": pa.array([most], pa.binary()),
            "lower_bounds.2": pa.array([lower], pa.binary()),
            "upper_bounds.2": pa.array([upper], pa.binary()),
            "record_count": pa.array([10], pa.int64()),
        }
    )
    (kept,) = variant_mask(wanted, entries)
    return bool(kept)


def may(test: str, of: tuple[bytes, bytes], kind: str = "int", path: str = "$.a") -> bool:
    return keeps(f"variant_get(v, '{path}', '{kind}') {test}", *of, (0, 100))


def test_a_file_is_left_out_where_no_value_of_the_field_can_match() -> None:
    of = bounds(WHOLE, 10, 20)
    for test in ("= 9", "= 21", "< 10", "<= 9", "> 20", ">= 21", "in (9, 21)", "<=> 9",
                 "between 21 and 30"):  # fmt: skip
        assert not may(test, of), test
    for test in ("= 10", "= 20", "< 11", "<= 10", "> 19", ">= 20", "in (9, 15)", "!= 10",
                 "not in (10, 20)", "between 1 and 10"):  # fmt: skip
        assert may(test, of), test
    for test in ("!= 7", "not in (7, 8)"):
        assert not may(test, bounds(WHOLE, 7, 7)), test


def test_nothing_is_said_of_nulls() -> None:
    of = bounds(WHOLE, 10, 20)
    assert may("is null", of)
    assert may("is not null", of)
    assert keeps("not variant_get(v, '$.a', 'int') <=> 15", *of, (0, 9))


def test_fields_and_columns_go_together() -> None:
    of, condition = bounds(WHOLE, 10, 20), "variant_get(v, '$.a', 'int') = 9"
    assert keeps(f"{condition} or id = 5", *of, (0, 9))
    assert not keeps(f"{condition} or id = 10", *of, (0, 9))
    assert keeps(f"not ({condition} and id = 10)", *of, (0, 9))
    assert not keeps("not (variant_get(v, '$.a', 'int') > 9 or id = 3)", *of, (0, 9))


@pytest.mark.parametrize("path", ["$.b", "$.A", "$.a.b", "$", '$["a.b"]'])
def test_bounds_are_those_of_the_very_field(path: str) -> None:
    assert may("= 9", bounds(WHOLE, 10, 20), path=path)


def test_paths_name_fields_inside_fields_and_the_root() -> None:
    assert not may("= 9", bounds(WHOLE, 10, 20, "a", "b.c"), path='$.a["b.c"]')
    (ten,) = encode(pa.array([10], WHOLE)).to_pylist()
    root = encoded_bounds({(): ten}, {(): ten})
    assert root is not None
    assert may("= 10", root, path="$")
    assert not may("> 10", root, path="$")
    assert may("> 10", root, path="$.a")


def test_whole_numbers_are_cast_to_any_number() -> None:
    of = bounds(WHOLE, 10, 20)
    for kind in ("bigint", "double", "float", "decimal(9,2)"):
        assert not may("= 9", of, kind), kind
        assert not may("> 21", of, kind), kind
        assert may("= 10", of, kind), kind
        assert may("= 20", of, kind), kind
    for width in (pa.int8(), pa.int16(), pa.int32()):
        assert not may("= 9", bounds(width, 10, 20))


def test_a_cast_that_some_value_may_not_survive_says_nothing() -> None:
    assert may("< 0", bounds(WHOLE, 10, 1 << 31))
    assert may("> 5", bounds(WHOLE, -(1 << 31) - 1, 3))
    assert not may("< 0", bounds(WHOLE, 10, (1 << 31) - 1))
    assert may("< 0", bounds(WHOLE, 10, 1000), "decimal(4,1)")
    assert not may("< 0", bounds(WHOLE, 10, 999), "decimal(4,1)")
    wide = bounds(pa.decimal128(38, 0), Decimal(5), Decimal(10**37))
    assert may("< 0", wide, "bigint")
    assert not may("< 0", wide, "double")


def test_decimals_are_rounded_outwards() -> None:
    of = bounds(pa.decimal128(9, 2), Decimal("10.55"), Decimal("20.45"))
    assert may("= 10.5", of, "decimal(9,1)")
    assert may("= 20.5", of, "decimal(9,1)")
    assert not may("= 10.4", of, "decimal(9,1)")
    assert not may("= 20.6", of, "decimal(9,1)")
    assert may("= 10", of)
    assert not may("= 9", of)
    assert may("= 21", of)
    assert not may("= 22", of)
    negative = bounds(pa.decimal128(9, 2), Decimal("-20.45"), Decimal("-10.55"))
    assert may("= -20", negative)
    assert may("= -10", negative)
    assert not may("= -9", negative)
    same = bounds(pa.decimal128(9, 2), Decimal("10.54"), Decimal("10.54"))
    assert may("!= 10.5", same, "decimal(9,1)")
    assert not may("!= 10.54", same, "decimal(9,2)")


def test_numbers_that_no_double_is_are_rounded_outwards() -> None:
    odd = (1 << 53) + 1
    of = bounds(WHOLE, odd, odd)
    assert may(f"= {odd - 1}.0D", of, "double")
    assert may(f"= {odd + 1}.0D", of, "double")
    assert may(f"!= {odd - 1}.0D", of, "double")
    assert not may(f"< {odd - 10}.0D", of, "double")
    tenth = bounds(pa.decimal128(9, 1), Decimal("0.1"), Decimal("0.1"))
    assert may("= 0.1D", tenth, "double")
    assert may("= cast(0.1 as float)", tenth, "float")


def test_floats_may_be_nan_and_other_numbers_are_not() -> None:
    of = bounds(DOUBLE, 10.0, 20.0)
    for test in ("> 21", ">= 21", "!= 10", "= cast('NaN' as double)"):
        assert may(test, of, "double"), test
    for test in ("< 10", "<= 9", "= 9", "= 21", "in (9, 21)"):
        assert not may(test, of, "double"), test
    assert keeps("isnan(variant_get(v, '$.a', 'double'))", *of, (0, 9))
    texts = bounds(TEXT, "N", "O")
    assert keeps("isnan(variant_get(v, '$.a', 'double'))", *texts, (0, 9))
    assert may("> 21", texts, "double")
    whole = bounds(WHOLE, 10, 20)
    assert not keeps("isnan(variant_get(v, '$.a', 'double'))", *whole, (0, 9))
    assert not may("> 21", whole, "double")
    assert may("> 5", bounds(DOUBLE, float("nan"), 3.0), "double")
    assert may("< 5", bounds(DOUBLE, float("nan"), 30.0), "double")
    assert not may("= 9", bounds(pa.float32(), 10.0, 20.0), "double")
    assert may("= 9", bounds(DOUBLE, 10.0, 20.0), "float")


def test_the_zeros_are_one_number() -> None:
    for low, high in ((-0.0, -0.0), (0.0, 0.0)):
        of = bounds(DOUBLE, low, high)
        for zero in ("0.0D", "-0.0D"):
            assert may(f"= {zero}", of, "double")
            assert may(f"<= {zero}", of, "double")
            assert not may(f"< {zero}", of, "double")


@pytest.mark.parametrize(
    ("stored", "low", "high", "kind", "test"),
    [
        (TEXT, "10", "20", "int", "= 5"),
        (WHOLE, 10, 20, "string", "= '5'"),
        (pa.decimal128(9, 2), Decimal(10), Decimal(20), "string", "= '5'"),
        (DOUBLE, 10.0, 20.0, "int", "= 5"),
        (DOUBLE, 10.0, 20.0, "decimal(9,2)", "= 5"),
        (WHOLE, 10, 20, "boolean", "= false"),
        (WHOLE, 10, 20, "timestamp", "= timestamp'2024-01-01 00:00:00Z'"),
        (pa.date32(), dt.date(2024, 1, 2), dt.date(2024, 1, 3), "timestamp",
         "< timestamp'2024-01-01 00:00:00Z'"),
        (pa.timestamp("us", "UTC"), 10**15, 2 * 10**15, "timestamp_ntz",
         "< timestamp_ntz'1970-01-01 00:00:00'"),
        (pa.timestamp("us"), 10**15, 2 * 10**15, "timestamp", "< timestamp'1970-01-01 00:00:00Z'"),
        (pa.timestamp("us"), 10**15, 2 * 10**15, "date", "< date'1970-01-01'"),
        (pa.timestamp("ns"), 10**15, 2 * 10**15, "timestamp_ntz",
         "< timestamp_ntz'1970-01-01 00:00:00'"),
    ],
)  # fmt: skip
def test_casts_that_change_the_order_or_hang_on_the_session_say_nothing(
    stored: pa.DataType, low: Any, high: Any, kind: str, test: str
) -> None:
    assert may(test, bounds(stored, low, high), kind)


def test_dates_instants_wall_clocks_and_flags_are_compared_as_they_are() -> None:
    days = bounds(pa.date32(), dt.date(2024, 1, 2), dt.date(2024, 1, 3))
    assert not may("< date'2024-01-02'", days, "date")
    assert may("< date'2024-01-03'", days, "date")
    noon = dt.datetime(2024, 1, 2, 12, tzinfo=dt.UTC)
    instants = bounds(pa.timestamp("us", "UTC"), noon, noon)
    assert not may("< timestamp'2024-01-02 12:00:00Z'", instants, "timestamp")
    assert may("<= timestamp'2024-01-02 13:00:00+01:00'", instants, "timestamp")
    walls = bounds(pa.timestamp("us"), noon.replace(tzinfo=None), noon.replace(tzinfo=None))
    assert not may("> timestamp_ntz'2024-01-02 12:00:00'", walls, "timestamp_ntz")
    flags = bounds(pa.bool_(), True, True)
    assert not may("= false", flags, "boolean")
    assert not keeps("not variant_get(v, '$.a', 'boolean')", *flags, (0, 9))
    assert keeps("variant_get(v, '$.a', 'boolean')", *flags, (0, 9))


def test_texts_are_compared_by_their_bytes_and_bounds_of_them_may_be_cut() -> None:
    of = bounds(TEXT, "b", "d")
    assert not may("= 'a'", of, "string")
    assert not may("> 'd'", of, "string")
    assert not may("like 'e%'", of, "string")
    assert may("like 'b%'", of, "string")
    assert may("not like 'b%'", of, "string")
    assert not may("= '\U0001f600'", bounds(TEXT, "a", "\uffee"), "string")
    no_upper = bounds(TEXT, "b", None)
    assert not may("= 'a'", no_upper, "string")
    assert may("= 'z'", no_upper, "string")
    assert may("> 'z'", no_upper, "string")


def test_a_field_that_is_a_text_may_be_an_array_whose_items_are_bounded() -> None:
    of = bounds(TEXT, "b", "d")
    for test in ("""= '["c"]'""", "like '[%'", "< '[z'", "!= 'c'", "between '[' and 'a'"):
        assert may(test, of, "string"), test
    same = bounds(TEXT, "c", "c")
    assert may("!= 'c'", same, "string")
    assert not may("= 'a'", same, "string")


def test_bounds_of_two_types_or_the_wrong_way_round_say_nothing() -> None:
    low, _ = bounds(WHOLE, 10, 20)
    _, text = bounds(TEXT, "a", "b")
    _, double = bounds(DOUBLE, 1.0, 20.0)
    for high in (text, double):
        assert may("= 5", (low, high))
        assert may("= 5", (low, high), "double")
    assert may("= 15", bounds(WHOLE, 20, 10))
    assert may("= 5", bounds(WHOLE, 20, 10))


@pytest.mark.parametrize("broken", [None, b"", b"\x01", b"\xff" * 20, b"\x11\x00\x00\x02\x00\x00"])
def test_what_is_missing_or_broken_says_nothing(broken: bytes | None) -> None:
    low, high = bounds(TEXT, "b", "d")
    get = "variant_get(v, '$.a', 'string')"
    assert keeps(f"{get} = 'a'", broken, high, (0, 9))
    assert keeps(f"{get} = 'z'", low, broken, (0, 9))
    assert keeps(f"{get} = 'a'", broken, broken, (0, 9))


def test_bounds_that_are_cut_anywhere_leave_no_file_out_that_matches() -> None:
    low, high = bounds(WHOLE, 10, 20)
    for end in range(len(low)):
        assert may("= 9", (low[:end], high))
        assert may("= 15", (low, high[:end]))


def test_files_are_told_apart_and_those_without_bounds_stay() -> None:
    (predicate,) = variant_conjuncts("variant_get(v, '$.a', 'int') = 9")
    wanted = variant_filter(SCHEMA, [predicate])
    assert wanted is not None
    files = [bounds(WHOLE, 10, 20), bounds(WHOLE, 0, 9), None, bounds(WHOLE, 9, 9, "b")]
    lower, upper = ([None if ends is None else ends[end] for ends in files] for end in (0, 1))
    entries = pa.table(
        {
            "lower_bounds.2": pa.array(lower, pa.binary()),
            "upper_bounds.2": pa.array(upper, pa.binary()),
            "record_count": pa.array([1] * 4, pa.int64()),
        }
    )
    assert variant_mask(wanted, entries).tolist() == [False, True, True, True]
    assert variant_mask(wanted, entries.slice(0, 0)).tolist() == []
    assert variant_mask(wanted, entries.slice(0, 0)).dtype == np.bool_
