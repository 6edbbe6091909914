"""Data files of one task: grouping, rolling, names, and nothing left after an error."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from iceberg_spark.arrow.schema import to_arrow
from iceberg_spark.errors import InvalidInputError, InvalidOptionError
from iceberg_spark.io.fsspec_io import FsspecIO
from iceberg_spark.spec.data_file import DataFile, DataFileContent, FileFormat
from iceberg_spark.spec.partition import UNPARTITIONED, PartitionField, PartitionSpec
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.transforms import (
    BucketTransform,
    IdentityTransform,
    TruncateTransform,
    VoidTransform,
)
from iceberg_spark.spec.types import (
    DoubleType,
    LongType,
    NestedField,
    StringType,
    StructType,
)
from iceberg_spark.write import data_file_writer, rolling_files
from iceberg_spark.write import data_file_writer as chunks
from iceberg_spark.write.context import TaskId, WriteContext
from iceberg_spark.write.data_file_writer import write_data_files
from tests.limits import set_limits

SCHEMA = Schema(
    NestedField(1, "id", LongType()),
    NestedField(2, "s", StringType()),
    NestedField(3, "d", DoubleType()),
    NestedField(4, "st", StructType(NestedField(5, "x", StringType()))),
)
TASK = TaskId(3, 1)


def spec(*fields: PartitionField) -> PartitionSpec:
    return PartitionSpec(7, fields)


def by(source: int, transform=None) -> PartitionField:
    return PartitionField((source,), 1000 + source, transform or IdentityTransform(), f"p{source}")


def context(folder: Path, partitioned: PartitionSpec = UNPARTITIONED, **changes) -> WriteContext:
    made = WriteContext(
        table_location=str(folder),
        format_version=2,
        schema=SCHEMA,
        spec=partitioned,
        sort_order_id=0,
        file_format=FileFormat.PARQUET,
        delete_format=FileFormat.PARQUET,
        target_file_size_bytes=512 * 1024 * 1024,
        write_id="wid",
    )
    return replace(made, **changes)


def rows(count: int, texts: tuple[str | None, ...] = ("a", "b")) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist(
        [
            {
                "id": n,
                "s": texts[n % len(texts)],
                "d": float(n),
                "st": None if n % 3 == 0 else {"x": texts[n % len(texts)]},
            }
            for n in range(count)
        ],
        schema=to_arrow(SCHEMA),
    )


def written(folder: Path, batches, partitioned=UNPARTITIONED, **changes) -> tuple[DataFile, ...]:
    made = context(folder, partitioned, **changes)
    return write_data_files(made, FsspecIO({}), batches, TASK)


def files_below(folder: Path) -> list[str]:
    return [name for _, _, names in os.walk(folder) for name in names]


def ids_of(file: DataFile) -> list[int]:
    return pq.ParquetFile(file.file_path).read().column("id").to_pylist()


def test_batches_become_one_file_with_one_row_group(tmp_path: Path) -> None:
    (file,) = written(tmp_path, [rows(10), rows(0), rows(5)])
    read = pq.ParquetFile(file.file_path)
    assert read.metadata.num_row_groups == 1
    assert read.read().column("id").to_pylist() == [*range(10), *range(5)]
    assert file.record_count == 15
    assert file.file_size_in_bytes == Path(file.file_path).stat().st_size
    assert file.content is DataFileContent.DATA
    assert file.sort_order_id == 0
    assert file.split_offsets == (4,)


def test_no_rows_make_no_file(tmp_path: Path) -> None:
    assert written(tmp_path, [rows(0)]) == ()
    assert files_below(tmp_path) == []


def test_a_file_name_carries_task_attempt_and_write_id(tmp_path: Path) -> None:
    (file,) = written(tmp_path, [rows(1)])
    assert file.file_path == f"{tmp_path}/data/00003-1-wid-00001.parquet"


def test_rows_go_to_the_files_of_their_partitions(tmp_path: Path) -> None:
    files = written(tmp_path, [rows(6, ("a", "b", None))], spec(by(2)))
    assert {(file.partition, tuple(ids_of(file))) for file in files} == {
        (("a",), (0, 3)),
        (("b",), (1, 4)),
        ((None,), (2, 5)),
    }
    assert {file.partition_spec_id for file in files} == {7}
    assert {Path(file.file_path).parent.name for file in files} == {"p2=a", "p2=b", "p2=null"}


def test_a_nested_source_below_a_null_struct_is_null(tmp_path: Path) -> None:
    files = written(tmp_path, [rows(4)], spec(by(5)))
    assert {file.partition: ids_of(file) for file in files} == {
        (None,): [0, 3],
        ("b",): [1],
        ("a",): [2],
    }


def test_several_partition_fields_and_a_void_one(tmp_path: Path) -> None:
    fields = by(1, TruncateTransform(2)), by(2), by(3, VoidTransform())
    files = written(tmp_path, [rows(4)], spec(*fields))
    assert {file.partition: ids_of(file) for file in files} == {
        (0, "a", None): [0],
        (0, "b", None): [1],
        (2, "a", None): [2],
        (2, "b", None): [3],
    }


def test_all_void_fields_are_no_partition(tmp_path: Path) -> None:
    (file,) = written(tmp_path, [rows(2)], spec(by(2, VoidTransform())))
    assert file.partition == (None,)
    assert Path(file.file_path).parent == tmp_path / "data"


def test_nan_is_one_partition_and_the_zeros_are_two(tmp_path: Path) -> None:
    values = [math.nan, 0.0, -0.0, math.nan, -0.0]
    batch = rows(5).set_column(2, to_arrow(SCHEMA).field("d"), pa.array(values))
    files = written(tmp_path, [batch, batch.slice(3)], spec(by(3)))
    shown = sorted((str(file.partition[0]), ids_of(file)) for file in files)
    assert shown == [("-0.0", [2, 4, 4]), ("0.0", [1]), ("nan", [0, 3, 3])]


def test_a_file_is_rolled_at_the_bytes_really_written(tmp_path: Path) -> None:
    target = 200_000
    batches = [
        pa.RecordBatch.from_pylist(
            [{"id": n, "s": os.urandom(40).hex(), "d": None, "st": None} for n in range(2000)],
            schema=to_arrow(SCHEMA),
        )
        for _ in range(10)
    ]
    files = written(tmp_path, batches, target_file_size_bytes=target)
    assert sum(file.record_count for file in files) == 20_000
    assert len(files) > 3
    assert all(target <= file.file_size_in_bytes < 2 * target for file in files[:-1])
    assert [row for file in files for row in ids_of(file)] == list(range(2000)) * 10


def test_a_row_group_ends_at_its_size(tmp_path: Path) -> None:
    properties = {"write.parquet.row-group-size-bytes": "100000"}
    (file,) = written(tmp_path, [rows(20_000)], properties=properties)
    groups = pq.ParquetFile(file.file_path).metadata.num_row_groups
    assert groups > 2
    assert len(file.split_offsets) == groups
    assert ids_of(file) == list(range(20_000))


def test_more_partitions_than_open_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small bounds: files are closed and begun again, no row is lost or doubled."""
    set_limits(monkeypatch, chunks, "ROWS", chunk_bytes=1000)

    def small(opener, **bounds):
        return rolling_files.RollingFiles(
            opener, **bounds, max_open_files=2, max_buffered_bytes=2000
        )

    monkeypatch.setattr(data_file_writer, "RollingFiles", small)
    files = written(tmp_path, [rows(100)] * 5, spec(by(1, BucketTransform(7))))
    assert sorted(row for file in files for row in ids_of(file)) == sorted([*range(100)] * 5)
    assert len({file.partition for file in files}) == 7
    assert len({file.file_path for file in files}) == len(files)


def test_without_fanout_clustered_rows_are_written(tmp_path: Path) -> None:
    batches = [rows(3, ("a",)), rows(3, ("a",)), rows(3, ("b",))]
    files = written(tmp_path, batches, spec(by(2)), fanout=False)
    assert [file.partition for file in files] == [("a",), ("b",)]


def test_without_fanout_scattered_rows_are_refused(tmp_path: Path) -> None:
    for batches in ([rows(4)], [rows(2, ("a",)), rows(2, ("b",)), rows(2, ("a",))]):
        with pytest.raises(InvalidInputError, match="fanout-enabled"):
            written(tmp_path, batches, spec(by(2)), fanout=False)
        assert files_below(tmp_path) == []


def test_an_error_of_the_rows_deletes_what_was_written(tmp_path: Path) -> None:
    def failing() -> Iterator[pa.RecordBatch]:
        for _ in range(20):
            yield rows(20_000)
        raise RuntimeError("no more rows")

    with pytest.raises(RuntimeError, match="no more rows"):
        written(tmp_path, failing(), spec(by(2)), target_file_size_bytes=100_000)
    assert files_below(tmp_path) == []


def test_an_error_of_the_writer_deletes_what_was_written(tmp_path: Path) -> None:
    bad = {"write.parquet.compression-codec": "zip"}
    with pytest.raises(InvalidOptionError, match=r"write.parquet.compression-codec.*'zip'"):
        written(tmp_path, [rows(10)], properties=bad)
    assert files_below(tmp_path) == []
