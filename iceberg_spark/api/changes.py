"""What changed between two snapshots, row by row."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from iceberg_spark.arrow.public_types import pandas_frame, public_batches, public_schema
from iceberg_spark.engines import on_spark
from iceberg_spark.errors import InvalidTypeError, NoSuchSnapshotError
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.read.changelog import ChangeRequest, change_batches
from iceberg_spark.scan.changelog import ChangeStep, change_steps
from iceberg_spark.spec.metadata import TableMetadata


@dataclass(frozen=True, slots=True)
class ChangeScan:
    """The rows that came and went after a snapshot up to another one, not read yet.

    Made by `TableScan.changes`. Columns `_change_type` (INSERT, DELETE, UPDATE_BEFORE,
    UPDATE_AFTER), `_change_ordinal` (the snapshots' order, from 0) and `_commit_snapshot_id`
    follow those of the table.
    """

    metadata: TableMetadata
    io: FileIO
    request: ChangeRequest
    start: int | None
    end: int | None

    def __repr__(self) -> str:
        kind = "net changes" if self.request.net else "changes"
        return f"{kind} of {self.metadata.location} after {self.start} up to {self.end}"

    def to_arrow_batch_reader(self) -> pa.RecordBatchReader:
        """Return the changes as a stream of Arrow batches.

        Memory holds the changed files' rows of one snapshot, of all for net changes, unless the
        snapshot only adds or only removes rows: that streams.

        Examples:
            >>> for batch in t.scan().changes().to_arrow_batch_reader():
            ...     print(batch.num_rows)
        """
        schema = public_schema(self.request.schema)
        batches = change_batches(self.request, self.io, self._steps())
        return pa.RecordBatchReader.from_batches(schema, public_batches(batches, schema))

    def to_arrow(self) -> pa.Table:
        """Return the changes as one Arrow table; all of them are held in memory.

        Examples:
            >>> t.scan().changes("monday").to_arrow()["_change_type"]
        """
        return self.to_arrow_batch_reader().read_all()

    def to_pandas(self) -> Any:
        """Return the changes as a `pandas.DataFrame`; all of them are held in memory.

        Examples:
            >>> t.scan().changes("monday").to_pandas()
        """
        return pandas_frame(self.to_arrow())

    def to_df(self, spark: on_spark.SparkSession | None = None) -> on_spark.DataFrame:
        """Return the changes as a Spark DataFrame.

        Args:
            spark: By default the active session.

        Examples:
            >>> t.scan().changes("monday").to_df(spark).show()
        """
        session = on_spark.needed_session(spark)
        return on_spark.change_frame(self.request, tuple(self._steps()), session)

    def count(self) -> int:
        """Count the changes, by reading them.

        Examples:
            >>> t.scan().changes("monday").count()
        """
        return sum(batch.num_rows for batch in self.to_arrow_batch_reader())

    def _steps(self) -> Iterator[ChangeStep]:
        return change_steps(self.metadata, self.io, self.request.context, self.start, self.end)


def snapshot_of(metadata: TableMetadata, reference: int | str | None, name: str) -> int | None:
    """Return the snapshot that an id, or the name of a branch or tag, is about."""
    match reference:
        case None:
            return None
        case str():
            if reference not in metadata.refs:
                refs = ", ".join(metadata.refs)
                raise NoSuchSnapshotError(
                    f"{name}: no branch or tag '{reference}' in {metadata.location}; it has: {refs}"
                )
            return metadata.refs[reference].snapshot_id
        case int() if not isinstance(reference, bool):
            return reference
        case _:
            raise InvalidTypeError(f"{name} must be a snapshot id or a name, not {reference!r}")
