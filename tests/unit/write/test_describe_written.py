"""Parquet files of another writer, described for their manifest entries."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from iceberg_spark.arrow.schema import to_arrow
from iceberg_spark.errors import CorruptFileError, InvalidInputError, UnsupportedError
from iceberg_spark.io.fsspec_io import FsspecIO
from iceberg_spark.spec.data_file import DataFile
from iceberg_spark.spec.schema import Schema
from iceberg_spark.write.context import TaskId
from iceberg_spark.write.data_file_writer import write_data_files
from iceberg_spark.write.describe_written import describer
from iceberg_spark.write.new_write import write_context
from tests.builders import field, metadata, schema, struct
from tests.oracle import rows as samples

NAN = float("nan")
EVERY = schema(
    ("flag", "boolean"),
    ("i", "int"),
    ("l", "long"),
    ("f", "float"),
    ("d", "double"),
    ("dec9", "decimal(9, 2)"),
    ("dec38", "decimal(38, 10)"),
    ("dt", "date"),
    ("ts", "timestamptz"),
    ("tsn", "timestamp"),
    ("s", "string"),
    ("b", "binary"),
    field(13, "st", struct(field(14, "x", "double"), field(15, "t", "string"))),
)


def described(folder: Path, columns: Schema, rows: pa.Table, **table: Any) -> DataFile | None:
    """The entry of a file of `rows` with field ids, as pyarrow writes it."""
    context = write_context(metadata(columns, location=str(folder), **table))
    path = folder / "f.parquet"
    pq.write_table(rows, path, row_group_size=3, store_schema=False)
    return describer(context, FsspecIO({}))(str(path), path.stat().st_size)


def rows_of(columns: Schema, rows: list[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(rows, schema=to_arrow(columns))


def test_the_metrics_of_every_type_equal_the_arrow_writers(tmp_path: Path) -> None:
    given = samples.table(0, 60)
    names = {"flag": "flag", "i": "i", "l": "id", "f": "f", "d": "d", "dec9": "dec9"}
    names |= {"dec38": "dec38", "dt": "dt", "ts": "ts", "tsn": "tsn", "s": "s", "b": "bin"}
    plain = [
        {mine: row[theirs] for mine, theirs in names.items()}
        | {"st": None if row["st"] is None else {"x": row["st"]["n"]["x"], "t": row["st"]["b"]}}
        for row in given.to_pylist()
    ]
    table = rows_of(EVERY, plain)
    context = write_context(metadata(EVERY, location=str(tmp_path)))
    batches = table.to_batches()
    (expected,) = write_data_files(context, FsspecIO({}), batches, TaskId())
    found = described(tmp_path, EVERY, table)
    for name in ("value_counts", "null_value_counts", "nan_value_counts"):
        assert dict(getattr(found, name)) == dict(getattr(expected, name)), name
    assert dict(found.lower_bounds) == dict(expected.lower_bounds)
    assert dict(found.upper_bounds) == dict(expected.upper_bounds)
    assert set(found.column_sizes) == set(expected.column_sizes)


def test_nan_is_never_a_bound(tmp_path: Path) -> None:
    columns = schema(("d", "double"))
    found = described(tmp_path, columns, rows_of(columns, [{"d": NAN}, {"d": NAN}]))
    assert found.nan_value_counts == {1: 2}
    assert found.lower_bounds == {} and found.upper_bounds == {}


def test_bounds_that_the_footer_lacks_are_read_back(tmp_path: Path) -> None:
    columns = schema(("s", "string"), ("i", "int"))
    context = write_context(metadata(columns, location=str(tmp_path)))
    path = tmp_path / "f.parquet"
    rows = rows_of(columns, [{"s": "b" * 20, "i": 1}, {"s": None, "i": 2}, {"s": "a", "i": 3}])
    pq.write_table(rows, path, write_statistics=["i"])
    found = describer(context, FsspecIO({}))(str(path), 1)
    assert found.lower_bounds[1] == b"a"
    assert found.upper_bounds[1] == b"b" * 15 + b"c"


def test_a_file_without_rows_has_no_entry(tmp_path: Path) -> None:
    columns = schema(("i", "int"))
    assert described(tmp_path, columns, rows_of(columns, [])) is None


def test_the_partition_comes_from_the_files_values(tmp_path: Path) -> None:
    columns = schema(("s", "string"), ("i", "long"), ("d", "double"))
    for text, number in ((None, -0.0), ("", NAN), ("null", 1.5), ("a/b=c%d", 0.0)):
        given = [{"s": text, "i": 7, "d": number}] * 2
        found = described(
            tmp_path, columns, rows_of(columns, given), partition_by=["s", "bucket(16, i)", "d"]
        )
        assert found.partition[0] == text
        assert np.float64(found.partition[2]).tobytes() == np.float64(number).tobytes()


def test_a_file_with_rows_of_two_partitions_is_refused(tmp_path: Path) -> None:
    columns = schema(("s", "string"))
    rows = rows_of(columns, [{"s": "a"}, {"s": "b"}])
    with pytest.raises(CorruptFileError, match="several partitions: s is a and b"):
        described(tmp_path, columns, rows, partition_by=["s"])


def test_a_null_in_a_required_column_is_refused(tmp_path: Path) -> None:
    columns = schema(field(1, "i", "int", required=True))
    optional = schema(field(1, "i", "int"))
    with pytest.raises(InvalidInputError, match="Column 'i' is required"):
        described(tmp_path, columns, rows_of(optional, [{"i": 1}, {"i": None}]))


def test_int96_timestamps_are_refused(tmp_path: Path) -> None:
    columns = schema(("ts", "timestamptz"))
    context = write_context(metadata(columns, location=str(tmp_path)))
    path = tmp_path / "f.parquet"
    rows = rows_of(columns, [{"ts": 0}])
    pq.write_table(rows, path, use_deprecated_int96_timestamps=True)
    with pytest.raises(UnsupportedError, match=r"INT96.*outputTimestampType"):
        describer(context, FsspecIO({}))(str(path), 1)


def test_files_without_field_ids_are_refused(tmp_path: Path) -> None:
    columns = schema(("i", "int"))
    with pytest.raises(UnsupportedError, match="lacks the field ids"):
        described(tmp_path, columns, pa.table({"i": pa.array([1], pa.int32())}))


def test_files_whose_structs_lack_their_own_field_ids_are_refused(tmp_path: Path) -> None:
    """Their fields have ids, yet readers look for the struct first and would give NULL."""
    columns = schema(field(1, "st", struct(field(2, "a", "int"))))
    number = pa.field("a", pa.int32(), metadata={"PARQUET:field_id": "2"})
    rows = pa.Table.from_arrays(
        [pa.array([{"a": 1}], pa.struct([number]))], schema=pa.schema([("st", pa.struct([number]))])
    )
    with pytest.raises(UnsupportedError, match="lacks the field ids"):
        described(tmp_path, columns, rows)


def test_nulls_of_a_required_column_are_found_where_the_footer_does_not_count_them(
    tmp_path: Path,
) -> None:
    columns = schema(field(1, "s", "string", required=True))
    properties = {"write.metadata.metrics.default": "none"}
    context = write_context(metadata(columns, location=str(tmp_path), properties=properties))
    path = tmp_path / "f.parquet"
    for values in (["a", "b"], ["a", None]):
        rows = rows_of(schema(("s", "string")), [{"s": value} for value in values])
        pq.write_table(rows, path, write_statistics=False)
        describe = describer(context, FsspecIO({}))
        if None not in values:
            assert not describe(str(path), 1).value_counts
            continue
        with pytest.raises(InvalidInputError, match="Column 's' is required"):
            describe(str(path), 1)
