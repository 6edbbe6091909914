"""Metadata tables: `load("T#files")`, read by tasks from the pinned metadata."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from iceberg_spark.catalog.catalog import LoadedTable
from iceberg_spark.errors import InvalidOptionError
from iceberg_spark.inspect.names import MetadataTable, metadata_table
from iceberg_spark.inspect.position_deletes import PositionDeleteFile
from iceberg_spark.inspect.request import Inspection, Part, inspection, parts, read_parts
from iceberg_spark.scan.read_options import ReadOptions
from iceberg_spark.scan.split import pack, split_options
from iceberg_spark.spark.adapt.batches import spark_batches
from iceberg_spark.spark.adapt.types import to_spark
from iceberg_spark.spark.datasource.pinned import PinnedTable, load
from iceberg_spark.spark.session.compat import expected_arrow_schema
from iceberg_spark.spark.session.in_worker import in_worker
from iceberg_spark.spec.manifest_file import ManifestFile
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.properties import METADATA_SPLIT_SIZE, int_property

DEFAULT_BATCH_ROWS = 131_072


class PartGroup(InputPartition):
    """The parts of a metadata table that one Spark task reads, balanced by bytes."""

    def __init__(self, some: Sequence[Part]) -> None:
        super().__init__(tuple(some))

    @property
    def parts(self) -> tuple[Part, ...]:
        """Manifests, manifest lists or delete files to read."""
        found: tuple[Part, ...] = self.value
        return found


@dataclass(frozen=True, slots=True)
class PinnedInspection:
    """Which metadata table a load shows, its snapshot resolved."""

    table: PinnedTable
    name: MetadataTable
    options: ReadOptions

    def request(self, metadata: TableMetadata) -> Inspection:
        """Return the read; every process of a query makes the same one."""
        return inspection(metadata, self.name, self.options)


def pin_inspection(options: ReadOptions, name: str) -> tuple[PinnedInspection, StructType]:
    """Pin the metadata and the snapshot of a load of `T#name`; returns the frame's type too.

    Raises InvalidInputError for an unknown name, InvalidOptionError for an option that metadata
    tables don't have, and what the load of a table raises.
    """
    kind = metadata_table(name)
    _check_options(options, kind)
    table, loaded = load(options.path, options.storage)
    pinned = PinnedInspection(table, kind, options)
    request = pinned.request(loaded.metadata)
    if request.snapshot_id is not None:
        pinned = replace(pinned, options=_at(options, request.snapshot_id))
    return pinned, to_spark(request.read_schema)


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


class InspectReader(DataSourceReader):
    """Cuts a metadata table into groups of manifests or delete files, and reads them.

    It is pickled into every task, so it holds no schema but one that a user gave: each process
    makes the request anew from the pinned metadata file.
    """

    def __init__(self, pinned: PinnedInspection, frame_type: StructType | None) -> None:
        self.pinned = pinned
        self.frame_type = frame_type

    @in_worker
    def partitions(self) -> list[InputPartition]:
        """Return one partition for each balanced group; small tables are one."""
        metadata = self.pinned.table.metadata()
        some = parts(self.pinned.request(metadata), metadata, self.pinned.table.io)
        return [PartGroup(group) for group in _groups(some, metadata, self.pinned.options)]

    @in_worker
    def read(self, partition: InputPartition | None) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a group as batches of exactly the frame's Arrow types."""
        if not isinstance(partition, PartGroup):  # what Spark sends when there is no partition
            return
        table = self.pinned.table
        metadata = table.metadata()
        request = self.pinned.request(metadata)
        expected = expected_arrow_schema(self.frame_type or to_spark(request.read_schema))
        loaded = LoadedTable(table.path, metadata, table.metadata_location, table.io)
        rows = self.pinned.options.batch_rows or DEFAULT_BATCH_ROWS
        for found in read_parts(request, loaded, loaded.io, partition.parts):
            batches = iter(found.to_batches(max_chunksize=rows))
            yield from spark_batches(batches, request.read_schema, expected)


def _groups(
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
