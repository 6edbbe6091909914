"""Validation: does a change conflict with commits since it was planned?

The catalog checks requirements against the metadata that the commit replaces. This module finds
conflicts in the history between a starting snapshot and the branch's head (Java:
MergingSnapshotProducer.validate*).
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.commits.manifest_filter import Mask, row_matches
from iceberg_spark.commits.new_manifests import data_files_of, read_entries
from iceberg_spark.errors import InvalidExpressionError, ValidationException
from iceberg_spark.expr.bind import bind
from iceberg_spark.expr.logic import field_ids
from iceberg_spark.expr.nodes import Bound, Unbound
from iceberg_spark.expr.to_text import to_text
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.manifest.entries import is_vector
from iceberg_spark.manifest.manifest_list import read_manifest_list
from iceberg_spark.spec.data_file import DataFile, DataFileContent, ManifestEntryStatus, only_path
from iceberg_spark.spec.manifest_file import ManifestContent, ManifestFile
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.partition import partition_key
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.snapshot import Operation, Snapshot

_ADD_DATA = frozenset({Operation.APPEND, Operation.OVERWRITE})
_ADD_DELETES = frozenset({Operation.OVERWRITE, Operation.DELETE})
_REMOVE_DATA = frozenset({Operation.OVERWRITE, Operation.REPLACE, Operation.DELETE})
_REPLACE_DATA = frozenset({Operation.OVERWRITE, Operation.REPLACE})

_Partition: TypeAlias = tuple[int, tuple[object, ...]]
"""A partition of a spec, as a key."""
MayMatch = Callable[[ManifestFile, pa.Table], Any]
"""Maps a manifest and some of its entries to a mask (numpy) of those that may conflict."""


@dataclass(frozen=True, slots=True)
class History:
    """The snapshots of a branch after a starting one, newest first."""

    base: TableMetadata
    io: FileIO
    snapshots: tuple[Snapshot, ...]

    def changed_entries(
        self, content: ManifestContent, status: ManifestEntryStatus, operations: Iterable[str]
    ) -> Iterator[tuple[ManifestFile, pa.Table]]:
        """Yield what snapshots of these operations added or deleted, manifest by manifest."""
        wanted_operations = frozenset(operations)
        for snapshot in self.snapshots:
            if snapshot.operation not in wanted_operations:
                continue
            for manifest in read_manifest_list(self.io, snapshot, self.base):
                if (
                    manifest.content is not content
                    or manifest.added_snapshot_id != snapshot.snapshot_id
                ):
                    continue
                entries = read_entries(self.io, self.base, manifest)
                hit = pc.and_(
                    pc.equal(entries.column("status"), int(status)),
                    pc.equal(entries.column("snapshot_id"), snapshot.snapshot_id),
                )
                changed = entries.filter(hit)
                if changed.num_rows:
                    yield manifest, changed


def history_since(
    base: TableMetadata, io: FileIO, head: Snapshot | None, start: int | None
) -> History:
    """Return the history of a branch after the snapshot `start`; all of it for None.

    Raises:
        ValidationException: `start` is not an ancestor of the head.
    """
    snapshots = []
    current = head
    while current is not None and current.snapshot_id != start:
        snapshots.append(current)
        parent = current.parent_snapshot_id
        if parent is None or parent not in base.snapshots:
            if start is not None:
                raise ValidationException(
                    f"Can't tell what was committed to {base.location} since snapshot {start}: it "
                    "is not an ancestor of the branch any more (rolled back or expired); plan the "
                    "change again"
                )
            current = None
        else:
            current = base.snapshots[parent]
    return History(base, io, tuple(snapshots))


def refuse_added_data_files(history: History, may_match: MayMatch) -> None:
    """Refuse data files that were added since and may hold rows that the change read."""
    added = history.changed_entries(ManifestContent.DATA, ManifestEntryStatus.ADDED, _ADD_DATA)
    for manifest, entries in added:
        _refuse_any(manifest, entries, may_match, "data file", "may hold rows that")


def refuse_added_delete_files(
    history: History, may_match: MayMatch, *, beside_vectors: bool = False
) -> None:
    """Refuse delete files that were added since and may apply to rows of the change.

    With `beside_vectors`, deletion vectors of commits that only deleted rows are allowed. The merge
    of the vectors checks which rows they delete.
    """
    for manifest, entries in _added_deletes(history):
        spared = _only_rows(history, entries) if beside_vectors else None
        concerning = entries if spared is None else entries.filter(pc.invert(spared))
        _refuse_any(manifest, concerning, may_match, "delete file", "may delete rows that")


def _only_rows(history: History, entries: pa.Table) -> Any:
    """Return which entries are vectors of commits that only deleted rows."""
    snapshots = history.base.snapshots
    deleting = [
        snapshots[snapshot_id].operation == Operation.DELETE
        for snapshot_id in entries.column("snapshot_id").to_pylist()
    ]
    return pc.and_(pa.array(deleting, pa.bool_()), is_vector(entries))


def refuse_removed_data_files(history: History, may_match: MayMatch) -> None:
    """Refuse data files that were removed since and may have held rows of the change."""
    removed = history.changed_entries(
        ManifestContent.DATA, ManifestEntryStatus.DELETED, _REMOVE_DATA
    )
    for manifest, entries in removed:
        _refuse_any(manifest, entries, may_match, "removal of data file", "may concern rows that")


def _refuse_any(
    manifest: ManifestFile, entries: pa.Table, may_match: MayMatch, what: str, why: str
) -> None:
    mask = np.asarray(may_match(manifest, entries))
    if mask.any():
        row = int(np.flatnonzero(mask)[0])
        path = entries.column("file_path")[row].as_py()
        snapshot_id = entries.column("snapshot_id")[row].as_py()
        raise ValidationException(
            f"Conflict with snapshot {snapshot_id}: {what} {path} {why} this change was "
            "planned without; plan the change again"
        )


def _added_deletes(history: History) -> Iterator[tuple[ManifestFile, pa.Table]]:
    return history.changed_entries(ManifestContent.DELETES, ManifestEntryStatus.ADDED, _ADD_DELETES)


def _new_deletes(history: History) -> Iterator[tuple[ManifestFile, pa.Table]]:
    """Yield deletes that the starting snapshot did not have in any form.

    Converted equality deletes are new in the file they are for; position deletes that were only
    rewritten keep the data sequence number of those they replace.
    """
    if not history.snapshots:
        return
    first = history.snapshots[-1].sequence_number or 0
    added = history.changed_entries(
        ManifestContent.DELETES, ManifestEntryStatus.ADDED, _ADD_DELETES | {Operation.REPLACE}
    )
    for manifest, entries in added:
        new = pc.greater_equal(pc.fill_null(entries.column("data_sequence_number"), first), first)
        new_entries = entries.filter(new)
        if new_entries.num_rows:
            yield manifest, new_entries


def refuse_new_deletes_for(
    history: History, files: Sequence[DataFile], *, ignore_equality: bool = False
) -> None:
    """Refuse deletes added since that apply to data files which the change replaces."""
    for delete, hit in new_deletes_for(history, files):
        if delete.content is DataFileContent.EQUALITY_DELETES and ignore_equality:
            continue
        raise ValidationException(
            f"Conflict with delete file {delete.file_path}: it was committed since this "
            f"change was planned and applies to {hit}, which the change replaces; plan "
            "the change again"
        )


def new_deletes_for(history: History, files: Sequence[DataFile]) -> Iterator[tuple[DataFile, str]]:
    """Yield the deletes added since that apply to the data files, each with one such file."""
    if not files:
        return
    by_partition: dict[_Partition, set[str]] = {}
    for file in files:
        by_partition.setdefault(_partition(file), set()).add(file.file_path)
    paths = {file.file_path for file in files}
    for manifest, entries in _new_deletes(history):
        # A loop is fine: the commits since the plan have few delete files.
        for delete in data_files_of(history.base, manifest, entries):
            hit = _deleted_from(history.base, delete, by_partition, paths)
            if hit is not None:
                yield delete, hit


def refuse_new_vectors(
    history: History, added: Iterable[DataFile], *, allowed: Container[str] = ()
) -> frozenset[str]:
    """Refuse new deletion vectors for data files that got one from another commit since.

    A data file has at most one vector (Java: MergingSnapshotProducer.validateAddedDVs). Returns the
    data files that got one from commits of the `allowed` operations.
    """
    targets = {file.referenced_data_file for file in added if file.is_vector}
    if not targets:
        return frozenset()
    with_vectors: set[str] = set()
    target_paths = pa.array(sorted(filter(None, targets)), pa.string())
    entries_added = history.changed_entries(
        ManifestContent.DELETES, ManifestEntryStatus.ADDED, _ADD_DELETES | {Operation.REPLACE}
    )
    for _, entries in entries_added:
        aimed = pc.is_in(entries.column("referenced_data_file"), value_set=target_paths)
        hit = entries.filter(pc.and_(aimed, is_vector(entries)))
        paths = hit.column("referenced_data_file").to_pylist()
        for path, snapshot_id in zip(paths, hit.column("snapshot_id").to_pylist(), strict=True):
            if history.base.snapshots[snapshot_id].operation not in allowed:
                raise ValidationException(
                    f"Conflict with snapshot {snapshot_id}: it gave data file {path} a deletion "
                    "vector that this change was planned without; plan the change again"
                )
            with_vectors.add(path)
    return frozenset(with_vectors)


def _deleted_from(
    base: TableMetadata,
    delete: DataFile,
    by_partition: Mapping[_Partition, set[str]],
    paths: set[str],
) -> str | None:
    """Return a data file that a delete file applies to (specification: "Scan Planning")."""
    aimed_at = delete.referenced_data_file or _one_path(delete)
    if aimed_at is not None:
        return aimed_at if aimed_at in paths else None
    is_equality = delete.content is DataFileContent.EQUALITY_DELETES
    if is_equality and base.partition_specs[delete.partition_spec_id].is_unpartitioned:
        return min(paths)
    there = by_partition.get(_partition(delete))
    return min(there) if there else None


def _partition(file: DataFile) -> _Partition:
    return file.partition_spec_id, partition_key(file.partition)


_FILE_PATH_ID = 2147483546


def _one_path(delete: DataFile) -> str | None:
    """Return the only data file that a position delete file refers to, if its bounds show one."""
    lower, upper = delete.lower_bounds or {}, delete.upper_bounds or {}
    return only_path(lower.get(_FILE_PATH_ID), upper.get(_FILE_PATH_ID))


def require_data_files(history: History, paths: Iterable[str], *, allow_deletes: bool) -> None:
    """Refuse the change if data files that its deletes point to were removed since.

    With `allow_deletes`, a file that a delete operation removed is allowed: its rows are deleted.
    """
    required = pa.array(sorted(set(paths)), pa.string())
    if not len(required):
        return
    operations = _REPLACE_DATA if allow_deletes else _REMOVE_DATA
    removed = history.changed_entries(ManifestContent.DATA, ManifestEntryStatus.DELETED, operations)
    for _, entries in removed:
        gone = entries.filter(pc.is_in(entries.column("file_path"), value_set=required))
        if gone.num_rows:
            raise ValidationException(
                f"Data file {gone.column('file_path')[0].as_py()} was removed by snapshot "
                f"{gone.column('snapshot_id')[0].as_py()}, and this change points to it; plan the "
                "change again"
            )


@dataclass(frozen=True, slots=True)
class Planned:
    """What a change read: the branch's head `snapshot_id` (None: an empty table), filtered.

    `refuse_new_data` is for isolation level serializable: rows that another commit added since and
    that `row_filter` may match (any rows without a filter) are a conflict. `refuse_new_deletes` is
    for both levels: deletes and removals of such rows are a conflict. `schema` is the schema that
    the names in the filter refer to.
    """

    snapshot_id: int | None
    row_filter: Unbound | None = None
    refuse_new_data: bool = True
    refuse_new_deletes: bool = True
    case_sensitive: bool = True
    time_zone: str | None = None
    schema: Schema | None = None


def bound_filter(base: TableMetadata, planned: Planned) -> Bound | None:
    """Return the filter of the rows that the change read, bound to a base."""
    if planned.row_filter is None:
        return None
    return bind_again(
        base,
        planned.row_filter,
        planned.schema,
        case_sensitive=planned.case_sensitive,
        time_zone=planned.time_zone,
    )


def bind_again(
    base: TableMetadata,
    unbound: Unbound,
    schema: Schema | None,
    *,
    case_sensitive: bool = True,
    time_zone: str | None = None,
) -> Bound:
    """Bind a filter to a base that may be newer than the schema of its names.

    Raises:
        ValidationException: a name refers to another column in the base, or to none.
    """

    def bound(to: Schema) -> Bound:
        return bind(to, unbound, case_sensitive=case_sensitive, time_zone=time_zone)

    if schema is None or schema == base.schema:
        return bound(base.schema)
    try:
        now = bound(base.schema)
        same = set(field_ids(now)) == set(field_ids(bound(schema)))
    except InvalidExpressionError:
        same = False
    if not same:
        raise ValidationException(
            f"Conflict: another commit changed the columns of {base.location} that "
            f"{to_text(unbound)} is about; look at the schema and run it again"
        )
    return now


def may_match_filter(base: TableMetadata, bound: Bound | None) -> MayMatch:
    """Return the mask of entries that may hold rows of a predicate; all entries without one."""

    def every(_manifest: ManifestFile, entries: pa.Table) -> Mask:
        return np.ones(entries.num_rows, np.bool_)

    def matching(manifest: ManifestFile, entries: pa.Table) -> Mask:
        return (
            row_matches(base, manifest, entries, bound)[0]
            if bound is not None
            else every(manifest, entries)
        )

    return every if bound is None else matching
