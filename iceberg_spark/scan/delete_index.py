"""Which delete files apply to which data files, answered for whole columns of data files.

Rules: specification "Scan Planning"; Java's `DeleteFileIndex`. A delete is looked up in a scope:
one data file (position deletes aimed at a path), a partition of a spec, or everything (equality
deletes of an unpartitioned spec).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.arrow import polars_threads
from iceberg_spark.arrow.arrays import distinct, from_numpy
from iceberg_spark.arrow.values import Side, bounds_array
from iceberg_spark.errors import CorruptFileError, ValidationException
from iceberg_spark.expr.stats import Statistic
from iceberg_spark.lazy import LazyModule
from iceberg_spark.manifest.entries import is_vector, known_value
from iceberg_spark.manifest.map_values import map_values
from iceberg_spark.scan.column_stats import stats_table
from iceberg_spark.scan.delete_pairs import Mask, PairPruning, Pairs, Rows, pair_pruning
from iceberg_spark.scan.limits import PLANNING
from iceberg_spark.scan.partition_codes import NOT_THERE, PartitionCodes, partition_codes
from iceberg_spark.scan.task import DeleteFile
from iceberg_spark.spec.data_file import DataFileContent, FileFormat
from iceberg_spark.spec.partition import PartitionSpec
from iceberg_spark.spec.reserved import DELETE_FILE_PATH, DELETE_FILE_POS
from iceberg_spark.spec.types import IcebergType, LongType, StringType

pl = LazyModule("polars")

Hashes = npt.NDArray[np.uint64]

_PLAIN = (
    "content",
    "file_path",
    "file_format",
    "record_count",
    "file_size_in_bytes",
    "data_sequence_number",
    "equality_ids",
    "content_offset",
    "content_size_in_bytes",
)
_MAPS = ("lower_bounds", "upper_bounds", "null_value_counts", "nan_value_counts", "value_counts")
DELETE_COLUMNS = ("status", *_PLAIN, "partition", "referenced_data_file", *_MAPS)
"""The columns of ENTRY_COLUMNS that the index needs."""


@dataclass(frozen=True, slots=True)
class SpecDeletes:
    """Deletes that are looked up by the partition of one spec."""

    codes: PartitionCodes
    of_delete: Rows  # partition number of each delete file, NOT_THERE for other specs' files
    position: Scope
    equality: Scope


@dataclass(frozen=True, slots=True)
class DeleteIndex:
    """Live delete files as columns, with the scopes that find them.

    `files` has one row per delete file; a lookup answers with row numbers.
    """

    files: pa.Table
    targets: PathNumbers  # of the paths that deletes aim at: the groups of `by_path`
    by_path: Scope
    vectors: Scope
    by_spec: Mapping[int, SpecDeletes]
    everywhere: Scope
    pruning: PairPruning

    def __len__(self) -> int:
        return int(self.files.num_rows)

    @property
    def needed(self) -> tuple[Statistic, ...]:
        """Statistics of data files that lookups use (see `column_stats`)."""
        return self.pruning.needed

    def lookup(self, spec_id: int, entries: pa.Table) -> Any:
        """Return a list<int32> array: for each data file, the deletes that apply to it.

        `entries` are data files of one spec (ENTRY_COLUMNS), with the columns of
        `needed_statistics`. A deletion vector replaces all position deletes of its file. Raises
        ValidationException if a delete refers to a data file of another spec or partition, or a
        vector to a newer one.
        """
        if len(self) == 0 or entries.num_rows == 0:
            return _lists(entries.num_rows, [])
        aimed = self.targets.of(entries.column("file_path"))
        spec = self.by_spec.get(spec_id)
        if spec is None:
            partitions = np.full(entries.num_rows, NOT_THERE, np.int64)
        else:
            partitions = spec.codes.codes(_combined(entries, "partition"))
        pairs = [
            *self._equality(spec, partitions, entries),
            *self._position(spec_id, spec, partitions, aimed, entries),
        ]
        return _lists(entries.num_rows, pairs)

    def _equality(
        self, spec: SpecDeletes | None, partitions: Rows, entries: pa.Table
    ) -> Iterator[Pairs]:
        sequences = entries.column("data_sequence_number").to_numpy()
        stats = stats_table(entries, self.needed)
        for pairs in self.everywhere.candidates(np.zeros_like(sequences), sequences):
            yield self.pruning.keep_equality(pairs, stats)
        if spec is not None:
            for pairs in spec.equality.candidates(partitions, sequences):
                yield self.pruning.keep_equality(pairs, stats)

    def _position(
        self,
        spec_id: int,
        spec: SpecDeletes | None,
        partitions: Rows,
        aimed: Rows,
        entries: pa.Table,
    ) -> Iterator[Pairs]:
        sequences = entries.column("data_sequence_number").to_numpy()
        has_vector = np.zeros(entries.num_rows, np.bool_)
        for pairs in self.vectors.candidates(aimed, np.full_like(aimed, -1)):
            self._check_partitions(spec_id, spec, partitions, entries, pairs)
            self._check_sequences(sequences, entries, pairs)
            has_vector[pairs.data] = True
            yield pairs
        partitions = np.where(has_vector, NOT_THERE, partitions)
        if spec is not None:
            for pairs in spec.position.candidates(partitions, sequences):
                yield self.pruning.keep_paths(self.pruning.keep_positions(pairs, entries), entries)
        for pairs in self.by_path.candidates(np.where(has_vector, NOT_THERE, aimed), sequences):
            self._check_partitions(spec_id, spec, partitions, entries, pairs)
            yield self.pruning.keep_positions(pairs, entries)

    def _check_sequences(self, sequences: Rows, entries: pa.Table, pairs: Pairs) -> None:
        of_vector = self.files.column("data_sequence_number").to_numpy()[pairs.deletes]
        for index in np.flatnonzero(of_vector < sequences[pairs.data])[:1].tolist():
            data, delete = int(pairs.data[index]), int(pairs.deletes[index])
            raise ValidationException(
                f"Corrupt metadata: the deletion vector of {entries.column('file_path')[data]} in "
                f"{self.files.column('file_path')[delete]} has data sequence number "
                f"{of_vector[index]}, and its data file the later {sequences[data]}"
            )

    def _check_partitions(
        self,
        spec_id: int,
        spec: SpecDeletes | None,
        partitions: Rows,
        entries: pa.Table,
        pairs: Pairs,
    ) -> None:
        spec_of = self.files.column("spec_id").to_numpy()[pairs.deletes]
        wrong = spec_of != spec_id
        if spec is not None:
            wrong |= spec.of_delete[pairs.deletes] != partitions[pairs.data]
        for index in np.flatnonzero(wrong)[:1].tolist():
            data, delete = int(pairs.data[index]), int(pairs.deletes[index])
            raise ValidationException(
                f"Corrupt metadata: delete file {self.files.column('file_path')[delete]} (spec "
                f"{spec_of[index]}) refers to data file {entries.column('file_path')[data]} (spec "
                f"{spec_id}, partition {entries.column('partition')[data].as_py()}), but is in "
                "another spec or partition"
            )

    def delete_files(self, rows: Sequence[int]) -> dict[int, DeleteFile]:
        """Return delete files as values, by row number."""
        picked = self.files.take(pa.array(rows, pa.int64()))
        paths = picked.column("file_path").to_pylist()
        columns = {name: picked.column(name).to_pylist() for name in _VALUES}
        for name, kind in (("content", DataFileContent), ("file_format", FileFormat)):
            of_text = {member.value: member for member in kind}
            columns[name] = [
                of_text[value] if value in of_text else known_value(kind, value, path)
                for value, path in zip(columns[name], paths, strict=True)
            ]
        columns["equality_ids"] = [tuple(ids or ()) for ids in columns["equality_ids"]]
        # By position: by keyword, a plan of many vectors takes twice the time.
        return dict(zip(rows, map(DeleteFile, *columns.values()), strict=True))


_VALUES = tuple(field.name for field in fields(DeleteFile))


def delete_index(
    entries: Iterable[tuple[int, pa.Table]],
    specs: Mapping[int, PartitionSpec],
    field_types: Mapping[int, IcebergType],
) -> DeleteIndex:
    """Build the index of live delete entries, passed as (spec id, DELETE_COLUMNS) tables.

    `field_types` has the types of all columns, including former ones, by id: bounds of equality
    columns are compared by them. Raises ValidationException for two deletion vectors of a data
    file, CorruptFileError for a vector without offset, size or data file.
    """
    parts = [(spec_id, part) for spec_id, part in entries if part.num_rows]
    if not parts:
        return _EMPTY
    everything = pa.concat_tables([part.select((*_PLAIN, *_MAPS)) for _, part in parts])
    files, path_bounds = _files(parts, everything)
    sequences = files.column("data_sequence_number").to_numpy()
    equality = files.column("content").to_numpy() == DataFileContent.EQUALITY_DELETES.value
    target = _combined(files, "referenced_data_file")
    aimed = ~equality & target.is_valid().to_numpy(zero_copy_only=False)
    vector = is_vector(files).to_numpy(zero_copy_only=False)
    spec_of = files.column("spec_id").to_numpy()
    unpartitioned = [spec_id for spec_id, spec in specs.items() if spec.is_unpartitioned]
    everywhere = equality & np.isin(spec_of, unpartitioned)
    targets, groups = path_numbers(pc.if_else(pa.array(aimed), target, None))
    _check_vectors(files, vector & ~equality, groups)

    by_spec = {}
    for spec_id in dict.fromkeys(spec_id for spec_id, _ in parts):
        codes, of_delete = _partitions(spec_id, parts, spec_of)
        mine = spec_of == spec_id
        position = scope(mine & ~equality & ~aimed, of_delete, sequences, strict=False)
        by_values = scope(mine & equality & ~everywhere, of_delete, sequences, strict=True)
        by_spec[spec_id] = SpecDeletes(codes, of_delete, position, by_values)
    return DeleteIndex(
        files=files,
        targets=targets,
        by_path=scope(aimed & ~vector, groups, sequences, strict=False),
        vectors=scope(aimed & vector, groups, np.zeros_like(sequences), strict=False),
        by_spec=by_spec,
        everywhere=scope(everywhere, np.zeros_like(sequences), sequences, strict=True),
        pruning=pair_pruning(
            everything,
            _equality_columns(_combined(files, "equality_ids"), equality),
            field_types,
            _combined(files, "first_position"),
            path_bounds,
        ),
    )


def _files(parts: Sequence[tuple[int, pa.Table]], entries: pa.Table) -> tuple[pa.Table, Any]:
    """Return the columns for tasks and scopes, and the bounds of the paths in the files.

    `content_bytes` are the bytes to read: of a vector, only its own.
    """
    path_id, pos_id = DELETE_FILE_PATH.field_id, DELETE_FILE_POS.field_id
    lower = map_values(entries.column("lower_bounds"), (path_id, pos_id))
    upper = map_values(entries.column("upper_bounds"), (path_id, pos_id))
    both_known = pc.and_(lower[path_id].is_valid(), upper[path_id].is_valid())
    one_path = pc.if_else(pc.equal(lower[path_id], upper[path_id]), lower[path_id], None)
    only_path = bounds_array(StringType(), one_path, Side.UPPER)
    named = pa.concat_arrays([_combined(part, "referenced_data_file") for _, part in parts])
    files = entries.select(_PLAIN).combine_chunks()
    spec_of = np.repeat([spec_id for spec_id, _ in parts], [part.num_rows for _, part in parts])
    added = {
        "spec_id": pa.array(spec_of, pa.int32()),
        "referenced_data_file": pc.coalesce(named, only_path),
        "content_bytes": pc.if_else(
            is_vector(files),
            files.column("content_size_in_bytes"),
            files.column("file_size_in_bytes"),
        ),
        "first_position": bounds_array(LongType(), lower[pos_id], Side.LOWER),
        "last_position": bounds_array(LongType(), upper[pos_id], Side.UPPER),
    }
    for name, values in added.items():
        files = files.append_column(name, values)
    return files, tuple(pc.if_else(both_known, side[path_id], None) for side in (lower, upper))


def _check_vectors(files: pa.Table, vector: Mask, groups: Rows) -> None:
    """Refuse incomplete vectors, and a second one of a data file."""
    rows = np.flatnonzero(vector)
    for name in ("referenced_data_file", "content_offset", "content_size_in_bytes"):
        lacks = files.column(name).is_null().to_numpy()[rows]
        for row in rows[lacks][:1].tolist():
            path = files.column("file_path")[row]
            raise CorruptFileError(f"A deletion vector in {path} has no {name}")
    times = np.bincount(groups[rows])
    for group in np.flatnonzero(times > 1)[:1].tolist():
        mine = files.take(pa.array(rows[groups[rows] == group]))
        paths, offsets = (mine.column(n).to_pylist() for n in ("file_path", "content_offset"))
        vectors = [f"{path} at byte {offset}" for path, offset in zip(paths, offsets, strict=True)]
        raise ValidationException(
            f"Corrupt metadata: data file {mine.column('referenced_data_file')[0]} has "
            f"{len(vectors)} deletion vectors, and may have one: {', '.join(vectors)}"
        )


def _partitions(
    spec_id: int, parts: Sequence[tuple[int, pa.Table]], spec_of: Rows
) -> tuple[PartitionCodes, Rows]:
    mine = [_combined(part, "partition") for owner, part in parts if owner == spec_id]
    codes, numbers = partition_codes(pa.concat_arrays(mine))
    of_delete = np.full(len(spec_of), NOT_THERE, np.int64)
    of_delete[spec_of == spec_id] = numbers
    return codes, of_delete


def _equality_columns(ids: Any, equality: Mask) -> dict[int, Mask]:
    owners = pc.list_parent_indices(ids).to_numpy()
    flat = pc.list_flatten(ids).to_numpy(zero_copy_only=False)
    columns = {}
    for field_id in distinct(flat).tolist():
        uses = np.zeros(len(ids), np.bool_)
        uses[owners[flat == field_id]] = True
        columns[field_id] = uses & equality
    return columns


def _combined(table: pa.Table, name: str) -> Any:
    return table.column(name).combine_chunks()


def _lists(rows: int, all_pairs: Sequence[Pairs]) -> Any:
    """Return pairs as one list of delete rows per data file, each list ascending."""
    data = np.concatenate([pairs.data for pairs in all_pairs] or [np.zeros(0, np.int64)])
    deletes = np.concatenate([pairs.deletes for pairs in all_pairs] or [np.zeros(0, np.int64)])
    order = np.lexsort((deletes, data))
    offsets = np.zeros(rows + 1, np.int32)
    np.cumsum(np.bincount(data, minlength=rows), out=offsets[1:])
    return pa.ListArray.from_arrays(
        from_numpy(offsets), from_numpy(deletes[order].astype(np.int32))
    )


@dataclass(frozen=True, slots=True)
class Scope:
    """Delete files sorted by group (a data file, a partition, everything), then sequence number.

    The deletes of a data file are a range of a scope, found by binary search for all data files
    at once.
    """

    keys: Rows  # group * (number of distinct sequences + 1) + rank of the sequence, ascending
    rows: Rows  # the delete files in that order
    sequences: Rows  # distinct, ascending
    strict: bool  # True: they apply to older data files only, not to those of the same commit

    def candidates(self, groups: Rows, sequences: Rows) -> Iterator[Pairs]:
        """Yield which deletes apply by group and sequence, in blocks of bounded size.

        `groups` and `sequences` have one value per data file; a negative group has no deletes.
        """
        if len(self.rows) == 0:
            return
        # Deletes of group 0 at sequences 3 and 5, of group 1 at 5: `sequences` is [3, 5], a group
        # spans 3 keys, `keys` are [0, 1, 4]. A data file of group 0 and sequence 3 begins at rank 1
        # where the scope is strict (keys from 1 on and below 3: the delete at 5), else at rank 0.
        span = len(self.sequences) + 1
        rank = np.searchsorted(self.sequences, sequences, "right" if self.strict else "left")
        begin = np.searchsorted(self.keys, groups * span + rank)
        end = np.searchsorted(self.keys, (groups + 1) * span)
        count = np.where(groups < 0, 0, end - begin)
        total = np.cumsum(count)
        first = 0
        while first < len(count):
            before = total[first - 1] if first else 0
            last = max(
                first + 1, int(np.searchsorted(total, before + PLANNING.pairs_at_once, "right"))
            )
            yield self._expand(first, begin[first:last], count[first:last])
            first = last

    def _expand(self, first: int, begin: Rows, count: Rows) -> Pairs:
        # Begins [1, 0] and counts [1, 2] give the indices 1 | 0, 1: each data file's count restarts
        # at its begin, so the counts before it ([0 | 1, 1]) are subtracted from 0, 1, 2.
        data = np.repeat(np.arange(first, first + len(count), dtype=np.int64), count)
        skipped = np.repeat(np.cumsum(count) - count, count)
        indices = np.arange(len(data)) - skipped + np.repeat(begin, count)
        return Pairs(data, self.rows[indices])


def scope(chosen: Mask, groups: Rows, sequences: Rows, *, strict: bool) -> Scope:
    """Return the scope of the chosen delete files; `groups` and `sequences` are of all of them."""
    rows = np.flatnonzero(chosen)
    distinct_sequences = distinct(sequences[rows])
    keys = groups[rows] * (len(distinct_sequences) + 1) + np.searchsorted(
        distinct_sequences, sequences[rows]
    )
    order = np.argsort(keys, kind="stable")
    return Scope(keys[order], rows[order], distinct_sequences, strict)


@dataclass(frozen=True, slots=True)
class PathNumbers:
    """The distinct paths that deletes refer to; `hashes` ascend, `order` has their indices.

    Arrow's `index_in` hashes its value set again on each call, which for 200,000 deletion vectors
    took half of the planning. Here hashes are computed once, and matches are compared as texts.
    Without hashes (few paths, or after a fork) Arrow looks them up.
    """

    paths: Any
    hashes: Hashes | None = None
    order: Rows | None = None

    def of(self, paths: Any) -> Rows:
        """Return the number of each path, NOT_THERE for others and null."""
        if self.hashes is None or self.order is None:
            return _codes(pc.index_in(paths, value_set=self.paths))
        array = paths.combine_chunks() if isinstance(paths, pa.ChunkedArray) else paths
        codes = np.full(len(array), NOT_THERE, np.int64)
        hashes = _hashes(array)
        indices = np.minimum(np.searchsorted(self.hashes, hashes), len(self.hashes) - 1)
        met = np.flatnonzero(self.hashes[indices] == hashes)
        candidates = self.order[indices[met]]
        same = pc.equal(array.take(pa.array(met)), self.paths.take(pa.array(candidates)))
        mask = pc.fill_null(same, False).to_numpy(zero_copy_only=False)
        codes[met[mask]] = candidates[mask]
        return codes


def path_numbers(paths: Any) -> tuple[PathNumbers, Rows]:
    """Number the distinct paths of a column; returns the number of each row, NOT_THERE for null."""
    valid = paths.is_valid()
    present = paths if not paths.null_count else paths.filter(valid)
    if len(present) < PLANNING.hashed_paths or polars_threads.are_lost():
        return _by_arrow(paths)
    hashes = _hashes(present)
    order = np.argsort(hashes)
    ascending = hashes[order]
    if np.any(ascending[1:] == ascending[:-1]):  # a repeated path, or a hash collision
        return _by_arrow(paths)
    codes = np.full(len(paths), NOT_THERE, np.int64)
    codes[valid.to_numpy(zero_copy_only=False)] = np.arange(len(present))
    return PathNumbers(present, ascending, order), codes


def _by_arrow(paths: Any) -> tuple[PathNumbers, Rows]:
    encoded = paths.dictionary_encode()
    return PathNumbers(encoded.dictionary), _codes(encoded.indices)


def _hashes(paths: Any) -> Hashes:
    hashes: Hashes = pl.from_arrow(paths).hash().to_numpy()
    return hashes


def _codes(places: Any) -> Rows:
    codes: Rows = pc.fill_null(places, NOT_THERE).to_numpy().astype(np.int64)
    return codes


_NO_ROWS = np.zeros(0, np.int64)
_NOWHERE = Scope(_NO_ROWS, _NO_ROWS, _NO_ROWS, strict=False)
# Created without pa.array, which imports pandas: every process that plans loads this module.
_EMPTY = DeleteIndex(
    files=pa.schema([]).empty_table(),
    targets=PathNumbers(pa.nulls(0, pa.string())),
    by_path=_NOWHERE,
    vectors=_NOWHERE,
    by_spec={},
    everywhere=_NOWHERE,
    pruning=PairPruning({}, (), pa.schema([]).empty_table(), pa.nulls(0, pa.int64()), (None, None)),
)


def listed_deletes(files: pa.Table) -> DeleteIndex:
    """Return delete files whose data files are known already: they are found by row only.

    `files` has the columns of `DeleteFile` and `content_bytes`.
    """
    return replace(_EMPTY, files=files) if files.num_rows else _EMPTY
