"""Rewrite manifests sorted by partition and evenly sized; no file is added or removed.

Source: Java's RewriteManifestsSparkAction and BaseRewriteManifests. Each entry keeps its snapshot
id, its sequence numbers and its first row id.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.arrow.arrays import concat, struct_children
from iceberg_spark.bounded_cache import BoundedCache
from iceberg_spark.commits.action import ActionCommit
from iceberg_spark.commits.manifest_merge import ManifestForm
from iceberg_spark.commits.new_manifests import (
    entries_bytes,
    tuple_type,
    with_status,
    write_entries,
)
from iceberg_spark.commits.snapshot_producer import SnapshotProducer
from iceberg_spark.errors import InvalidInputError, ValidationException
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.io.spill_folder import SpillFolder
from iceberg_spark.manifest.reader import read_manifest
from iceberg_spark.scan.entry_tables import read_ahead
from iceberg_spark.scan.limits import PLANNING
from iceberg_spark.spec.data_file import ManifestEntryStatus
from iceberg_spark.spec.manifest_file import ManifestContent, ManifestFile
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.properties import MANIFEST_TARGET_SIZE_BYTES, positive_property
from iceberg_spark.spec.snapshot import Operation

Table: TypeAlias = Any  # pyarrow ships no types

_SAMPLED_ENTRIES = 2_000
_LEAST_ROWS = 256
"""Rows of a batch on disk: smaller ones take longer than what they save."""
_UNCACHED = BoundedCache(0)  # each manifest is read once, with all columns


@dataclass(frozen=True, slots=True)
class Rewritten:
    """The replaced manifests and the manifests that have their entries now."""

    before: tuple[ManifestFile, ...] = ()
    after: tuple[ManifestFile, ...] = ()

    def fits(self, manifests: Sequence[ManifestFile]) -> bool:
        """Return whether all replaced manifests are still there with the same inherited values."""
        return {manifest.version for manifest in self.before} <= {
            manifest.version for manifest in manifests
        }


class RewriteManifests:
    """Rewrite the data and delete manifests of one partition spec, sorted by partition.

    `spec_id` defaults to the table's default spec, `sort_by` to all fields of the spec. A retry
    reuses its manifests if only new manifests were added; otherwise it starts again. Memory holds
    the partitions of all files, and their other columns up to a bound: more go to the local disk.
    """

    def __init__(
        self,
        spec_id: int | None = None,
        sort_by: Sequence[str] = (),
        snapshot_properties: Mapping[str, str] | None = None,
    ) -> None:
        self._spec_id = spec_id
        self._sort_by = tuple(sort_by)
        self._producer = SnapshotProducer(None, snapshot_properties)
        self._done: dict[ManifestContent, Rewritten] = {}
        self._form: ManifestForm | None = None

    @property
    def result(self) -> Rewritten:
        """The manifests that the last attempt rewrote."""
        done = [self._done[content] for content in sorted(self._done)]
        return Rewritten(
            tuple(manifest for rewritten in done for manifest in rewritten.before),
            tuple(manifest for rewritten in done for manifest in rewritten.after),
        )

    def validate(self, base: TableMetadata, io: FileIO) -> None:
        """Check nothing: each attempt rewrites the manifests of its base."""

    def prepare(self, base: TableMetadata, io: FileIO) -> ActionCommit:
        """Return the updates that replace manifests; none if no manifest is worth it.

        Raises InvalidInputError for an unknown spec or field.
        """
        spec_id = base.default_spec_id if self._spec_id is None else self._spec_id
        keys = _keys(base, spec_id, self._sort_by)
        every = self._producer.parent_manifests(base, io)
        self._use_for(base, io)
        manifests: list[ManifestFile] = []
        for content in ManifestContent:
            those = [manifest for manifest in every if manifest.content is content]
            chosen = [manifest for manifest in those if manifest.partition_spec_id == spec_id]
            done = self._rewritten(base, io, content, chosen, keys)
            gone = {manifest.manifest_path for manifest in done.before}
            untouched = [manifest for manifest in those if manifest.manifest_path not in gone]
            manifests += [*done.after, *untouched]
        result = self.result
        if not result.before:
            return ActionCommit(())
        count = sum(manifest.existing_files_count or 0 for manifest in result.after)
        summary = {"entries-processed": str(count)}
        return self._producer.produce(
            base, io, Operation.REPLACE, manifests, added=(), summary=summary
        )

    def _use_for(self, base: TableMetadata, io: FileIO) -> None:
        """Drop the manifests of an earlier attempt if the base needs another form."""
        form = ManifestForm.of(base)
        if form != self._form:
            self._producer.drop(io, self.result.after)
            self._done.clear()
            self._form = form

    def _rewritten(
        self,
        base: TableMetadata,
        io: FileIO,
        content: ManifestContent,
        chosen: Sequence[ManifestFile],
        keys: Sequence[int],
    ) -> Rewritten:
        """Return a content's manifests before and after, of an earlier attempt if they fit."""
        done = self._done.get(content)
        if done is not None and done.before and done.fits(chosen):
            return done
        if done is not None:
            self._producer.drop(io, done.after)
        target = positive_property(base.properties, MANIFEST_TARGET_SIZE_BYTES)
        count = -(-sum(manifest.manifest_length for manifest in chosen) // target)
        if not chosen or (count == 1 and len(chosen) == 1):
            rewritten = Rewritten()
        else:
            entries = _SortedEntries.of(_live_entries(io, base, chosen), keys, count)
            needed = -(-self._estimated_bytes(base, entries, chosen[0]) // target)
            parts = _parts(entries.row_count, min(count, needed))
            with ThreadPoolExecutor(PLANNING.manifest_readers, "manifests") as pool:
                after = list(
                    pool.map(
                        lambda part: self._write(base, io, entries.rows(*part), chosen[0]), parts
                    )
                )
            rewritten = Rewritten(tuple(chosen), tuple(after))
            _check_counts(rewritten)
        self._done[content] = rewritten
        return rewritten

    def _estimated_bytes(
        self, base: TableMetadata, entries: _SortedEntries, like: ManifestFile
    ) -> int:
        """Estimate the size of one manifest with all entries from the sizes of the first entries.

        The total size of small manifests is larger: each has a header with the schema.
        """
        sample = entries.rows(0, min(_SAMPLED_ENTRIES, entries.row_count))
        spec_id, content = like.partition_spec_id, like.content
        size = entries_bytes(self._producer, base, sample, spec_id, content)
        share: float = entries.row_count / max(sample.num_rows, 1)
        return math.ceil(size * share)

    def _write(
        self, base: TableMetadata, io: FileIO, entries: Table, like: ManifestFile
    ) -> ManifestFile:
        spec_id, content = like.partition_spec_id, like.content
        return write_entries(self._producer, base, io, entries, spec_id, content)

    def clean_up(self, io: FileIO, committed: TableMetadata | None) -> None:
        """Remove manifests and manifest lists that the committed snapshot does not use."""
        self._producer.clean_up(io, committed)


def _keys(base: TableMetadata, spec_id: int, sort_by: Sequence[str]) -> tuple[int, ...]:
    """Return the positions in the partition tuple to sort by."""
    spec = base.partition_specs.get(spec_id)
    if spec is None:
        spec_ids = ", ".join(str(number) for number in base.partition_specs)
        raise InvalidInputError(f"The table has no partition spec {spec_id}; it has: {spec_ids}")
    names = [field.name for field in spec.fields]
    for name in sort_by:
        if name not in names:
            raise InvalidInputError(
                f"Manifests can't be sorted by '{name}': partition spec {spec_id} has "
                f"{', '.join(names) or 'no fields'}"
            )
    return tuple(names.index(name) for name in sort_by or names)


def _live_entries(
    io: FileIO, base: TableMetadata, manifests: Sequence[ManifestFile]
) -> Iterator[Table]:
    """Yield the live entries of each manifest."""
    kind = tuple_type(base, manifests[0].partition_spec_id)

    def live(manifest: ManifestFile) -> Table:
        entries = read_manifest(io, manifest, kind, cache=_UNCACHED)
        is_live = pc.not_equal(entries.column("status"), int(ManifestEntryStatus.DELETED))
        remaining = entries.filter(is_live)
        return with_status(remaining, [int(ManifestEntryStatus.EXISTING)] * remaining.num_rows)

    yield from read_ahead(live, manifests)


@dataclass(frozen=True, slots=True)
class _SortedEntries:
    """Entries in the order of partition fields, nulls first, as Spark sorts them; a stable sort.

    It is an external merge sort: `runs` are sorted each, `order` has the row numbers of all runs,
    counted from the first run on, in the order of the result. `starts` are the runs' first numbers.
    """

    runs: _Runs
    starts: Any
    order: Any

    @classmethod
    def of(cls, tables: Iterable[Table], keys: Sequence[int], parts: int) -> _SortedEntries:
        """Sort entries by children of their partition tuple, to be read in about so many parts."""
        runs = _Runs(parts)
        key_tables: list[Table] = []
        for table in _joined(tables):
            values = _sort_keys(table, keys)
            if keys:
                order = _order(values)
                table, values = table.take(order), values.take(order)  # noqa: PLW2901
            runs.add(table)
            key_tables.append(values)
        counts = [values.num_rows for values in key_tables]
        every = pa.concat_tables(key_tables)
        order = _order(every).to_numpy() if keys else np.arange(every.num_rows)
        return cls(runs, np.cumsum([0, *counts]), order)

    @property
    def row_count(self) -> int:
        """The number of entries."""
        return len(self.order)

    def rows(self, start: int, end: int) -> Table:
        """Return the entries from a position of the result to another one."""
        # The runs [a d] and [b c e] have the order 0 2 3 1 4. Positions 1 to 4 are the numbers
        # 2 3 1, which are row 1 of the first run and rows 0 and 1 of the second one. Together that
        # is [d b c], of which the result takes 1 2 0.
        numbers = self.order[start:end]
        sorted_numbers = np.sort(numbers)
        bounds = np.searchsorted(sorted_numbers, self.starts)
        pieces = [
            self.runs.rows(
                run,
                int(sorted_numbers[first] - self.starts[run]),
                int(sorted_numbers[last - 1] - self.starts[run]) + 1,
            )
            for run, (first, last) in enumerate(pairwise(bounds.tolist()))
            if last > first
        ]
        places = np.searchsorted(sorted_numbers, numbers)
        return pa.concat_tables(pieces).take(pa.array(places))


class _Runs:
    """Sorted tables of entries: in memory up to a bound, on the local disk above it.

    Each of `parts` readers needs a few rows of each run, so that a run is stored in batches of
    about as many rows.
    """

    def __init__(self, parts: int) -> None:
        self._parts = parts
        self._held: list[Table] = []
        self._bytes = 0
        self._files: list[tuple[str, int]] = []
        self._folder: SpillFolder | None = None

    def add(self, run: Table) -> None:
        """Add the next run."""
        self._held.append(run)
        self._bytes += run.nbytes
        if self._bytes > PLANNING.sorted_entry_bytes:
            self._to_disk()

    def rows(self, run: int, start: int, end: int) -> Table:
        """Return the rows of a run from one number to another."""
        if run >= len(self._files):
            return self._held[run - len(self._files)].slice(start, end - start)
        path, batch_rows = self._files[run]
        first, last = start // batch_rows, (end - 1) // batch_rows
        with pa.OSFile(path, "rb") as file:
            reader = pa.ipc.open_file(file)
            batches = [reader.get_batch(number) for number in range(first, last + 1)]
        return pa.Table.from_batches(batches).slice(start - first * batch_rows, end - start)

    def _to_disk(self) -> None:
        folder = self._folder = self._folder or SpillFolder("iceberg-manifests-")
        options = pa.ipc.IpcWriteOptions(compression="lz4")
        for run in self._held:
            path, batch_rows = folder.next(".arrow"), max(_LEAST_ROWS, run.num_rows // self._parts)
            with (
                pa.OSFile(path, "wb") as file,
                pa.ipc.new_file(file, run.schema, options=options) as writer,
            ):
                writer.write_table(run.combine_chunks(), max_chunksize=batch_rows)
            self._files.append((path, batch_rows))
        self._held, self._bytes = [], 0


def _joined(tables: Iterable[Table]) -> Iterator[Table]:
    """Yield the rows of small neighbouring tables together."""
    pending: list[Table] = []
    size = 0
    for table in tables:
        if pending and size + table.nbytes > PLANNING.sorted_entry_bytes // 2:
            yield pa.concat_tables(pending)
            pending, size = [], 0
        pending.append(table)
        size += table.nbytes
    if pending:
        yield pa.concat_tables(pending)


def _sort_keys(entries: Table, keys: Sequence[int]) -> Table:
    """Return the columns to sort entries by: nulls come first."""
    children = struct_children(concat(entries.column("partition")))
    columns: list[Any] = []
    for key in keys:
        columns += [pc.is_valid(children[key]), _sortable(children[key])]
    if not columns:
        columns = [pa.nulls(entries.num_rows)]
    return pa.table(columns, [str(index) for index in range(len(columns))])


def _order(values: Table) -> Any:
    """Return the row numbers of a table in the order of its columns; equal rows keep theirs."""
    return pc.sort_indices(values, sort_keys=[(name, "ascending") for name in values.column_names])


def _sortable(values: Any) -> Any:
    return values.cast(pa.binary()) if pa.types.is_fixed_size_binary(values.type) else values


def _parts(rows: int, count: int) -> Iterator[tuple[int, int]]:
    """Yield the bounds of runs of rows whose lengths differ by at most one."""
    for index in range(count):
        start, end = rows * index // count, rows * (index + 1) // count
        if end > start:
            yield start, end


def _check_counts(done: Rewritten) -> None:
    """Raise if a file was lost or duplicated by the rewrite (as Java does)."""
    before, after = (
        sum(
            (manifest.added_files_count or 0) + (manifest.existing_files_count or 0)
            for manifest in manifests
        )
        for manifests in (done.before, done.after)
    )
    counted = all(manifest.added_files_count is not None for manifest in done.before)
    if counted and before != after:
        raise ValidationException(
            f"Manifests with {before:,} live files by their list hold {after:,}: the list of "
            f"{done.before[0].manifest_path} is wrong; nothing was changed"
        )
