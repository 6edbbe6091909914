"""Each rule of position and equality deletes, on a table of its own, against Java."""

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import SparkSession

from iceberg_spark.errors import UnsupportedError
from tests.oracle.compare import assert_same_rows
from tests.oracle.delete_tables import (
    BUILDERS,
    KEY_COLUMNS,
    Build,
    key_of_type,
    nan_keys,
    negative_zero_key,
    nested_key,
    null_keys,
    promoted_keys,
    readded_key,
    zero_key,
)
from tests.oracle.java_api import location, read
from tests.oracle.java_tables import FORMATS
from tests.oracle.product import read_arrow, read_frame, read_spark

FLOAT_KEYS = (nan_keys, negative_zero_key, zero_key, null_keys, promoted_keys)


@pytest.mark.parametrize("file_format", FORMATS)
@pytest.mark.parametrize("build", BUILDERS, ids=lambda build: build.__name__)
def test_a_rule_of_deletes_equals_java(java: SparkSession, build: Build, file_format: str) -> None:
    name = f"{build.__name__}_{file_format}"
    path = location(java, name)
    build(java, name, file_format)
    expected = read(java, path)
    assert_same_rows(expected, read_arrow(path), what="the Arrow scan")
    assert_same_rows(expected, read_spark(java, path), what="the Spark frame")
    if file_format == "parquet" and build not in FLOAT_KEYS:
        assert_same_rows(expected, read_frame(java, path, "native"), what="the native frame")
    else:
        with pytest.raises(UnsupportedError, match=r"0\.0 and -0\.0|Avro|ORC"):
            read_frame(java, path, "native")
    for column in expected.column_names:
        actual = read_arrow(path, selected_fields=(column,))
        assert_same_rows(expected.select([column]), actual, what=f"only {column}")
    column = expected.column_names[-1]
    by_both = read_frame(java, path, None, selected_fields=(column,))
    assert_same_rows(expected.select([column]), by_both, what=f"only {column}, as chosen")


@pytest.mark.parametrize("column", KEY_COLUMNS)
def test_an_equality_key_of_every_type_equals_java(java: SparkSession, column: str) -> None:
    name = f"key_{column}"
    key_of_type(java, name, column)
    path = location(java, name)
    expected = read(java, path)
    assert expected.num_rows < 30
    assert_same_rows(expected, read_arrow(path), what="the Arrow scan")
    engine = None if column in {"f", "d"} else "native"
    assert_same_rows(expected, read_frame(java, path, engine), what="the frame")
    assert_same_rows(expected, read_spark(java, path), what="the Spark frame")


@pytest.mark.parametrize("file_format", FORMATS)
def test_a_nested_key_is_null_where_its_struct_is_though_not_in_java(
    java: SparkSession, file_format: str
) -> None:
    """Specification: "if a parent struct column is null it implies the leaf column is null".

    Java compares the structs around the key too, and so keeps the row whose struct is NULL.
    """
    name = f"nested_key_{file_format}"
    nested_key(java, name, file_format)
    path = location(java, name)
    by_java = read(java, path)
    assert sorted(by_java["id"].to_pylist()) == [2, 3]
    expected = by_java.filter(pc.is_valid(by_java["st"]))
    engine = "native" if file_format == "parquet" else None
    assert_same_rows(expected, read_frame(java, path, engine), what="the frame")
    assert_same_rows(expected, read_arrow(path), what="the Arrow scan")
    assert_same_rows(expected, read_spark(java, path), what="the Spark frame")


def test_a_dropped_key_is_read_by_its_id_though_its_name_was_given_again(
    java: SparkSession,
) -> None:
    """Java fails here ("multiple fields for name"), so the rows are written down."""
    readded_key(java, "readded_key")
    path = location(java, "readded_key")
    with pytest.raises(Exception, match="multiple fields for name"):
        read(java, path)
    expected = pa.table(
        {
            "id": pa.array([1, 2, 3, 4, 6, 7, None, 20], pa.int64()),
            "s": pa.array([None] * 7 + ["b"], pa.string()),
        }
    )
    assert_same_rows(expected, read_arrow(path, selected_fields=("id", "s")))
    assert_same_rows(expected, read_spark(java, path, columns="id,s"))
    assert_same_rows(expected, read_frame(java, path, "native", selected_fields=("id", "s")))
