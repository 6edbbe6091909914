"""Position and equality delete files, in each format."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.orc as po
import pyarrow.parquet as pq
import pytest

from iceberg_spark.arrow.schema import field_id, to_arrow
from iceberg_spark.errors import InvalidInputError, UnsupportedError
from iceberg_spark.io.fsspec_io import FsspecIO
from iceberg_spark.spec.data_file import DataFile, DataFileContent, FileFormat
from iceberg_spark.spec.partition import UNPARTITIONED, PartitionField, PartitionSpec
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.transforms import IdentityTransform
from iceberg_spark.spec.types import (
    DoubleType,
    ListType,
    LongType,
    NestedField,
    StringType,
    StructType,
)
from iceberg_spark.write.context import TaskId, WriteContext
from iceberg_spark.write.equality_delete_writer import equality_schema, write_equality_deletes
from iceberg_spark.write.position_delete_writer import write_position_deletes

SCHEMA = Schema(
    NestedField(1, "id", LongType(), required=True),
    NestedField(2, "s", StringType()),
    NestedField(3, "d", DoubleType()),
    NestedField(4, "st", StructType(NestedField(5, "x", StringType()))),
    NestedField(6, "li", ListType(7, LongType())),
)
SPEC = PartitionSpec(3, (PartitionField((2,), 1000, IdentityTransform(), "s"),))
FORMATS = [FileFormat.PARQUET, FileFormat.ORC, FileFormat.AVRO]
PATH_ID, POS_ID = 2147483546, 2147483545


def context(folder: Path, delete_format: FileFormat = FileFormat.PARQUET) -> WriteContext:
    return WriteContext(
        str(folder), 2, SCHEMA, SPEC, 0, FileFormat.PARQUET, delete_format, 1 << 29, "wid"
    )


def read(file: DataFile) -> list[dict[str, Any]]:
    match file.file_format:
        case FileFormat.PARQUET:
            return pq.ParquetFile(file.file_path).read().to_pylist()
        case FileFormat.ORC:
            return po.read_table(file.file_path).to_pylist()
        case _:
            with Path(file.file_path).open("rb") as source:
                return list(fastavro.reader(source))


def positions(
    folder: Path, deletes: list[tuple[str, int]], granularity: str = "file", **changes
) -> tuple[DataFile, ...]:
    table = pa.table({"file_path": [p for p, _ in deletes], "pos": [n for _, n in deletes]})
    return write_position_deletes(
        replace(context(folder), **changes), FsspecIO({}), table, spec=SPEC, partition=("x",),
        task=TaskId(), granularity=granularity,
    )  # fmt: skip


DELETES = [("b", 9), ("a", 2), ("b", 1), ("a", 10), ("b", 1)]


@pytest.mark.parametrize("delete_format", FORMATS)
def test_one_file_for_each_data_file_sorted_and_each_position_once(
    tmp_path: Path, delete_format: FileFormat
) -> None:
    first, second = positions(tmp_path, DELETES, delete_format=delete_format)
    assert [(row["file_path"], row["pos"]) for row in read(first)] == [("a", 2), ("a", 10)]
    assert [(row["file_path"], row["pos"]) for row in read(second)] == [("b", 1), ("b", 9)]
    assert {file.file_format for file in (first, second)} == {delete_format}
    assert first.record_count == 2
    assert Path(first.file_path).parent == tmp_path / "data" / "s=x"
    assert first.file_path.endswith(f"-deletes.{delete_format.lower()}")


def test_an_entry_for_one_data_file_names_it(tmp_path: Path) -> None:
    first, second = positions(tmp_path, DELETES)
    assert (first.referenced_data_file, second.referenced_data_file) == ("a", "b")
    assert first.content is DataFileContent.POSITION_DELETES
    assert (first.partition, first.partition_spec_id) == (("x",), 3)
    assert first.sort_order_id is None
    assert first.equality_ids is None


def test_bounds_are_whole_paths_and_positions(tmp_path: Path) -> None:
    path = "s3://bucket/" + "long/" * 20 + "f.parquet"
    (file,) = positions(tmp_path, [(path, 3), (path, 8)])
    assert file.lower_bounds[PATH_ID] == file.upper_bounds[PATH_ID] == path.encode()
    assert file.lower_bounds[POS_ID] == (3).to_bytes(8, "little")
    assert file.upper_bounds[POS_ID] == (8).to_bytes(8, "little")
    assert file.value_counts is None


def test_partition_granularity_writes_one_file(tmp_path: Path) -> None:
    (file,) = positions(tmp_path, DELETES, "partition")
    assert [(row["file_path"], row["pos"]) for row in read(file)] == sorted(set(DELETES))
    assert file.referenced_data_file is None
    assert (file.lower_bounds[PATH_ID], file.upper_bounds[PATH_ID]) == (b"a", b"b")


def test_columns_have_the_reserved_ids_and_are_required(tmp_path: Path) -> None:
    file = positions(tmp_path, DELETES)[0]
    schema = pq.ParquetFile(file.file_path).schema_arrow
    assert [field_id(field) for field in schema] == [PATH_ID, POS_ID]
    assert not any(field.nullable for field in schema)
    footer = pq.ParquetFile(file.file_path).metadata.metadata
    assert footer[b"delete-type"] == b"position"


def test_no_deletes_make_no_file(tmp_path: Path) -> None:
    assert positions(tmp_path, []) == ()


def test_names_of_several_calls_of_one_task_differ(tmp_path: Path) -> None:
    made = [*positions(tmp_path, DELETES), *positions(tmp_path, DELETES)]
    assert len({file.file_path for file in made}) == 4


def test_a_delete_without_path_or_position_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="null"):
        positions(tmp_path, [(None, 1)])


def test_an_unknown_granularity_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="'row'"):
        positions(tmp_path, DELETES, "row")


def test_version_1_has_no_deletes(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match="format-version"):
        positions(tmp_path, DELETES, format_version=1)


def keys(folder: Path, rows: list[dict], ids: list[int], **changes) -> tuple[DataFile, ...]:
    schema = equality_schema(SCHEMA, ids)
    batches = [pa.RecordBatch.from_pylist([row], schema=to_arrow(schema)) for row in rows]
    return write_equality_deletes(
        replace(context(folder), **changes), FsspecIO({}), batches, equality_ids=ids,
        spec=UNPARTITIONED, partition=(), task=TaskId(),
    )  # fmt: skip


@pytest.mark.parametrize("delete_format", FORMATS)
def test_keys_are_written_with_their_ids(tmp_path: Path, delete_format: FileFormat) -> None:
    rows = [{"id": 1, "s": "a"}, {"id": 2, "s": None}]
    (file,) = keys(tmp_path, rows, [2, 1], delete_format=delete_format)
    assert read(file) == rows
    assert file.content is DataFileContent.EQUALITY_DELETES
    assert file.equality_ids == (1, 2)
    assert file.sort_order_id == 0
    assert file.record_count == 2
    assert (file.partition_spec_id, file.partition) == (0, ())


def test_keys_have_the_tables_field_ids_and_bounds(tmp_path: Path) -> None:
    (file,) = keys(tmp_path, [{"id": 1, "s": "a"}], [1, 2])
    parquet = pq.ParquetFile(file.file_path)
    assert [field_id(field) for field in parquet.schema_arrow] == [1, 2]
    assert file.lower_bounds == file.upper_bounds == {1: (1).to_bytes(8, "little"), 2: b"a"}
    assert parquet.metadata.metadata[b"delete-type"] == b"equality"
    assert parquet.metadata.metadata[b"delete-field-ids"] == b"1,2"


def test_keys_have_bounds_even_where_the_table_has_none(tmp_path: Path) -> None:
    properties = {"write.metadata.metrics.default": "none"}
    (file,) = keys(tmp_path, [{"id": 1}], [1], properties=properties)
    assert file.lower_bounds.keys() == {1}


def test_a_nested_key_stays_in_its_struct(tmp_path: Path) -> None:
    (file,) = keys(tmp_path, [{"st": {"x": "a"}}, {"st": None}], [5])
    assert read(file) == [{"st": {"x": "a"}}, {"st": None}]
    assert file.equality_ids == (5,)


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        ([3], "'d' of type double"),
        ([4], "'st' of type struct"),
        ([6], "'li' of type list"),
        ([7], "'li.element'"),
        ([99], "id 99"),
        ([], "at least one"),
    ],
)
def test_columns_that_can_not_be_keys_are_refused(ids: list[int], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        equality_schema(SCHEMA, ids)
