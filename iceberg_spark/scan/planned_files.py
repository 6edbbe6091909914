"""Planned files as a change names them, and written ones as a reader of them takes them."""

from __future__ import annotations

from typing import Any

from iceberg_spark.scan.task import DeleteFile, FileScanTask
from iceberg_spark.spec.data_file import DataFile, DataFileContent

_SAME = (
    "content",
    "file_path",
    "file_format",
    "record_count",
    "file_size_in_bytes",
    "referenced_data_file",
    "content_offset",
    "content_size_in_bytes",
)


def data_file(task: FileScanTask) -> DataFile:
    """Return a planned data file as a change removes it."""
    return DataFile(
        content=DataFileContent.DATA,
        file_path=task.file_path,
        file_format=task.file_format,
        partition=task.partition,
        record_count=task.record_count,
        file_size_in_bytes=task.file_size_in_bytes,
        partition_spec_id=task.spec_id,
        first_row_id=task.first_row_id,
    )


def delete_file(file: DeleteFile, task: FileScanTask) -> DataFile:
    """Return a position delete file or vector of a task's data file as a change removes it."""
    return DataFile(partition=task.partition, partition_spec_id=file.spec_id, **_shared(file))


def position_delete(file: DataFile, data_sequence_number: int = 0) -> DeleteFile:
    """Return a delete file or vector by position as readers of its positions take it."""
    return DeleteFile(
        data_sequence_number=data_sequence_number, spec_id=file.partition_spec_id, **_shared(file)
    )


def _shared(file: DataFile | DeleteFile) -> dict[str, Any]:
    return {name: getattr(file, name) for name in _SAME}
