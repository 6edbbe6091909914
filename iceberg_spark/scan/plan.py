"""The result of planning: files as columns; tasks are created lazily."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise, starmap
from typing import Any, TypeAlias, overload

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.arrow.arrays import concat, from_numpy, to_numpy
from iceberg_spark.catalog.planned_io import planner_of
from iceberg_spark.expr.nodes import Bound
from iceberg_spark.manifest.entries import known_value
from iceberg_spark.scan.context import ScanContext
from iceberg_spark.scan.delete_index import DeleteIndex
from iceberg_spark.scan.limits import PLANNING
from iceberg_spark.scan.metrics import ScanMetrics
from iceberg_spark.scan.planning_tasks import PlanningTasks
from iceberg_spark.scan.pruning import canonical_tuples
from iceberg_spark.scan.split import (
    Longs,
    SplitOptions,
    Splits,
    cut_files,
    merge_adjacent,
    pack,
    weights,
)
from iceberg_spark.scan.task import DeleteFile, FileScanTask
from iceberg_spark.spec.data_file import FileFormat
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.reserved import DELETED_ID
from iceberg_spark.spec.types import StructType

FILES_SCHEMA = pa.schema(
    [
        ("file_path", pa.string()),
        ("file_format", pa.string()),
        ("spec_id", pa.int32()),
        ("partition_index", pa.int32()),
        ("record_count", pa.int64()),
        ("file_size_in_bytes", pa.int64()),
        ("data_sequence_number", pa.int64()),
        ("split_offsets", pa.list_(pa.int64())),
        ("residual_index", pa.int32()),
        ("delete_rows", pa.list_(pa.int32())),
        ("first_row_id", pa.int64()),
    ]
)
"""Columns of `ScanPlan.files`: the indexes point into the plan's partitions, residuals, deletes."""

TaskValues: TypeAlias = tuple[Any, ...]
"""The values of a `FileScanTask`, in the order of its fields."""

_SPLITTABLE = [FileFormat.AVRO.value, FileFormat.ORC.value, FileFormat.PARQUET.value]


@dataclass(frozen=True, slots=True)
class PartitionTuples:
    """Some partition tuples of one spec, as a struct column."""

    kind: StructType
    tuples: Any


@dataclass(frozen=True, slots=True, eq=False)
class ScanPlan(Sequence[FileScanTask]):
    """The data files of a scan with their deletes: a sequence of whole-file tasks.

    `files` (FILES_SCHEMA) has one row per data file, in the order of the manifests.
    `groups` splits and balances the files into the reads of one worker. `metadata` is the version
    that was planned. `added_residuals` are the indices of residuals with conditions that a catalog
    added to the filter: only readers of tasks apply them. `tasks` plan the scan again by another
    filter.
    """

    context: ScanContext
    files: pa.Table
    partitions: tuple[PartitionTuples, ...]
    residuals: tuple[Bound, ...]
    deletes: DeleteIndex
    metrics: ScanMetrics
    metadata: TableMetadata | None = field(default=None, repr=False)
    added_residuals: frozenset[int] = frozenset()
    tasks: PlanningTasks | None = field(default=None, repr=False)

    @property
    def is_by_catalog(self) -> bool:
        """Whether the table's catalog planned it: manifests may have other files, or be unreadable.

        Data sequence numbers are unknown then.
        """
        return planner_of(self.context.io) is not None

    def __len__(self) -> int:
        return int(self.files.num_rows)

    def __iter__(self) -> Iterator[FileScanTask]:
        return self._whole_files(np.arange(len(self), dtype=np.int64))

    @overload
    def __getitem__(self, index: int) -> FileScanTask: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[FileScanTask, ...]: ...
    def __getitem__(self, index: int | slice) -> FileScanTask | tuple[FileScanTask, ...]:
        if isinstance(index, int):
            return self[range(len(self))[index] :][0] if index < 0 else self._task_at(index)
        return self.tasks_at(np.arange(len(self), dtype=np.int64)[index])

    def tasks_at(self, rows: Longs) -> tuple[FileScanTask, ...]:
        """Return whole-file tasks of some rows of `files`, in that order."""
        return tuple(self._whole_files(rows))

    def _whole_files(self, rows: Longs) -> Iterator[FileScanTask]:
        sizes = self._longs("file_size_in_bytes")[rows]
        return starmap(FileScanTask, self._values(Splits(rows, np.zeros_like(rows), sizes)))

    def _task_at(self, index: int) -> FileScanTask:
        if index >= len(self):
            raise IndexError(f"The plan has {len(self)} files, none at {index}")
        return self[index : index + 1][0]

    @property
    def shows_deleted_rows(self) -> bool:
        """Whether the scan has the column `_deleted`, and so the deleted rows."""
        return any(column.field_id == DELETED_ID for column in self.context.read_schema.fields)

    @property
    def record_count(self) -> int | None:
        """The number of rows if it is exact without reading: no residual filter, no deletes.

        Deletion vectors are allowed: the number of rows that each deletes is known. A scan of
        `_deleted` shows the deleted rows, too.
        """
        if self.metrics.files_with_residual:
            return None
        total = self.metrics.total_record_count
        if not self.metrics.files_with_deletes or self.shows_deleted_rows:
            return total
        deleted = self._deleted_by_vectors()
        return None if deleted is None else total - deleted

    def _deleted_by_vectors(self) -> int | None:
        """Return the number of rows that deletion vectors delete; None if other deletes apply.

        A vector with more rows than its file must have positions past the file's end, and an empty
        one is never written: their number of deleted rows is only known from reading.
        """
        lists = self.files.column("delete_rows").combine_chunks()
        owners = pc.list_parent_indices(lists)
        used = self.deletes.files.select(["file_format", "record_count"]).take(
            pc.list_flatten(lists)
        )
        vectors = pc.equal(used.column("file_format"), FileFormat.PUFFIN.value)
        rows = self.files.column("record_count").take(owners)
        deleted = used.column("record_count")
        likely = pc.and_(pc.greater(deleted, 0), pc.less_equal(deleted, rows))
        if not pc.all(pc.and_(vectors, likely), min_count=0).as_py():
            return None
        return int(pc.sum(deleted).as_py() or 0)

    def subset(self, rows: Longs) -> ScanPlan:
        """Return the plan of some of the files, by their rows in `files`; the metrics stay."""
        return replace(self, files=self.files.take(pa.array(rows)))

    def groups(self, options: SplitOptions) -> list[tuple[FileScanTask, ...]]:
        """Return tasks balanced by their cost; adjacent splits of a file are one task.

        Sizes are bytes of data and attached deletes (Java: `TableScanUtil.planTaskGroups`).
        """
        return [tuple(starmap(FileScanTask, group)) for group in self.group_values(options)]

    def group_values(self, options: SplitOptions) -> list[tuple[TaskValues, ...]]:
        """Return `groups` as values, for tasks that are created elsewhere.

        Creating a task takes as long as all other planning of a file.
        """
        sizes = self._longs("file_size_in_bytes")
        delete_bytes, delete_count = self._delete_weights()
        split_size = options.size_for(int(sizes.sum() + delete_bytes.sum()))
        formats = concat(self.files.column("file_format")).dictionary_encode()
        can_split = np.array([name in _SPLITTABLE for name in formats.dictionary.to_pylist()], bool)
        splittable = can_split[to_numpy(formats.indices)]
        splits = cut_files(sizes, splittable, self.files.column("split_offsets"), split_size)
        owner = splits.file_index
        heavy = weights(
            splits.length, delete_bytes[owner], delete_count[owner], options.open_file_cost
        )
        merged, bounds = merge_adjacent(splits, pack(heavy, split_size, options.lookback))
        values = list(self._values(merged))
        return [tuple(values[begin:end]) for begin, end in pairwise(bounds.tolist())]

    def _longs(self, name: str) -> Longs:
        values: Longs = to_numpy(self.files.column(name))
        return values

    def _delete_weights(self) -> tuple[Longs, Longs]:
        """Return the bytes and the number of the delete files of each data file."""
        if not self.metrics.files_with_deletes:
            return np.zeros(len(self), np.int64), np.zeros(len(self), np.int64)
        lists = self.files.column("delete_rows").combine_chunks()
        owner = pc.list_parent_indices(lists).to_numpy()
        sizes = self.deletes.files.column("content_bytes").to_numpy()
        attached = sizes[pc.list_flatten(lists).to_numpy()]
        total = np.bincount(owner, weights=attached, minlength=len(self)).astype(np.int64)
        return total, np.bincount(owner, minlength=len(self)).astype(np.int64)

    def _values(self, splits: Splits) -> Iterator[TaskValues]:
        partitions = [
            values
            for part in self.partitions
            for values in canonical_tuples(part.kind, part.tuples)
        ]
        deletes: dict[int, DeleteFile] = {}
        for first in range(0, len(splits), PLANNING.tasks_at_once):
            last = first + PLANNING.tasks_at_once
            rows = splits.file_index[first:last]
            files = self.files.take(from_numpy(rows))
            attached = self._attached(files.column("delete_rows"), deletes)
            start, length = splits.start[first:last], splits.length[first:last]
            yield from zip(
                files.column("file_path").to_pylist(),
                _formats(files),
                files.column("spec_id").to_pylist(),
                [partitions[index] for index in files.column("partition_index").to_pylist()],
                files.column("record_count").to_pylist(),
                files.column("file_size_in_bytes").to_pylist(),
                files.column("data_sequence_number").to_pylist(),
                start.tolist(),
                length.tolist(),
                attached,
                [self.residuals[index] for index in files.column("residual_index").to_pylist()],
                _offsets_inside(files, start, length),
                files.column("first_row_id").to_pylist(),
                strict=True,
            )

    def _attached(
        self, lists: Any, cached: dict[int, DeleteFile]
    ) -> Sequence[tuple[DeleteFile, ...]]:
        if not self.metrics.files_with_deletes:
            return [()] * len(lists)
        used = pc.unique(pc.list_flatten(lists)).to_pylist()
        cached.update(self.deletes.delete_files([row for row in used if row not in cached]))
        return [tuple([cached[row] for row in rows]) for rows in lists.to_pylist()]

    def _repr_html_(self) -> str:
        rows = self.files.select(["file_path", "record_count", "file_size_in_bytes"]).slice(0, 20)
        body = "".join(
            "<tr>"
            + "".join(f"<td>{html.escape(str(value))}</td>" for value in row.values())
            + "</tr>"
            for row in rows.to_pylist()
        )
        more = f"<p>… and {len(self) - 20:,} more</p>" if len(self) > 20 else ""
        return (
            f"<p>{len(self):,} data files, {self.metrics.total_file_size_in_bytes:,} bytes; "
            f"{self.metrics.skipped_data_files:,} files skipped</p><table><tr><th>file</th>"
            f"<th>rows</th><th>bytes</th></tr>{body}</table>{more}"
        )


def _formats(files: pa.Table) -> list[FileFormat]:
    names = files.column("file_format").to_pylist()
    of_text = {name.value: name for name in FileFormat}
    if not of_text.keys() >= set(names):
        for path, name in zip(files.column("file_path").to_pylist(), names, strict=True):
            known_value(FileFormat, name, path)
    return [of_text[name] for name in names]


def _offsets_inside(files: pa.Table, start: Longs, length: Longs) -> list[tuple[int, ...]]:
    """Return the row groups' starts inside each part of a file, () for whole files."""
    inside: list[tuple[int, ...]] = [()] * len(start)
    sizes = to_numpy(files.column("file_size_in_bytes"))
    for index in np.flatnonzero(length < sizes).tolist():
        offsets = files.column("split_offsets")[index].as_py() or ()
        first = int(start[index])
        end = first + int(length[index])
        inside[index] = tuple(offset for offset in offsets if first <= offset < end)
    return inside
