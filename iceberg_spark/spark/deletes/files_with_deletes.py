"""The data files of a plan that have deletes, in groups that Spark's own reader can read.

A relation of Spark reads many files at once, so what differs from file to file (its deleted
positions, its data sequence number, its partition) is joined to the rows by the file that each
row comes from. Rules: specification, "Scan Planning".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.arrow.arrays import distinct
from iceberg_spark.expr.stats import NULL_COUNT, column
from iceberg_spark.manifest.entries import is_vector
from iceberg_spark.read.equality_deletes import groups_by_keys
from iceberg_spark.read.projected_rows import LeafColumn, leaf_columns
from iceberg_spark.scan.delete_pairs import Mask, Rows
from iceberg_spark.scan.plan import ScanPlan
from iceberg_spark.scan.task import DeleteFile
from iceberg_spark.spark.deletes.limits import POSITIONS
from iceberg_spark.spec import types as t
from iceberg_spark.spec.data_file import DataFileContent

EVERYWHERE = -1
"""The scope of a delete that holds in every partition, and of a data file without any other."""

_KEYS = (
    t.BooleanType, t.IntegerType, t.LongType, t.DecimalType, t.DateType, t.TimestampType,
    t.TimestamptzType, t.StringType, t.UUIDType, t.FixedType, t.BinaryType,
)  # fmt: skip

FileKey: TypeAlias = Literal["file_size", "file_path"]
"""By which field of `_metadata` a row tells its file: sizes compare quicker, where they differ."""


@dataclass(frozen=True, slots=True)
class KeyDeletes:
    """Equality delete files with the same key columns, all global or all of some partition.

    `scopes` has each delete file's partition as a number, EVERYWHERE for global ones. With
    `by_sequence` the data sequence numbers have to be compared row by row, because a delete file
    is not younger than every data file; with `by_scope` the partitions. `may_be_null` says which
    key columns may hold a NULL in the files.
    """

    keys: tuple[LeafColumn, ...]
    files: tuple[DeleteFile, ...]
    scopes: tuple[int, ...]
    by_sequence: bool
    by_scope: bool
    may_be_null: tuple[bool, ...]

    @property
    def record_count(self) -> int:
        """The number of keys in the files, equal ones counted again."""
        return sum(file.record_count for file in self.files)


@dataclass(frozen=True, slots=True, eq=False)
class DeleteGroup:
    """Data files that one relation reads, and what deletes their rows.

    `rows` are their places in `plan.files`; `scopes` has a number for each file's partition,
    EVERYWHERE where no delete asks.
    """

    rows: Rows
    scopes: Rows
    file_key: FileKey
    has_positions: bool
    equality: tuple[KeyDeletes, ...]

    @property
    def needs_file(self) -> bool:
        """Whether a row has to know its file."""
        return self.has_positions or self.keys_need_file

    @property
    def keys_need_file(self) -> bool:
        """Whether keys delete rows of some of the files only."""
        return any(deletes.by_sequence or deletes.by_scope for deletes in self.equality)

    @property
    def keys(self) -> tuple[LeafColumn, ...]:
        """The key columns, each once: they are read whether the scan shows them or not."""
        return tuple({leaf.field_id: leaf for d in self.equality for leaf in d.keys}.values())

    @property
    def text(self) -> str:
        """What deletes rows, for people."""
        by_position = ["position deletes"] if self.has_positions else []
        sets = len({deletes.keys for deletes in self.equality})
        by_key = [f"equality deletes by {sets} set{'s'[: sets - 1]} of keys"] if sets else []
        return " and ".join(["with " + deletes for deletes in (*by_position, *by_key)])

    def part(self, members: Mask, file_key: FileKey | None = None) -> DeleteGroup:
        """Return some of the files."""
        return replace(
            self,
            rows=self.rows[members],
            scopes=self.scopes[members],
            file_key=file_key or self.file_key,
        )


@dataclass(frozen=True, slots=True)
class DeleteGroups:
    """Groups for the native engine, and for other files with deletes why it can't read them."""

    groups: tuple[DeleteGroup, ...]
    refused: Mapping[int, str]


@dataclass(frozen=True, slots=True, eq=False)
class _Pairs:
    """Which deletes apply to which of the chosen data files, one pair per place."""

    data: Rows  # places among the chosen data files
    deletes: Rows  # rows of `plan.deletes.files`
    equality: Mask
    count: int  # of chosen data files

    def owners(self, pairs: Mask) -> Mask:
        """Return which data files have one of these pairs."""
        return np.bincount(self.data[pairs], minlength=self.count) > 0


def find_files_with_deletes(
    plan: ScanPlan, rows: Rows, *, has_file_values: bool = False
) -> DeleteGroups:
    """Group data files by the kinds of their deletes.

    Args:
        plan: the files, and their delete files.
        rows: indices of the data files in `plan.files`.
        has_file_values: relations have values of their files. Then a file without position deletes
            has an empty bitmap, which costs less than a union: only files with and without equality
            deletes are groups of their own, and `rows` may include files without deletes.

    Raises:
        CorruptFileError: an equality delete file has no key columns, or one that no schema of the
            table has.
    """
    pairs = _pairs(plan, rows)
    used = plan.deletes.delete_files(distinct(pairs.deletes).tolist())
    refused = _refused(plan, rows, pairs, used)
    has_positions = pairs.owners(~pairs.equality)
    has_keys = pairs.owners(pairs.equality)
    is_native = np.ones(len(rows), np.bool_)
    is_native[list(refused)] = False
    groups: list[DeleteGroup] = []
    kinds = 2 * has_keys + (0 if has_file_values else has_positions)
    for kind in np.unique(kinds[is_native]):
        members = np.flatnonzero(is_native & (kinds == kind))
        groups += _groups(plan, rows, members, pairs, used, has_file_values)
    return DeleteGroups(
        tuple(groups), {int(rows[index]): reason for index, reason in refused.items()}
    )


def _pairs(plan: ScanPlan, rows: Rows) -> _Pairs:
    lists = plan.files.column("delete_rows").take(rows).combine_chunks()
    deletes = pc.list_flatten(lists).to_numpy().astype(np.int64)
    content = plan.deletes.files.column("content").to_numpy()
    return _Pairs(
        pc.list_parent_indices(lists).to_numpy().astype(np.int64),
        deletes,
        content[deletes] == DataFileContent.EQUALITY_DELETES.value,
        len(rows),
    )


def _refused(
    plan: ScanPlan, rows: Rows, pairs: _Pairs, used: Mapping[int, DeleteFile]
) -> dict[int, str]:
    """Return reasons by place among the chosen files."""
    reasons_by_file: dict[int, str] = {}
    positions = pairs.owners(~pairs.equality)
    reason = _too_many_positions(plan, rows[positions], distinct(pairs.deletes[~pairs.equality]))
    if reason:
        reasons_by_file.update(dict.fromkeys(np.flatnonzero(positions).tolist(), reason))
    if plan.is_by_catalog:
        # A relation decides by sequence numbers which files a key deletes rows of: they are unknown
        by_key = np.flatnonzero(pairs.owners(pairs.equality)).tolist()
        return dict.fromkeys(by_key, "equality deletes of a plan by the catalog") | reasons_by_file
    equality = {row: used[row] for row in distinct(pairs.deletes[pairs.equality]).tolist()}
    context = plan.context
    groups = groups_by_keys(list(equality.values()))
    reasons = {
        ids: _unfit_key(leaf_columns(ids, context.table_schema, context.dropped_fields))
        for ids in groups
    }
    unfit = {row: reasons[_ids(file)] for row, file in equality.items() if reasons[_ids(file)]}
    if unfit:
        chosen = np.isin(pairs.deletes, list(unfit))
        for data, delete in zip(pairs.data[chosen], pairs.deletes[chosen], strict=True):
            reasons_by_file.setdefault(int(data), unfit[int(delete)])
    return reasons_by_file


def _ids(file: DeleteFile) -> tuple[int, ...]:
    return tuple(sorted(set(file.equality_ids)))


def _too_many_positions(plan: ScanPlan, rows: Rows, deletes: Rows) -> str:
    used = plan.deletes.files.select(["record_count", "file_format"]).take(pa.array(deletes))
    counts = used.column("record_count").to_numpy()
    quick = is_vector(used).to_numpy(zero_copy_only=False)
    if counts[~quick].sum() + counts[quick].sum() // POSITIONS.vector_positions > POSITIONS.deletes:
        return f"{int(counts.sum()):,} position deletes, which tasks read quicker than the driver"
    size = int(plan.files.column("record_count").to_numpy()[rows].sum()) // 8
    if size > POSITIONS.bitmap_bytes:
        return f"bitmaps of position deletes would take {size:,} bytes"
    return ""


def _unfit_key(leaves: Sequence[LeafColumn]) -> str:
    for leaf in leaves:
        name = ".".join(_way(leaf.field, leaf.depth))
        if isinstance(leaf.kind, t.FloatType | t.DoubleType):
            return f"equality deletes by '{name}': Spark takes 0.0 and -0.0 for equal"
        if not isinstance(leaf.kind, _KEYS):
            return f"equality deletes by '{name}' of type {leaf.kind}"
    return ""


def _way(field: t.NestedField, depth: int) -> Iterator[str]:
    yield field.name
    if depth and isinstance(field.field_type, t.StructType):
        yield from _way(field.field_type.fields[0], depth - 1)


def _groups(
    plan: ScanPlan,
    rows: Rows,
    members: Rows,
    pairs: _Pairs,
    used: Mapping[int, DeleteFile],
    has_file_values: bool,
) -> Iterator[DeleteGroup]:
    """Yield one group, or two where sizes have to tell files apart and some have the same."""
    inside = np.isin(pairs.data, members)
    by_key = inside & pairs.equality
    scope_of = _delete_scopes(plan, distinct(pairs.deletes[by_key]))
    scopes = np.full(pairs.count, EVERYWHERE, np.int64)
    numbers = np.array([scope_of[row] for row in pairs.deletes[by_key].tolist()], np.int64)
    np.maximum.at(scopes, pairs.data[by_key], numbers)
    sequences = plan.files.column("data_sequence_number").to_numpy()[rows[members]]
    group = DeleteGroup(
        rows[members],
        scopes[members],
        "file_size",
        bool((inside & ~pairs.equality).any()),
        tuple(_key_deletes(plan, scope_of, used, int(sequences.max()), scopes[members])),
    )
    if has_file_values or not (group.needs_file or plan.context.reads_lineage):
        yield group
        return
    sizes = plan.files.column("file_size_in_bytes").to_numpy()[group.rows]
    _, size_index, times = np.unique(sizes, return_inverse=True, return_counts=True)
    is_unique = times[size_index] == 1
    if is_unique.any():
        yield group.part(is_unique, "file_size")
    if not is_unique.all():
        yield group.part(~is_unique, "file_path")


def _delete_scopes(plan: ScanPlan, deletes: Rows) -> dict[int, int]:
    """Return a number for the partition of each equality delete file, by its row."""
    numbers: dict[tuple[int, int], int] = {}
    scopes = {}
    specs = plan.deletes.files.column("spec_id").to_numpy()[deletes]
    for row, spec_id in zip(deletes.tolist(), specs.tolist(), strict=True):
        if plan.context.specs[spec_id].is_unpartitioned:
            scopes[row] = EVERYWHERE
            continue
        partition = (spec_id, int(plan.deletes.by_spec[spec_id].of_delete[row]))
        scopes[row] = numbers.setdefault(partition, len(numbers))
    return scopes


def _key_deletes(
    plan: ScanPlan,
    scope_of: Mapping[int, int],
    used: Mapping[int, DeleteFile],
    newest_data: int,
    data_scopes: Rows,
) -> Iterator[KeyDeletes]:
    context = plan.context
    members: dict[tuple[tuple[int, ...], bool], list[int]] = {}
    for row, scope in scope_of.items():
        members.setdefault((_ids(used[row]), scope == EVERYWHERE), []).append(row)
    for (ids, everywhere), chosen in members.items():
        scopes = tuple(scope_of[row] for row in chosen)
        one_place = len({*scopes, *data_scopes.tolist()}) == 1
        files = tuple(used[row] for row in chosen)
        keys = leaf_columns(ids, context.table_schema, context.dropped_fields)
        yield KeyDeletes(
            keys,
            files,
            scopes,
            by_sequence=min(file.data_sequence_number for file in files) <= newest_data,
            by_scope=not everywhere and not one_place,
            may_be_null=tuple(_may_be_null(plan, leaf.field_id, chosen) for leaf in keys),
        )


def _may_be_null(plan: ScanPlan, field_id: int, deletes: Sequence[int]) -> bool:
    name = column(NULL_COUNT, field_id)
    stats = plan.deletes.pruning.stats
    if name not in stats.column_names:
        return True
    counts = stats.column(name).take(pa.array(deletes, pa.int64()))
    return bool(counts.null_count) or bool(pc.any(pc.not_equal(counts, 0)).as_py())
