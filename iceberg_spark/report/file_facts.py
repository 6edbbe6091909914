"""Facts about the files of a snapshot: sizes, partitions, delete debt, and the cost of planning.

All of it is sums over the columns of one scan plan; nothing is a Python object for each file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.io.file_io import FileIO
from iceberg_spark.manifest.entries import is_vector
from iceberg_spark.manifest.manifest_list import read_manifest_list
from iceberg_spark.report.limits import REPORT
from iceberg_spark.scan.plan import ScanPlan
from iceberg_spark.scan.planner import plan
from iceberg_spark.scan.pruning import canonical_tuples
from iceberg_spark.scan.request import ScanRequest, scan_context
from iceberg_spark.spec.data_file import DataFileContent
from iceberg_spark.spec.manifest_file import ManifestContent
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.partition import PartitionField
from iceberg_spark.spec.partition_path import human_text
from iceberg_spark.spec.properties import WRITE_TARGET_FILE_SIZE_BYTES, positive_property
from iceberg_spark.spec.transforms import VoidTransform

Longs = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_KB = 1024


@dataclass(frozen=True, slots=True)
class Sizes:
    """Data files by size: `counts` of files between `edges` (bytes), and the target."""

    edges: Floats
    counts: Longs
    target: int
    files: int
    total: int
    median: float


@dataclass(frozen=True, slots=True)
class Partition:
    """The sums of one partition."""

    name: str
    rows: int
    files: int
    size: int


@dataclass(frozen=True, slots=True)
class Partitions:
    """All partitions: the largest ones, and rows, files and bytes of neighbours as a heat map."""

    count: int
    largest: tuple[Partition, ...]
    heat: Mapping[str, Floats]
    skew: float
    """Bytes of the largest partition divided by the median."""


@dataclass(frozen=True, slots=True)
class DeleteKind:
    """One kind of deletes: its files, and the rows or positions in them."""

    name: str
    files: int
    rows: int


@dataclass(frozen=True, slots=True)
class DeleteDebt:
    """What readers have to leave out: deletes by kind, and how much of each file they mask."""

    kinds: tuple[DeleteKind, ...]
    files_with_deletes: int
    masked_shares: Floats
    """Of each data file with deletes of its own: the share of its rows that they delete."""


@dataclass(frozen=True, slots=True)
class Manifests:
    """What a scan without a filter reads before it opens a data file."""

    data: int
    deletes: int
    size: int
    entries: int


@dataclass(frozen=True, slots=True)
class FileFacts:
    """The files of the current snapshot."""

    sizes: Sizes
    partitions: Partitions
    deletes: DeleteDebt
    manifests: Manifests


def file_facts(metadata: TableMetadata, io: FileIO) -> FileFacts:
    """Plan a scan of the current snapshot and sum it up.

    Raises:
        CorruptFileError: A manifest is malformed.
        NoSuchFileError: A manifest is missing.
        StorageError: The store failed.
    """
    planned = plan(metadata, io, scan_context(metadata, ScanRequest(), io))
    return FileFacts(
        _sizes(planned, metadata), _partitions(planned, metadata), _deletes(planned),
        _manifests(metadata, io),
    )  # fmt: skip


def _sizes(planned: ScanPlan, metadata: TableMetadata) -> Sizes:
    sizes = _longs(planned.files, "file_size_in_bytes")
    target = positive_property(metadata.properties, WRITE_TARGET_FILE_SIZE_BYTES)
    largest = max(target * 2, int(sizes.max(initial=0)) + 1)
    # A bar for each power of two, from 1 KB to what holds the largest file.
    powers = int(np.ceil(np.log2(largest / _KB)))
    edges = np.concatenate([[0.0], _KB * 2.0 ** np.arange(powers + 1)])
    counts = np.histogram(sizes, edges)[0].astype(np.int64)
    median = float(np.median(sizes)) if len(sizes) else 0.0
    return Sizes(edges, counts, target, len(sizes), int(sizes.sum()), median)


def _partitions(planned: ScanPlan, metadata: TableMetadata) -> Partitions:
    if not planned.files.num_rows or all(part.kind.fields == () for part in planned.partitions):
        return Partitions(0, (), {}, 1.0)
    names = _partition_names(planned, metadata)
    # The same tuple of two specs, or of two manifests, is one partition by its name.
    unique, group_of = np.unique(np.array(names, object), return_inverse=True)
    groups = group_of[_longs(planned.files, "partition_index")]
    rows = _sums(groups, _longs(planned.files, "record_count"), len(unique))
    sizes = _sums(groups, _longs(planned.files, "file_size_in_bytes"), len(unique))
    files = _sums(groups, np.ones(len(groups), np.int64), len(unique))
    largest = np.argsort(-sizes, kind="stable")[: REPORT.partitions].tolist()
    shown = tuple(
        Partition(str(unique[index]), int(rows[index]), int(files[index]), int(sizes[index]))
        for index in largest
    )
    heat = {"rows": _cells(rows), "files": _cells(files), "bytes": _cells(sizes)}
    median = float(np.median(sizes)) or 1.0
    return Partitions(len(unique), shown, heat, float(sizes.max()) / median)


def _partition_names(planned: ScanPlan, metadata: TableMetadata) -> list[str]:
    # In version 1 a removed field stays in later specs as void, under the same id.
    parts_of_specs = [part for spec in metadata.partition_specs.values() for part in spec.fields]
    fields = {part.field_id: part for part in sorted(parts_of_specs, key=_is_live)}
    names = []
    for part in planned.partitions:
        parts = [(fields[kind.field_id], kind.field_type) for kind in part.kind.fields]
        names += [
            ", ".join(
                f"{field.name}={human_text(field.transform, kind, value)}"
                for (field, kind), value in zip(parts, values, strict=True)
            )
            for values in canonical_tuples(part.kind, part.tuples)
        ]
    return names


def _is_live(part: PartitionField) -> bool:
    return not isinstance(part.transform, VoidTransform)


def _cells(values: Floats) -> Floats:
    """Return the values, of neighbours summed up if there are too many."""
    if len(values) <= REPORT.heat_cells:
        return values
    starts = np.linspace(0, len(values), REPORT.heat_cells, endpoint=False).astype(np.int64)
    sums: Floats = np.add.reduceat(values, starts)
    return sums


def _deletes(planned: ScanPlan) -> DeleteDebt:
    if not len(planned.deletes):
        return DeleteDebt((), 0, np.zeros(0))
    files = planned.deletes.files
    content, rows = _longs(files, "content"), _longs(files, "record_count")
    vectors = is_vector(files).to_numpy(zero_copy_only=False)
    equality = content == DataFileContent.EQUALITY_DELETES.value
    kinds = {
        "equality deletes": equality,
        "position deletes": ~equality & ~vectors,
        "deletion vectors": vectors,
    }
    counted = tuple(
        DeleteKind(name, int(mask.sum()), int(rows[mask].sum())) for name, mask in kinds.items()
    )
    lists = planned.files.column("delete_rows").combine_chunks()
    owners = pc.list_parent_indices(lists).to_numpy()
    attached = pc.list_flatten(lists).to_numpy()
    of_one_file = files.column("referenced_data_file").is_valid().to_numpy() & ~equality
    exact = of_one_file[attached] if len(attached) else np.zeros(0, np.bool_)
    masked = _sums(owners[exact], rows[attached[exact]], planned.files.num_rows)
    totals = np.maximum(_longs(planned.files, "record_count"), 1)
    shares: Floats = np.minimum(masked / totals, 1.0)[masked > 0]
    return DeleteDebt(counted, len(np.unique(owners)), shares)


def _manifests(metadata: TableMetadata, io: FileIO) -> Manifests:
    head = metadata.branch_head()
    manifests = [] if head is None else list(read_manifest_list(io, head, metadata))
    deletes = sum(manifest.content is ManifestContent.DELETES for manifest in manifests)
    counts = [
        (manifest.added_files_count or 0)
        + (manifest.existing_files_count or 0)
        + (manifest.deleted_files_count or 0)
        for manifest in manifests
    ]
    size = sum(manifest.manifest_length for manifest in manifests)
    return Manifests(len(manifests) - deletes, deletes, size, sum(counts))


def _sums(groups: Longs, values: Longs, count: int) -> Floats:
    """Return the sum of the values of each group."""
    sums: Floats = np.bincount(groups, values, count).astype(np.float64)
    return sums


def _longs(table: pa.Table, name: str) -> Longs:
    column: Any = table.column(name)
    values: Longs = column.to_numpy().astype(np.int64, copy=False)
    return values
