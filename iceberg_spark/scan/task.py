"""Data file splits with the deletes that apply to them: the result of planning."""

from __future__ import annotations

from dataclasses import dataclass, fields
from operator import attrgetter
from typing import Any

from iceberg_spark.expr.nodes import ALWAYS_TRUE, Bound
from iceberg_spark.spec.data_file import DataFileContent, DeleteKey, FileFormat, delete_key


@dataclass(frozen=True, slots=True)
class DeleteFile:
    """A delete file for a task; `data_sequence_number` is already inherited.

    `first_position` and `last_position` bound the row positions in a position delete file, over
    all its data files; None if its writer did not record them. `content_offset` and
    `content_size_in_bytes` are the position of a deletion vector in its file.
    """

    content: DataFileContent
    file_path: str
    file_format: FileFormat
    file_size_in_bytes: int
    record_count: int
    data_sequence_number: int
    spec_id: int
    equality_ids: tuple[int, ...] = ()
    referenced_data_file: str | None = None
    first_position: int | None = None
    last_position: int | None = None
    content_offset: int | None = None
    content_size_in_bytes: int | None = None

    @property
    def is_vector(self) -> bool:
        """Whether it is a deletion vector: the bytes from its offset on, of a file of several."""
        return self.file_format is FileFormat.PUFFIN

    @property
    def key(self) -> DeleteKey:
        """Identifies it among the deletes of a table."""
        return delete_key(
            self.file_path, self.content_offset, self.referenced_data_file, self.file_format
        )

    def may_delete_rows(self, first: int, end: int) -> bool:
        """Return False if no row position in first <= position < end can be in the file.

        A reader knows the row range of a split from the footer, so it checks before it opens a
        position delete file. Always True for equality deletes.
        """
        before = self.last_position is not None and self.last_position < first
        after = self.first_position is not None and self.first_position >= end
        return not before and not after


@dataclass(frozen=True, slots=True)
class FileScanTask:
    """A byte range of one data file, with its deletes and residual filter.

    `start` and `length` are bytes; a task reads the row groups (stripes, blocks) that start in
    its range. `partition` has canonical values in the order of the fields of `spec_id`. Rows
    still have to satisfy `residual`, which the partition can't prove. `split_offsets` are the row
    groups' starts in the range of a part of a file, empty for a whole file or if unknown.
    `first_row_id` is the row id of the file's first row, None if its rows have none.
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
    first_row_id: int | None = None

    def __reduce__(self) -> tuple[type[FileScanTask], tuple[object, ...]]:
        # A class with slots is pickled field by field, seven times as slowly: plans have many.
        return FileScanTask, _VALUES(self)

    @property
    def is_whole_file(self) -> bool:
        """True when the task reads the file from its start to its end."""
        return self.start == 0 and self.length >= self.file_size_in_bytes


_VALUES = attrgetter(*(field.name for field in fields(FileScanTask)))
