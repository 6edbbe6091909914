"""What one task reads of the changes of commits, and its rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from iceberg_spark.arrow.row_hashes import hash_rows, polars_frame
from iceberg_spark.arrow.schema import to_arrow
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.read.changelog import (
    ChangeRequest,
    changed_rows,
    identity_keys,
    row_keys,
    select_columns,
    snapshot_changes,
    with_change,
)
from iceberg_spark.scan.changelog import ChangedFile, ChangeStep
from iceberg_spark.scan.task import FileScanTask
from iceberg_spark.spec.data_file import DataFileContent
from iceberg_spark.streams.limits import STREAMING


@dataclass(frozen=True, slots=True)
class CommitChanges:
    """Changed files of one commit.

    With `parts`, the rows of all files are compared to find those that were only carried over; the
    task keeps one part of that many, by the rows' hashes. Without, each file stands alone.
    """

    ordinal: int
    snapshot_id: int
    files: tuple[ChangedFile, ...]
    parts: int = 0
    part: int = 0

    @property
    def size(self) -> int:
        """Bytes to read."""
        both = (task for file in self.files for task in (file.before, file.after))
        return sum(task.length for task in both if task is not None)


def changes_of(step: ChangeStep) -> Iterator[CommitChanges]:
    """Yield a commit's changes in pieces, each of which fits a task."""
    if not step.may_carry_over:
        yield from each_file(step)
        return
    files = tuple(step.files())
    rows = sum(map(_rows_held, files))
    parts = max(1, -(-rows // STREAMING.changes_together))
    for part in range(parts):
        yield CommitChanges(step.ordinal, step.snapshot_id, files, parts, part)


def each_file(step: ChangeStep) -> Iterator[CommitChanges]:
    """Yield a commit's changes file by file, including rows that were only carried over."""
    for file in step.files():
        yield CommitChanges(step.ordinal, step.snapshot_id, (file,))


def for_tasks(changes: Iterable[CommitChanges]) -> list[tuple[CommitChanges, ...]]:
    """Return the pieces in groups of similar size, in order."""
    groups: list[list[CommitChanges]] = []
    size = files = 0
    for commit_changes in changes:
        size, files = size + commit_changes.size, files + len(commit_changes.files)
        is_full = size > STREAMING.changes_bytes or files > STREAMING.changes_files
        if is_full or not groups:
            groups.append([])
            size, files = commit_changes.size, len(commit_changes.files)
        groups[-1].append(commit_changes)
    return [tuple(group) for group in groups]


def change_rows(
    request: ChangeRequest, io: FileIO, changes: Sequence[CommitChanges]
) -> Iterator[pa.RecordBatch]:
    """Yield the changes as batches of `request.schema`.

    Memory: the changed rows of one commit's part; nothing if rows are not compared.
    """
    for commit_changes in changes:
        tables = _rows(request, io, commit_changes)
        if not commit_changes.parts:
            for table in tables:
                yield from select_columns(request, table)
            continue
        held = pa.concat_tables(
            [
                to_arrow(request.whole_schema).empty_table(),
                *(_rows_of_part(request, commit_changes, table) for table in tables),
            ]
        )
        identity = identity_keys(request, held)
        settled_rows = snapshot_changes(held, row_keys(request, held), identity, request.identity)
        yield from select_columns(request, settled_rows)


def _rows(request: ChangeRequest, io: FileIO, changes: CommitChanges) -> Iterator[pa.Table]:
    for file in changes.files:
        for batch, is_insert in changed_rows(request.context, io, file):
            yield with_change(batch, is_insert, changes.ordinal, changes.snapshot_id)


def _rows_of_part(request: ChangeRequest, changes: CommitChanges, table: pa.Table) -> pa.Table:
    """Return the rows of a task's part; rows that are equal, or of one identity, share it."""
    if changes.parts < 2:
        return table
    keys = identity_keys(request, table) or row_keys(request, table)
    part = hash_rows(polars_frame(keys)) % np.uint64(changes.parts)
    return table.filter(pa.array(part == changes.part))


def _rows_held(file: ChangedFile) -> int:
    """Return the maximum number of changed rows of a file."""
    match file:
        case ChangedFile(None, task) | ChangedFile(task, None) if task is not None:
            return task.record_count
        case ChangedFile(_, after) if after is not None:
            return _deleted_rows(after)
        case _:
            return 0


def _deleted_rows(task: FileScanTask) -> int:
    by_key = any(
        delete_file.content is DataFileContent.EQUALITY_DELETES for delete_file in task.delete_files
    )
    by_position = sum(delete_file.record_count for delete_file in task.delete_files)
    return task.record_count if by_key else min(task.record_count, by_position)
