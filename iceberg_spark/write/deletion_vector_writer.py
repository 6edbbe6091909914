"""Deletion vectors of one task or commit, in one file (specification, "Deletion Vectors")."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from iceberg_spark.arrow.position_set import PositionSet
from iceberg_spark.errors import UnsupportedError
from iceberg_spark.formats.puffin.blobs import NewBlob
from iceberg_spark.formats.puffin.deletion_vector import vector_blob
from iceberg_spark.formats.puffin.write_puffin import write_puffin
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.spec.data_file import DataFile, DataFileContent, FileFormat
from iceberg_spark.spec.format_version import rules_of
from iceberg_spark.spec.partition import PartitionSpec
from iceberg_spark.write.context import TaskId, WriteContext
from iceberg_spark.write.delete_files import DELETES, numbers
from iceberg_spark.write.locations import file_location, file_name


@dataclass(frozen=True, slots=True)
class DeletedRows:
    """All deleted positions of a data file, and its partition and spec."""

    file_path: str
    partition_spec_id: int
    partition: tuple[Any, ...]
    positions: PositionSet


def writes_vectors(context: WriteContext) -> bool:
    """Return whether a table's deletes by position are deletion vectors."""
    return rules_of(context.format_version).has_deletion_vectors


def write_vectors(
    context: WriteContext,
    io: FileIO,
    deletes: Iterable[DeletedRows],
    *,
    specs: Mapping[int, PartitionSpec],
    task: TaskId,
) -> tuple[DataFile, ...]:
    """Write the deletion vectors of data files of any partitions to one file.

    Memory holds one data file's positions at a time. The file is in the folder of the first
    one's partition; without deletes there is no file. On any error the written file is
    deleted. Raises UnsupportedError for a format version without deletion vectors.
    """
    if not writes_vectors(context):
        raise UnsupportedError(
            f"Table {context.table_location} has format version {context.format_version}, which "
            "has no deletion vectors"
        )
    stream = iter(deletes)
    first = next(stream, None)
    if first is None:
        return ()
    spec = specs[first.partition_spec_id]
    name = file_name(context, task, next(numbers), FileFormat.PUFFIN, DELETES)
    path = file_location(context, spec, context.schema, first.partition, name)
    entries: list[DataFile] = []

    def blobs() -> Iterator[NewBlob]:
        for deleted in chain((first,), stream):
            entries.append(_entry(deleted, path))
            yield vector_blob(deleted.positions, deleted.file_path)

    file = write_puffin(io, path, blobs())
    return tuple(
        _placed(entry, file.size, blob.offset, blob.length)
        for entry, blob in zip(entries, file.blobs, strict=True)
    )


def _entry(deletes: DeletedRows, path: str) -> DataFile:
    return DataFile(
        content=DataFileContent.POSITION_DELETES,
        file_path=path,
        file_format=FileFormat.PUFFIN,
        partition=deletes.partition,
        record_count=deletes.positions.count,
        file_size_in_bytes=0,
        partition_spec_id=deletes.partition_spec_id,
        referenced_data_file=deletes.file_path,
    )


def _placed(entry: DataFile, size: int, offset: int, length: int) -> DataFile:
    return replace(
        entry, file_size_in_bytes=size, content_offset=offset, content_size_in_bytes=length
    )
