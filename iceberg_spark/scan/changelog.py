"""Which files a snapshot changed the rows of, snapshot by snapshot.

Source: Java's BaseIncrementalChangelogScan, which refuses snapshots with delete files; here a data
file whose deletes changed is a changed file too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.arrow.arrays import distinct
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.manifest.entries import delete_names
from iceberg_spark.scan.context import ScanContext
from iceberg_spark.scan.limits import PLANNING
from iceberg_spark.scan.plan import ScanPlan
from iceberg_spark.scan.planner import plan
from iceberg_spark.scan.split import Longs
from iceberg_spark.scan.task import FileScanTask
from iceberg_spark.spec.ancestry import ancestors_between
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.snapshot import Operation, Snapshot

_NONE = np.zeros(0, np.int64)


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """A data file as the parent snapshot read it and as the snapshot does; None: not there."""

    before: FileScanTask | None
    after: FileScanTask | None


@dataclass(frozen=True, slots=True, eq=False)
class ChangeStep:
    """The changes of one snapshot; the arrays are row numbers of the plans' files."""

    ordinal: int
    snapshot_id: int
    before: ScanPlan | None
    after: ScanPlan
    removed: Longs
    added: Longs
    kept_before: Longs
    kept_after: Longs

    @property
    def may_carry_over(self) -> bool:
        """Whether rows were both removed and added: equal ones among them are no change."""
        return bool(len(self.kept_after)) or bool(len(self.removed) and len(self.added))

    @property
    def record_count(self) -> int:
        """How many rows the changed files have, at most."""
        rows = int(self._rows(self.after, self.added) + self._rows(self.after, self.kept_after))
        return rows + (0 if self.before is None else self._rows(self.before, self.removed))

    @property
    def file_count(self) -> int:
        """How many files are changed."""
        return len(self.removed) + len(self.added) + len(self.kept_after)

    def files(self) -> Iterator[ChangedFile]:
        """Yield the changed files: removed ones, those with other deletes, added ones."""
        if self.before is not None:
            for old in _tasks(self.before, self.removed):
                yield ChangedFile(old, None)
            both = zip(
                _tasks(self.before, self.kept_before),
                _tasks(self.after, self.kept_after),
                strict=True,
            )
            for old, new in both:
                yield ChangedFile(old, new)
        for new in _tasks(self.after, self.added):
            yield ChangedFile(None, new)

    @staticmethod
    def _rows(of: ScanPlan, rows: Longs) -> int:
        counts = of.files.column("record_count").to_numpy()
        return int(counts[rows].sum())


def change_steps(
    metadata: TableMetadata, io: FileIO, context: ScanContext, start: int | None, end: int | None
) -> Iterator[ChangeStep]:
    """Yield the changes of the snapshots after `start` (None: from the first) up to `end`.

    Oldest first; snapshots that only replaced files (compaction) are left out and not numbered.
    Planning is lazy: an append is planned by its own manifests, other operations by comparing
    the files of the snapshot with its parent's. Memory: two plans.

    Raises NoSuchSnapshotError for a parent that has expired, InvalidInputError when `start` is
    not an ancestor of `end`.
    """
    if end is None:
        return
    snapshots = [
        snapshot
        for snapshot in reversed(ancestors_between(metadata, end, start))
        if snapshot.operation != Operation.REPLACE
    ]
    for ordinal, snapshot in enumerate(snapshots):
        yield change_step(metadata, io, context, ordinal, snapshot)


def change_step(
    metadata: TableMetadata, io: FileIO, context: ScanContext, ordinal: int, snapshot: Snapshot
) -> ChangeStep:
    """Return the changes of one snapshot. Raises NoSuchSnapshotError for an expired parent."""
    number, parent = snapshot.snapshot_id, snapshot.parent_snapshot_id
    here = replace(context, snapshot_id=number, start_snapshot_id=None)
    if parent is None or snapshot.operation == Operation.APPEND:
        after = plan(metadata, io, replace(here, start_snapshot_id=parent))
        every = np.arange(len(after), dtype=np.int64)
        return ChangeStep(ordinal, number, None, after, _NONE, every, _NONE, _NONE)
    metadata.snapshot(parent)  # raises if it has expired
    before = plan(metadata, io, replace(here, snapshot_id=parent))
    after = plan(metadata, io, here)
    old, new = _paths(before), _paths(after)
    index_in_old = pc.index_in(new, value_set=old)
    is_new = index_in_old.is_null().to_numpy(zero_copy_only=False)
    removed = np.flatnonzero(pc.invert(pc.is_in(old, value_set=new)))
    in_after = np.flatnonzero(~is_new)
    in_before = pc.fill_null(index_in_old, -1).to_numpy().astype(np.int64)[in_after]
    changed = _with_other_deletes(before, in_before, after, in_after)
    return ChangeStep(
        ordinal, number, before, after, removed, np.flatnonzero(is_new),
        in_before[changed], in_after[changed],
    )  # fmt: skip


def whole_table(
    metadata: TableMetadata, io: FileIO, context: ScanContext, snapshot_id: int
) -> ChangeStep:
    """Return all rows of a snapshot as if it had added them."""
    after = plan(metadata, io, replace(context, snapshot_id=snapshot_id, start_snapshot_id=None))
    every = np.arange(len(after), dtype=np.int64)
    return ChangeStep(0, snapshot_id, None, after, _NONE, every, _NONE, _NONE)


def _paths(of: ScanPlan) -> Any:
    return of.files.column("file_path").combine_chunks()


def _with_other_deletes(
    before: ScanPlan, in_before: Longs, after: ScanPlan, in_after: Longs
) -> Longs:
    """Return which of the files that both plans have are read with other delete files."""
    used = [delete_names(of.deletes.files) for of in (before, after) if len(of.deletes)]
    if not used or not len(in_after):
        return _NONE
    names = pc.unique(pa.chunked_array(used))
    either = np.setxor1d(_pairs(before, in_before, names), _pairs(after, in_after, names))
    changed: Longs = distinct(either // len(names))
    return changed


def _pairs(of: ScanPlan, rows: Longs, names: Any) -> Longs:
    """Return (place in `rows`, place of a delete in `names`) as one number each."""
    if not len(of.deletes):
        return _NONE
    codes = pc.index_in(delete_names(of.deletes.files), value_set=names)
    lists = of.files.column("delete_rows").combine_chunks().take(pa.array(rows))
    owners = pc.list_parent_indices(lists).to_numpy().astype(np.int64)
    deletes = codes.to_numpy().astype(np.int64)[pc.list_flatten(lists).to_numpy()]
    return distinct(owners * len(names) + deletes)


def _tasks(of: ScanPlan, rows: Longs) -> Iterator[FileScanTask]:
    for first in range(0, len(rows), PLANNING.changed_tasks_at_once):
        yield from of.tasks_at(rows[first : first + PLANNING.changed_tasks_at_once])
