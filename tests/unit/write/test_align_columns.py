"""The caller's columns matched to the table's: what fits, what is cast, what is refused."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from iceberg_spark.arrow.schema import to_arrow
from iceberg_spark.errors import InvalidInputError, InvalidSchemaError
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.types import (
    BinaryType,
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
from iceberg_spark.write.align_columns import align

UUID = uuid.UUID("f79c3e09-677c-4bbd-a479-3f349cb785e7")


def one(kind: IcebergType, *, required: bool = False, default=None) -> Schema:
    return Schema(NestedField(1, "c", kind, required, write_default=default))


def aligned(schema: Schema, given: pa.RecordBatch, **rules) -> pa.RecordBatch:
    made = align(schema, given.schema, **rules).apply(given)
    made.validate(full=True)
    assert made.schema.equals(to_arrow(schema), check_metadata=True)
    return made


def column(array: pa.Array, name: str = "c") -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([array], [name])


NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("kind", "given", "expected"),
    [
        (IntegerType(), pa.array([1, None], pa.int8()), [1, None]),
        (IntegerType(), pa.array([1, None], pa.int16()), [1, None]),
        (LongType(), pa.array([1, None], pa.int32()), [1, None]),
        (DoubleType(), pa.array([1.5, None], pa.float32()), [1.5, None]),
        (DecimalType(9, 3), pa.array([Decimal("1.25")], pa.decimal128(5, 2)), [Decimal("1.250")]),
        (DecimalType(9, 2), pa.array([Decimal("1.25")], pa.decimal32(5, 2)), [Decimal("1.25")]),
        (StringType(), pa.array(["a", None], pa.large_string()), ["a", None]),
        (StringType(), pa.array(["a", None], pa.string_view()), ["a", None]),
        (StringType(), pa.array(["a", None]).dictionary_encode(), ["a", None]),
        (BinaryType(), pa.array([b"ab"], pa.binary(2)), [b"ab"]),
        (BinaryType(), pa.array([b"ab"], pa.large_binary()), [b"ab"]),
        (FixedType(2), pa.array([b"ab", None], pa.binary()), [b"ab", None]),
        (UUIDType(), pa.array([str(UUID), None]), [UUID.bytes, None]),
        (UUIDType(), pa.array([UUID.bytes], pa.binary()), [UUID.bytes]),
        (
            DateType(),
            pa.array([86_400_000], pa.date64()),
            [datetime(1970, 1, 2, tzinfo=UTC).date()],
        ),
        (LongType(), pa.nulls(2), [None, None]),
        (ListType(2, LongType()), pa.nulls(1), [None]),
    ],
    ids=str,
)
def test_a_value_is_widened_without_loss(kind, given, expected) -> None:
    assert aligned(one(kind), column(given)).column(0).to_pylist() == expected


def test_arrows_uuids_are_taken() -> None:
    storage = pa.array([UUID.bytes, None], pa.binary(16))
    given = pa.ExtensionArray.from_storage(pa.uuid(), storage)
    assert aligned(one(UUIDType()), column(given)).column(0).to_pylist() == [UUID.bytes, None]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_timestamps_of_every_unit_become_microseconds(unit: str) -> None:
    naive = pa.array([NOON.replace(tzinfo=None)], pa.timestamp(unit))
    assert aligned(one(TimestampType()), column(naive)).column(0).to_pylist() == [
        NOON.replace(tzinfo=None)
    ]
    zoned = pa.array([NOON], pa.timestamp(unit, "Europe/Berlin"))
    assert aligned(one(TimestamptzType()), column(zoned)).column(0).to_pylist() == [NOON]


def test_times_of_every_unit_become_microseconds() -> None:
    for kind, value in ((pa.time32("s"), 5), (pa.time32("ms"), 5000), (pa.time64("ns"), 5 * 10**9)):
        made = aligned(one(TimeType()), column(pa.array([value], kind))).column(0)
        assert made.cast(pa.int64()).to_pylist() == [5_000_000]


@pytest.mark.parametrize(
    ("kind", "given", "message"),
    [
        (TimestampType(), pa.array([1], pa.timestamp("ns")), "lose data"),
        (TimeType(), pa.array([1], pa.time64("ns")), "lose data"),
        (TimeType(), pa.array([0, 86_400_000_000], pa.time64("us")), "not a time of day"),
        (TimeType(), pa.array([-1, None], pa.time64("us")), "not a time of day"),
        (TimeType(), pa.array([86_400], pa.time32("s")), "not a time of day"),
        (TimestampType(), pa.array([2**60], pa.timestamp("s")), "overflow|out of bounds"),
        (FixedType(3), pa.array([b"ab"]), "3"),
        (FixedType(3), pa.array([b"ab"], pa.binary(2)), "3"),
        (UUIDType(), pa.array(["x"]), "not a UUID"),
    ],
    ids=str,
)
def test_a_value_that_would_change_is_refused_by_column(kind, given, message) -> None:
    with pytest.raises(InvalidInputError, match=rf"Column 'c'.*({message})"):
        aligned(one(kind), column(given))


@pytest.mark.parametrize(
    ("kind", "given", "advice"),
    [
        (IntegerType(), pa.int64(), r"cast\(c as int\)"),
        (LongType(), pa.float64(), r"cast\(c as bigint\)"),
        (LongType(), pa.uint64(), r"cast\(c as bigint\)"),
        (LongType(), pa.string(), r"cast\(c as bigint\)"),
        (FloatType(), pa.float64(), r"cast\(c as float\)"),
        (DecimalType(9, 2), pa.decimal128(9, 3), r"cast\(c as decimal\(9,2\)\)"),
        (DecimalType(9, 2), pa.decimal128(10, 2), r"cast\(c as decimal\(9,2\)\)"),
        (StringType(), pa.int64(), r"cast\(c as string\)"),
        (TimestamptzType(), pa.timestamp("us"), "set the zone"),
        (TimestampType(), pa.timestamp("us", "UTC"), r"cast\(c as timestamp_ntz\)"),
        (TimestampType(), pa.date32(), r"cast\(c as timestamp_ntz\)"),
    ],
    ids=str,
)
def test_another_type_is_refused_with_both_types_and_a_cast(kind, given, advice) -> None:
    with pytest.raises(InvalidSchemaError) as refused:
        align(one(kind), pa.schema([("c", given)]))
    assert refused.match(rf"Column 'c' is {str(kind).replace('(', '.').replace(')', '.')} in the")
    assert refused.match(advice)
    assert str(given) in str(refused.value)


TWO = Schema(NestedField(1, "a", LongType(), required=True), NestedField(2, "b", StringType()))


def test_columns_are_matched_by_name_in_any_order() -> None:
    given = pa.RecordBatch.from_pydict({"b": ["x"], "a": [1]})
    assert aligned(TWO, given).to_pylist() == [{"a": 1, "b": "x"}]


def test_check_ordering_wants_the_tables_order() -> None:
    given = pa.RecordBatch.from_pydict({"b": ["x"], "a": [1]})
    with pytest.raises(InvalidSchemaError, match=r"'a' is out of order|'b' is out of order"):
        aligned(TWO, given, check_ordering=True)
    assert aligned(TWO, given.select(["a", "b"]), check_ordering=True).num_rows == 1


def test_a_missing_optional_column_is_null() -> None:
    assert aligned(TWO, pa.RecordBatch.from_pydict({"a": [1]})).to_pylist() == [{"a": 1, "b": None}]


def test_a_missing_column_with_a_write_default_has_it() -> None:
    schema = Schema(*TWO.fields, NestedField(3, "d", DateType(), True, write_default=1))
    made = aligned(schema, pa.RecordBatch.from_pydict({"a": [1, 2]}))
    assert made.column("d").cast(pa.int32()).to_pylist() == [1, 1]


def test_a_missing_required_column_is_refused_by_name() -> None:
    with pytest.raises(InvalidSchemaError, match="lacks required columns: 'a'"):
        align(TWO, pa.schema([("b", pa.string())]))


def test_an_extra_column_is_refused_and_points_to_merge_schema() -> None:
    with pytest.raises(InvalidSchemaError, match=r"'z'.*'y'.*mergeSchema"):
        align(TWO, pa.schema([("a", pa.int64()), ("z", pa.int64()), ("y", pa.int64())]))


def test_two_columns_of_one_name_are_ambiguous() -> None:
    with pytest.raises(InvalidSchemaError, match="'a' is ambiguous"):
        align(TWO, pa.schema([("a", pa.int64()), ("a", pa.int64())]))


def test_case_is_ignored_only_when_asked() -> None:
    given = pa.RecordBatch.from_pydict({"A": [1]})
    with pytest.raises(InvalidSchemaError):
        aligned(TWO, given)
    assert aligned(TWO, given, case_sensitive=False).to_pylist() == [{"a": 1, "b": None}]


def test_columns_that_differ_by_case_are_told_apart_or_refused() -> None:
    twins = Schema(NestedField(1, "a", LongType()), NestedField(2, "A", LongType()))
    given = pa.RecordBatch.from_pydict({"A": [2], "a": [1]})
    for case_sensitive in (True, False):
        made = aligned(twins, given, case_sensitive=case_sensitive)
        assert made.to_pylist() == [{"a": 1, "A": 2}]
    lower = Schema(NestedField(1, "aa", LongType()))
    fields = pa.schema([("Aa", pa.int64()), ("AA", pa.int64())])
    with pytest.raises(InvalidSchemaError, match=r"ambiguous.*'Aa', 'AA'"):
        align(lower, fields, case_sensitive=False)


def test_a_null_in_a_required_column_is_refused_by_name() -> None:
    with pytest.raises(InvalidInputError, match="'a' is required"):
        aligned(TWO, pa.RecordBatch.from_pydict({"a": [1, None]}))
    with pytest.raises(InvalidInputError, match="'a' is required"):
        align(TWO, pa.schema([("a", pa.null())]))


NESTED = Schema(
    NestedField(
        1,
        "st",
        StructType(
            NestedField(2, "x", LongType(), required=True), NestedField(3, "y", StringType())
        ),
    ),
    NestedField(4, "li", ListType(5, LongType(), element_required=True)),
    NestedField(6, "m", MapType(7, StringType(), 8, LongType(), value_required=True)),
)


def rows(*values: dict) -> pa.RecordBatch:
    kinds = [
        ("st", pa.struct([("y", pa.large_string()), ("x", pa.int32())])),
        ("li", pa.large_list(pa.int32())),
        ("m", pa.map_(pa.large_string(), pa.int32())),
    ]
    return pa.RecordBatch.from_pylist(list(values), schema=pa.schema(kinds))


def test_nested_columns_are_matched_and_cast_too() -> None:
    values = [
        {"st": {"x": 1, "y": "a"}, "li": [1, 2], "m": [("k", 1)]},
        {"st": None, "li": None, "m": None},
        {"st": {"x": 2, "y": None}, "li": [], "m": []},
    ]
    assert aligned(NESTED, rows(*values)).to_pylist() == values
    assert aligned(NESTED, rows(*values).slice(1)).to_pylist() == values[1:]


@pytest.mark.parametrize(
    ("row", "name"),
    [
        ({"st": {"x": None, "y": "a"}}, "st.x"),
        ({"li": [1, None]}, "li.element"),
        ({"m": [("k", None)]}, "m.value"),
    ],
)
def test_a_null_in_a_nested_required_field_is_refused_by_name(row: dict, name: str) -> None:
    with pytest.raises(InvalidInputError, match=f"'{name}' is required"):
        aligned(NESTED, rows(row))


def test_nested_names_are_in_messages() -> None:
    wrong = pa.schema([("st", pa.struct([("x", pa.string())]))])
    with pytest.raises(InvalidSchemaError, match=r"'st\.x' is long.*string"):
        align(NESTED, wrong)
    extra = pa.schema([("st", pa.struct([("x", pa.int64()), ("q", pa.int64())]))])
    with pytest.raises(InvalidSchemaError, match=r"'st\.q'"):
        align(NESTED, extra)
    with pytest.raises(InvalidSchemaError, match="'li' is list"):
        align(NESTED, pa.schema([("li", pa.int64())]))


def test_a_batch_without_columns_keeps_its_rows() -> None:
    schema = Schema(NestedField(1, "a", LongType()))
    given = pa.RecordBatch.from_struct_array(pa.array([{}, {}], pa.struct([])))
    assert aligned(schema, given).to_pylist() == [{"a": None}, {"a": None}]


def test_required_fields_of_a_null_struct_may_be_marked_null_as_spark_does() -> None:
    inner = StructType(
        NestedField(3, "i", IntegerType(), True),
        NestedField(4, "s", StringType(), True),
        NestedField(5, "l", ListType(6, IntegerType()), True),
    )
    table = Schema(NestedField(1, "st", StructType(NestedField(2, "in", inner, True))))
    target = to_arrow(table)
    nulls = [pa.array([1, None, 3], pa.int32()), pa.array(["a", None, "c"])]
    lists = pa.array([[1], None, [3]], pa.list_(pa.field("element", pa.int32())))
    kind = target.field("st").type
    mask = pa.array([True, False, True])
    deep = pa.StructArray.from_arrays(
        [nulls[0], nulls[1], lists.cast(kind.field("in").type.field("l").type)],
        fields=list(kind.field("in").type),
        mask=pa.array([False, True, False]),
    )
    outer = pa.StructArray.from_arrays(
        [deep], fields=list(kind), mask=pa.array([False, True, False])
    )
    made = align(table, target).apply(pa.record_batch([outer], schema=target))
    shown = made.column(0).field("in")
    assert [shown.field(name).null_count for name in ("i", "s", "l")] == [0, 0, 0]
    assert made.column(0).to_pylist() == [
        {"in": {"i": 1, "s": "a", "l": [1]}},
        None,
        {"in": {"i": 3, "s": "c", "l": [3]}},
    ]
    assert mask.equals(made.column(0).is_valid())
    pq.write_table(pa.Table.from_batches([made]), pa.BufferOutputStream())
