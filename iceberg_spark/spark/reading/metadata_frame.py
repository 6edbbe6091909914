"""Metadata tables and changes as DataFrames: parts for Spark's tasks to read.

The plain source does the same if its processes know the table's catalog. A catalog that only the
session describes is known to the driver alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as s

from iceberg_spark.arrow.row_hashes import hash_rows, polars_frame
from iceberg_spark.inspect.pinned_inspection import PinnedInspection
from iceberg_spark.inspect.request import Part
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.read.changelog import (
    ChangeRequest,
    changed_rows,
    identity_keys,
    merge_changes,
    row_keys,
    select_columns,
    snapshot_changes,
    with_change,
)
from iceberg_spark.scan.changelog import ChangedFile, ChangeStep
from iceberg_spark.spark.adapt.batches import spark_batches
from iceberg_spark.spark.adapt.jobs import job_rows
from iceberg_spark.spark.adapt.map_arrow import map_groups
from iceberg_spark.spark.adapt.types import nullable, to_spark
from iceberg_spark.spark.reading.limits import CHANGES
from iceberg_spark.spark.session.compat import expected_arrow_schema
from iceberg_spark.spec.schema import Schema


@dataclass(frozen=True, slots=True)
class _ReadParts:
    """The function of every task: it reads the parts of the task."""

    inspected: PinnedInspection

    def rows(self, some: Sequence[Part]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of some parts, in Spark's Arrow types."""
        schema, batches = self.inspected.batches(some)
        yield from spark_batches(batches, schema, expected_arrow_schema(to_spark(schema)))


def metadata_frame(inspected: PinnedInspection, columns: Schema, spark: SparkSession) -> DataFrame:
    """Return the rows of a pinned metadata table; `columns` are those that it shows."""
    return job_rows(spark, inspected.groups(), _ReadParts(inspected).rows, to_spark(columns))


# The changes between two snapshots as a DataFrame.
#
# Tasks read the changed files. Removed and added rows are matched by a 128-bit hash of the whole
# row, or of the identifier columns. So no value is compared after its conversion to a Spark type.

_SECOND_SEED = 0x5EED


@dataclass(frozen=True, slots=True)
class _KeyNames:
    """The names of the added columns by which rows are matched."""

    row: tuple[str, str]
    identity: tuple[str, ...]
    group: str

    @classmethod
    def unused_by(cls, columns: Iterable[str], *, identity: bool) -> _KeyNames:
        """Return names that no column has, whatever its case."""
        taken = {name.lower() for name in columns}
        stem = "_key"
        while any(name.startswith(stem) for name in taken):
            stem = f"_{stem}"
        by_id = (f"{stem}_id_1", f"{stem}_id_2") if identity else ()
        return cls((f"{stem}_row_1", f"{stem}_row_2"), by_id, f"{stem}_group")

    @property
    def every(self) -> tuple[str, ...]:
        return (*self.row, *self.identity, self.group)


@dataclass(frozen=True, slots=True)
class _StepFile:
    """A changed file and its snapshot."""

    ordinal: int
    snapshot_id: int
    file: ChangedFile

    @property
    def size(self) -> int:
        """Bytes to read."""
        both = (self.file.before, self.file.after)
        return sum(task.length for task in both if task is not None)


def change_frame(
    request: ChangeRequest, steps: Iterable[ChangeStep], spark: SparkSession
) -> DataFrame:
    """Return the changes as a DataFrame. The driver holds a description of each changed file.

    A task that matches removed and added rows holds about half a million rows, or more if more rows
    are equal.
    """
    alone: list[_StepFile] = []
    paired: list[_StepFile] = []
    rows = 0
    for step in steps:
        together = request.brings_together(step)
        rows += step.record_count if together else 0
        files = [_StepFile(step.ordinal, step.snapshot_id, file) for file in step.files()]
        (paired if together else alone).extend(files)
    kind = nullable(to_spark(request.schema))
    read = job_rows(spark, _groups(alone), _Read(request).rows, kind)
    if not paired:
        return read
    groups = max(1, -(-rows // CHANGES.group_rows))
    names = _KeyNames.unused_by(kind.names, identity=bool(request.identity))
    keys = [s.StructField(name, s.LongType()) for name in names.every]
    with_keys = s.StructType([*kind.fields, *keys])
    keyed = job_rows(spark, _groups(paired), _Read(request, groups, names).rows, with_keys)
    together_by = [names.group] if request.net else ["_change_ordinal", names.group]
    identifiers, net = request.identity, request.net

    def settle(table: pa.Table) -> pa.Table:
        by_row = [table.column(name) for name in names.row]
        by_id = [table.column(name) for name in names.identity]
        done = (merge_changes if net else snapshot_changes)(table, by_row, by_id, identifiers)
        return done.drop_columns(list(names.every))

    return read.unionByName(map_groups(keyed, together_by, settle, kind))


def _groups(files: list[_StepFile]) -> Iterator[list[_StepFile]]:
    pending: list[_StepFile] = []
    for file in files:
        size = sum(pending_file.size for pending_file in pending) + file.size
        if pending and (len(pending) >= CHANGES.task_files or size > CHANGES.task_bytes):
            yield pending
            pending = []
        pending.append(file)
    if pending:
        yield pending


@dataclass(frozen=True, slots=True)
class _Read:
    """The function of every task: it reads changed files and returns their rows, with keys."""

    request: ChangeRequest
    groups: int = 0
    names: _KeyNames | None = None

    def rows(self, files: Iterable[_StepFile]) -> Iterator[pa.RecordBatch]:
        """Yield the changed rows of files."""
        io = self.request.context.io
        schema = self.request.schema
        expected = expected_arrow_schema(to_spark(schema))
        for file in files:
            for table in self._changes(io, file):
                plain = spark_batches(select_columns(self.request, table), schema, expected)
                yield from self._with_keys(table, plain)

    def _changes(self, io: FileIO, step_file: _StepFile) -> Iterator[pa.Table]:
        context = replace(self.request.context, checks_texts=False)  # Spark's texts are any bytes
        for rows, is_insert in changed_rows(context, io, step_file.file):
            yield with_change(rows, is_insert, step_file.ordinal, step_file.snapshot_id)

    def _with_keys(
        self, table: pa.Table, plain: Iterator[pa.RecordBatch]
    ) -> Iterator[pa.RecordBatch]:
        if self.names is None:
            yield from plain
            return
        by_row = _hashes(row_keys(self.request, table))
        ids = identity_keys(self.request, table)
        by_id = _hashes(ids) if ids else []
        group = (by_id or by_row)[0] % np.uint64(self.groups)
        keys = [pa.array(words.view(np.int64)) for words in (*by_row, *by_id, group)]
        first = 0
        for batch in plain:
            part = [key.slice(first, batch.num_rows) for key in keys]
            first += batch.num_rows
            yield pa.RecordBatch.from_arrays(
                [*batch.columns, *part], names=[*batch.schema.names, *self.names.every]
            )


def _hashes(keys: list[pa.Array]) -> list[np.ndarray]:
    frame = polars_frame(keys)
    return [hash_rows(frame), hash_rows(frame, _SECOND_SEED)]
