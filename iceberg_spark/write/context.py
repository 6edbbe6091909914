"""The values that all writing tasks of one write share; pickled once, in the writer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from iceberg_spark.io.file_io import FileIO
from iceberg_spark.io.storage import open_storage
from iceberg_spark.spec.data_file import FileFormat
from iceberg_spark.spec.partition import PartitionSpec
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.sort import UNSORTED, SortOrder


@dataclass(frozen=True, slots=True)
class WriteContext:
    """A planned write to one table.

    `properties` are the table's properties overridden by the write's options (under the table
    property's name), so that writers look them up in one place. `write_id` is part of every
    file name, to find and remove stray files of failed, retried and speculative tasks.
    `sort_order` is the table's; `sort_order_id` is recorded for the files: 0 until the rows are
    sorted. `row_bytes` is the average size of a row in the table's files, if it has any. `io` is
    the storage of the table's files for driver and tasks.
    """

    table_location: str
    format_version: int
    schema: Schema
    spec: PartitionSpec
    sort_order_id: int
    file_format: FileFormat
    delete_format: FileFormat
    target_file_size_bytes: int
    write_id: str
    fanout: bool = True
    properties: Mapping[str, str] = field(default_factory=dict)
    io: FileIO = field(default_factory=open_storage, repr=False, compare=False)
    sort_order: SortOrder = UNSORTED
    row_bytes: float | None = None


@dataclass(frozen=True, slots=True)
class TaskId:
    """Which task and attempt writes; both are in its file names."""

    partition: int = 0
    attempt: int = 0
