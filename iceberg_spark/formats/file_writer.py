"""The interface of every writer of one data or delete file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from iceberg_spark.formats.metrics import Metrics


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """A finished file: bytes, metrics, and where it may be split."""

    size: int
    metrics: Metrics
    split_offsets: tuple[int, ...] | None = None


class FileWriter(Protocol):
    """An open file of one format; rows are tables of `arrow.schema.to_arrow(schema)`."""

    @property
    def bytes_written(self) -> int:
        """Bytes that are in the file so far."""
        ...

    def write(self, table: pa.Table) -> None:
        """Encode a table; in Parquet it becomes one row group."""
        ...

    def close(self) -> WrittenFile:
        """Finish and close the file, durably."""
        ...

    def abort(self) -> None:
        """Give the file up; whoever opened it deletes it."""
        ...
