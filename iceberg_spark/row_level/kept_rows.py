"""The files that an overwrite by filter replaces, and their remaining rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.expr.nodes import ALWAYS_TRUE
from iceberg_spark.expr.row_filter import row_filter
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.read.task_reader import read_task
from iceberg_spark.scan.context import ScanContext
from iceberg_spark.scan.task import FileScanTask
from iceberg_spark.spec.schema import Schema


@dataclass(frozen=True, slots=True)
class MatchedFiles:
    """The data files of a snapshot that may hold rows matching a filter."""

    context: ScanContext
    tasks: tuple[FileScanTask, ...]

    def remaining_rows(self, io: FileIO) -> Iterator[pa.RecordBatch]:
        """Yield the live rows that don't match (false or null), batch by batch."""
        matches = row_filter(self.context.row_filter, _paths(self.context.table_schema))
        everything = replace(self.context, row_filter=ALWAYS_TRUE, checks_texts=False)
        for task in self.tasks:
            if task.residual == ALWAYS_TRUE:  # all rows match: none stays
                continue
            for batch in read_task(everything, io, replace(task, residual=ALWAYS_TRUE)):
                yield batch.filter(pc.invert(matches(batch)))


def _paths(schema: Schema) -> dict[int, tuple[str, ...]]:
    names: dict[int, tuple[str, ...]] = {}
    for field_id in schema.field_ids:
        fields = [schema.find_field(step_id) for step_id in schema.path_ids(field_id)]
        names[field_id] = tuple(field.name for field in fields)
    return names
