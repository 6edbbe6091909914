"""Where the columns of files without field ids are: specification, "Column Projection"."""

import math
from typing import Any

import pyarrow as pa
import pytest

from iceberg_spark.arrow.file_fields import file_fields
from iceberg_spark.formats.parquet_head import StoredLeaf
from iceberg_spark.spark.reading.footer_columns import ColumnsOrReason, FileColumns, columns_in
from tests.builders import field, list_of, struct

MAPPING = {
    ("id",): 1, ("ident",): 1, ("k",): 2,
    ("st",): 3, ("st", "a"): 4, ("st", "old"): 5,
    ("l",): 6, ("l", "element"): 7, ("l", "element", "x"): 8,
}  # fmt: skip
ID = field(1, "id", "long")
K = field(2, "k", "string")
ST = field(3, "st", struct(field(4, "a", "int"), field(5, "b", "int")))
LIST = field(6, "l", list_of(7, struct(field(8, "x", "int"))))

LONG = StoredLeaf("INT64", "NONE")


def with_id(name: str, kind: pa.DataType, number: int) -> pa.Field:
    return pa.field(name, kind, metadata={"PARQUET:field_id": str(number)})


def found(
    stored: Any, *wanted: Any, constants: Any = (), leaf: StoredLeaf = LONG
) -> ColumnsOrReason:
    schema = pa.schema(stored)
    count = sum(len(one.leaves) for one in file_fields(schema))
    return columns_in(schema, wanted, MAPPING, dict(constants), [leaf] * count)


def test_a_file_with_ids_is_read_by_id() -> None:
    stored = [with_id("other", pa.int64(), 1), with_id("id", pa.string(), 2)]
    assert found(stored, ID, K) == FileColumns()


def test_a_file_without_ids_is_read_by_every_name_of_the_mapping() -> None:
    kind = pa.struct([("a", pa.int32()), ("old", pa.int32())])
    elements = pa.list_(pa.field("item", pa.struct([("x", pa.int32())])))
    stored = [("ident", pa.int64()), ("st", kind), ("l", elements)]
    expected = ((1, "ident"), (3, "st"), (4, "a"), (5, "old"), (6, "l"), (7, "element"), (8, "x"))
    assert found(stored, ID, K, ST, LIST) == FileColumns(expected)


def test_a_partition_value_stands_before_a_mapped_column_and_after_one_with_the_id() -> None:
    assert found([("id", pa.int64()), ("k", pa.string())], ID, K, constants={2: "x"}) == (
        FileColumns(((1, "id"),), ((2, "x"),))
    )
    own = [with_id("id", pa.int64(), 1), with_id("k", pa.string(), 2)]
    assert found(own, ID, K, constants={2: "x"}) == FileColumns()
    assert found(own[:1], ID, K, constants={2: "x"}) == FileColumns(None, ((2, "x"),))


def test_files_share_constants_only_of_the_same_partition() -> None:
    """0.0 and -0.0 are two partitions, NaN is one (Java: StructLikeWrapper)."""
    numbers = (0.0, -0.0, math.nan, float("nan"), 1.0, None)
    kinds = {
        found([("id", pa.int64())], ID, field(2, "k", "double"), constants={2: number})
        for number in numbers
    }
    values = sorted(str(kind.constants[0][1]) for kind in kinds)
    assert values == ["-0.0", "0.0", "1.0", "None", "nan"]


@pytest.mark.parametrize(
    ("stored", "wanted", "reason"),
    [
        ([with_id("id", pa.int64(), 1), ("k", pa.string())], K, "field ids on some columns only"),
        ([("id", pa.int64())], field(9, "r", "int", True), "required column that a file lacks"),
        ([("id", pa.int64()), ("ID", pa.int64())], ID, "column names that differ by case only"),
        ([("id", pa.uint32())], ID, "column 'id' is stored as uint32"),
        ([("k", pa.binary())], K, "column 'k' is stored as binary"),
        (
            [("st", pa.struct([("a", pa.int32())]))],
            field(3, "st", struct(field(5, "b", "int", True))),
            "field 'st.b' that a file lacks",
        ),
    ],
)
def test_what_sparks_reader_would_not_find_goes_to_arrow(
    stored: Any, wanted: Any, reason: str
) -> None:
    why = found(stored, wanted)
    assert isinstance(why, str) and why.startswith(reason)


@pytest.mark.parametrize(
    ("kind", "stored"),
    [
        ("timestamp", pa.timestamp("ns")),  # how INT96 shows, which has no zone in a footer
        ("timestamptz", pa.timestamp("ns")),
        ("timestamptz", pa.timestamp("us")),
        ("timestamp", pa.timestamp("ms")),
        ("decimal(9, 2)", pa.decimal128(9, 3)),
        ("int", pa.int64()),
        ("fixed[4]", pa.binary(5)),
    ],
)
def test_values_stored_unlike_iceberg_does_go_to_arrow(kind: str, stored: pa.DataType) -> None:
    why = found([("k", stored)], field(2, "k", kind))
    assert why == f"column 'k' is stored as {stored}"


@pytest.mark.parametrize(
    ("precision", "leaf", "is_native"),
    [
        (9, StoredLeaf("INT32", "DECIMAL"), True),
        (18, StoredLeaf("INT64", "DECIMAL"), True),
        (18, StoredLeaf("FIXED_LEN_BYTE_ARRAY", "DECIMAL", 8), True),
        (18, StoredLeaf("FIXED_LEN_BYTE_ARRAY", "DECIMAL", 9), False),
        (9, StoredLeaf("FIXED_LEN_BYTE_ARRAY", "DECIMAL", 15), False),
        (18, StoredLeaf("FIXED_LEN_BYTE_ARRAY", "DECIMAL", 16), True),
        (18, StoredLeaf("FIXED_LEN_BYTE_ARRAY", "DECIMAL", 17), False),
        (18, StoredLeaf("BYTE_ARRAY", "DECIMAL"), False),
        (19, StoredLeaf("FIXED_LEN_BYTE_ARRAY", "DECIMAL", 12), True),
        (19, StoredLeaf("BYTE_ARRAY", "DECIMAL"), True),
    ],
)
def test_decimals_in_bytes_that_spark_misreads_as_longs_go_to_arrow(
    precision: int, leaf: StoredLeaf, is_native: bool
) -> None:
    stored = [("k", pa.decimal128(min(precision, 18), 2))]
    why = found(stored, field(2, "k", f"decimal({precision}, 2)"), leaf=leaf)
    assert isinstance(why, FileColumns) is is_native
    assert is_native or "column 'k' stores decimals as" in str(why)
