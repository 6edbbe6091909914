"""A read of a metadata table (`T#files`): pins the snapshot, splits it, reads it in tasks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from iceberg_spark.catalog.catalog import LoadedTable
from iceberg_spark.catalog.pinned import PinnedTable, pin_table
from iceberg_spark.errors import InvalidInputError, InvalidOptionError, NoSuchTableError
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
    """A metadata table at a pinned snapshot.

    It is pickled into every task, so it holds no schema: each process derives the request from the
    pinned metadata.
    """

    table: PinnedTable
    name: MetadataTable
    options: ReadOptions

    def request(self, metadata: TableMetadata) -> Inspection:
        """Return the read; the same in every process of a query."""
        return inspection(metadata, self.name, self.options)

    def groups(self) -> list[list[Part]]:
        """Return the parts in groups of similar size in bytes; a small table is one group."""
        metadata = self.table.metadata()
        all_parts = parts(self.request(metadata), metadata, self.table.io)
        return _balance(all_parts, metadata, self.options)

    def batches(self, group: Sequence[Part]) -> tuple[Schema, Iterator[pa.RecordBatch]]:
        """Return the schema and the rows of a group."""
        metadata = self.table.metadata()
        request = self.request(metadata)
        return request.read_schema, self._rows(request, metadata, group)

    def _rows(
        self, request: Inspection, metadata: TableMetadata, group: Sequence[Part]
    ) -> Iterator[pa.RecordBatch]:
        table = self.table
        loaded = LoadedTable(table.path, metadata, table.metadata_location, table.io)
        batch_rows = self.options.batch_rows or DEFAULT_BATCH_ROWS
        for rows in read_parts(request, loaded, loaded.io, group):
            yield from rows.to_batches(max_chunksize=batch_rows)


def pin_inspection(
    options: ReadOptions, loaded: LoadedTable, name: str
) -> tuple[PinnedInspection, Schema]:
    """Pin the metadata and the snapshot of `T#name`; return that and the schema to read.

    Raises:
        InvalidInputError: no metadata table has this name.
        InvalidOptionError: metadata tables do not support one of the options.
    """
    kind = metadata_table(name)
    _check_options(options, kind)
    inspected = PinnedInspection(pin_table(options.path, loaded, options.storage), kind, options)
    request = inspected.request(loaded.metadata)
    if request.snapshot_id is not None:
        inspected = replace(inspected, options=_pin_snapshot(options, request.snapshot_id))
    return inspected, request.read_schema


def pin_metadata_table(
    loaded: LoadedTable, name: str, **version: Any
) -> tuple[PinnedInspection, Schema]:
    """Pin a metadata table of a loaded table, as `pin_inspection` does.

    Args:
        loaded: the table and the location of its metadata.
        name: the metadata table, for example `snapshots`.
        version: the options that choose a version, for example `version_as_of`.

    Raises:
        NoSuchTableError: no metadata table has this name.
    """
    try:
        metadata_table(name)
    except InvalidInputError as error:
        raise NoSuchTableError(f"No table {loaded.identifier}.{name}: {error}") from None
    path = f"{loaded.metadata_location}#{name}"
    options = ReadOptions(path=path, storage=loaded.io.properties, **version)
    return pin_inspection(options, loaded, name)


def _check_options(options: ReadOptions, name: MetadataTable) -> None:
    is_set_by_option = {
        "start-snapshot-id": options.start_snapshot_id is not None,
        "end-snapshot-id": options.end_snapshot_id is not None,
        "metadata-columns": bool(options.metadata_columns),
        "pushdown": options.pushdown,
    }
    for option, is_set in is_set_by_option.items():
        if is_set:
            raise InvalidOptionError(
                f"Option '{option}' is not supported by metadata table '{name}': leave it out"
            )


def _pin_snapshot(options: ReadOptions, snapshot_id: int) -> ReadOptions:
    return replace(
        options,
        snapshot_id=snapshot_id,
        version_as_of=None,
        as_of_timestamp_ms=None,
        branch=None,
        tag=None,
    )


def _balance(
    all_parts: Sequence[Part], metadata: TableMetadata, options: ReadOptions
) -> list[list[Part]]:
    """Balance parts like data files, manifests by `read.split.metadata-target-size`."""
    size = options.split_size
    if size is None and not any(isinstance(part, PositionDeleteFile) for part in all_parts):
        size = int_property(metadata.properties, METADATA_SPLIT_SIZE)
    split = split_options(
        metadata.properties,
        split_size=size,
        lookback=options.lookback,
        open_file_cost=options.file_open_cost,
    )
    sizes = np.array([max(_bytes(part), split.open_file_cost) for part in all_parts], np.int64)
    return [
        [all_parts[number] for number in group]
        for group in pack(sizes, split.split_size, split.lookback)
    ]


def _bytes(part: Part) -> int:
    match part:
        case ManifestFile():
            return part.manifest_length
        case PositionDeleteFile():
            return part.file.file_size_in_bytes
        case _:
            return 0
