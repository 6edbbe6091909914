"""A load of a metadata table, `T#files`: its snapshot resolved, cut into groups, read in tasks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from iceberg_spark.catalog.catalog import LoadedTable
from iceberg_spark.catalog.pinned import PinnedTable, pinned
from iceberg_spark.errors import InvalidOptionError
from iceberg_spark.inspect.names import MetadataTable, metadata_table
from iceberg_spark.inspect.position_deletes import PositionDeleteFile
from iceberg_spark.inspect.request import Inspection, Part, inspection, parts, read_parts
from iceberg_spark.scan.read_options import ReadOptions
from iceberg_spark.scan.split import pack, split_options
from iceberg_spark.spec.manifest_file import ManifestFile
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.properties import METADATA_SPLIT_SIZE, int_property
from iceberg_spark.spec.schema import Schema

DEFAULT_BATCH_ROWS = 131_072


@dataclass(frozen=True, slots=True)
class PinnedInspection:
    """Which metadata table a load shows, its snapshot resolved.

    It travels to every task, so it holds no schema: each process makes the request anew from the
    pinned metadata.
    """

    table: PinnedTable
    name: MetadataTable
    options: ReadOptions

    def request(self, metadata: TableMetadata) -> Inspection:
        """Return the read; every process of a query makes the same one."""
        return inspection(metadata, self.name, self.options)

    def groups(self) -> list[list[Part]]:
        """Return the manifests or delete files to read, balanced by bytes; small tables are one."""
        metadata = self.table.metadata()
        some = parts(self.request(metadata), metadata, self.table.io)
        return _balanced(some, metadata, self.options)

    def batches(self, some: Sequence[Part]) -> tuple[Schema, Iterator[pa.RecordBatch]]:
        """Return the rows of a group, and what their columns are."""
        metadata = self.table.metadata()
        request = self.request(metadata)
        return request.read_schema, self._rows(request, metadata, some)

    def _rows(
        self, request: Inspection, metadata: TableMetadata, some: Sequence[Part]
    ) -> Iterator[pa.RecordBatch]:
        table = self.table
        loaded = LoadedTable(table.path, metadata, table.metadata_location, table.io)
        rows = self.options.batch_rows or DEFAULT_BATCH_ROWS
        for found in read_parts(request, loaded, loaded.io, some):
            yield from found.to_batches(max_chunksize=rows)


def pin_inspection(
    options: ReadOptions, loaded: LoadedTable, name: str
) -> tuple[PinnedInspection, Schema]:
    """Pin the metadata and the snapshot of a load of `T#name`; returns the columns too.

    Raises InvalidInputError for an unknown name, InvalidOptionError for an option that metadata
    tables don't have.
    """
    kind = metadata_table(name)
    _check_options(options, kind)
    inspected = PinnedInspection(pinned(options.path, loaded, options.storage), kind, options)
    request = inspected.request(loaded.metadata)
    if request.snapshot_id is not None:
        inspected = replace(inspected, options=_at(options, request.snapshot_id))
    return inspected, request.read_schema


def pin_metadata_table(
    loaded: LoadedTable, name: str, **version: Any
) -> tuple[PinnedInspection, Schema]:
    """Pin a metadata table of a loaded table, as `pin_inspection` does.

    Args:
        loaded: the table, and where its metadata was read.
        name: the metadata table, as `snapshots`.
        version: the options that choose a version, as `version_as_of`.
    """
    path = f"{loaded.metadata_location}#{name}"
    options = ReadOptions(path=path, storage=loaded.io.properties, **version)
    return pin_inspection(options, loaded, name)


def _check_options(options: ReadOptions, name: MetadataTable) -> None:
    given = {
        "start-snapshot-id": options.start_snapshot_id is not None,
        "end-snapshot-id": options.end_snapshot_id is not None,
        "metadata-columns": bool(options.metadata_columns),
        "pushdown": options.pushdown,
    }
    for option, is_given in given.items():
        if is_given:
            raise InvalidOptionError(
                f"Option '{option}' is for tables of rows: metadata table '{name}' has none such, "
                "leave it out"
            )


def _at(options: ReadOptions, snapshot_id: int) -> ReadOptions:
    return replace(
        options,
        snapshot_id=snapshot_id,
        version_as_of=None,
        as_of_timestamp_ms=None,
        branch=None,
        tag=None,
    )


def _balanced(
    some: Sequence[Part], metadata: TableMetadata, options: ReadOptions
) -> list[list[Part]]:
    """Balance parts as data files are, by `read.split.metadata-target-size` for manifests."""
    size = options.split_size
    if size is None and not any(isinstance(part, PositionDeleteFile) for part in some):
        size = int_property(metadata.properties, METADATA_SPLIT_SIZE)
    split = split_options(
        metadata.properties,
        split_size=size,
        lookback=options.lookback,
        open_file_cost=options.file_open_cost,
    )
    heavy = np.array([max(_bytes(part), split.open_file_cost) for part in some], np.int64)
    return [[some[at] for at in group] for group in pack(heavy, split.split_size, split.lookback)]


def _bytes(part: Part) -> int:
    match part:
        case ManifestFile():
            return part.manifest_length
        case PositionDeleteFile():
            return part.file.file_size_in_bytes
        case _:
            return 0
