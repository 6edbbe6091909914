"""What a scan plans: data file splits with the deletes that apply to them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from iceberg_spark.expr.nodes import ALWAYS_TRUE, Bound
from iceberg_spark.spec.data_file import DataFileContent, FileFormat


@dataclass(frozen=True, slots=True)
class DeleteFile:
    """A delete file as a task needs it; `data_sequence_number` is already inherited."""

    content: DataFileContent
    file_path: str
    file_format: FileFormat
    file_size_in_bytes: int
    record_count: int
    data_sequence_number: int
    spec_id: int
    equality_ids: tuple[int, ...] = ()
    referenced_data_file: str | None = None


@dataclass(frozen=True, slots=True)
class FileScanTask:
    """A byte range of one data file, with its deletes and what is left of the filter.

    `start` and `length` are bytes; a task reads the row groups (stripes, blocks) that start in
    its range. `partition` holds canonical values in the order of the fields of `spec_id`.
    `residual` is what the partition and the file's place can't prove; rows still need it.
    """

    file_path: str
    file_format: FileFormat
    spec_id: int
    partition: tuple[Any, ...]  # canonical values of any type
    record_count: int
    file_size_in_bytes: int
    data_sequence_number: int
    start: int
    length: int
    delete_files: tuple[DeleteFile, ...] = ()
    residual: Bound = ALWAYS_TRUE
    split_offsets: tuple[int, ...] = ()

    @property
    def is_whole_file(self) -> bool:
        """True when the task reads the file from its start to its end."""
        return self.start == 0 and self.length >= self.file_size_in_bytes
