"""A read of a metadata table: its schema, its parts, and the rows of each part.

The parts are independent: this process reads them one after the other, or Spark's tasks do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, assert_never

import pyarrow as pa

from iceberg_spark.arrow.arrays import concat, map_list, map_struct, struct_of
from iceberg_spark.arrow.schema import to_arrow
from iceberg_spark.catalog.catalog import LoadedTable
from iceberg_spark.errors import InvalidInputError, InvalidOptionError
from iceberg_spark.expr.nodes import ALWAYS_TRUE, Bound
from iceberg_spark.expr.row_filter import row_filter as mask_of
from iceberg_spark.inspect.files import FilesRequest, file_rows
from iceberg_spark.inspect.manifests import all_manifests, manifests
from iceberg_spark.inspect.metadata_lists import (
    history,
    metadata_log_entries,
    partition_statistics_files,
    refs,
    snapshots,
    statistics_files,
)
from iceberg_spark.inspect.names import MetadataTable
from iceberg_spark.inspect.partitions import partitions
from iceberg_spark.inspect.position_deletes import (
    PositionDeleteFile,
    deleted_rows,
    position_delete_files,
)
from iceberg_spark.inspect.schemas import (
    metadata_table_schema,
    metric_columns,
    partition_struct,
)
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.manifest.manifest_list import manifest_files, read_manifest_list_columns
from iceberg_spark.scan.entry_tables import read_ahead
from iceberg_spark.scan.projection import project
from iceberg_spark.scan.request import ScanRequest, bound_filter
from iceberg_spark.scan.snapshot_choice import SnapshotChoice, choose_snapshot
from iceberg_spark.spec.manifest_file import ManifestContent, ManifestFile
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.partition_type import partition_type
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.snapshot import Snapshot
from iceberg_spark.spec.types import StructType

SNAPSHOTS_IN_A_PART = 64


@dataclass(frozen=True, slots=True)
class Inspection:
    """A pinned read of one metadata table.

    `schema` has all columns, `read_schema` the selected ones in the table's order. `snapshot_id` is
    None for an empty table and for tables that show all snapshots.
    """

    name: MetadataTable
    schema: Schema
    read_schema: Schema
    snapshot_id: int | None
    partition_types: Mapping[int, StructType]
    partition_ids: Mapping[str, int]
    metric_ids: Mapping[str, int]
    row_filter: Bound = ALWAYS_TRUE


@dataclass(frozen=True, slots=True)
class WholeTable:
    """All rows of a small table, computed from the metadata in one step."""


Part: TypeAlias = WholeTable | Snapshot | ManifestFile | PositionDeleteFile
"""A unit of work: a snapshot for `all_manifests`, a manifest for tables over files."""


def inspection(
    metadata: TableMetadata,
    name: MetadataTable,
    request: ScanRequest,
) -> Inspection:
    """Return the pinned read of a request.

    Columns and predicate name the metadata table's own columns. These are the columns of the
    current schema, also for an older snapshot.

    Raises:
        InvalidOptionError: the request chooses a snapshot of a table that shows all snapshots.
        NoSuchSnapshotError: the snapshot does not exist.
        InvalidSchemaError: a selected column does not exist.
        InvalidExpressionError: the predicate does not fit the columns.
    """
    schema = metadata_table_schema(name, metadata)
    former = metadata.schemas.values()
    projection = project(schema, request.selected_fields, case_sensitive=request.case_sensitive)
    return Inspection(
        name=name,
        schema=schema,
        read_schema=projection.schema,
        snapshot_id=_snapshot_id(metadata, name, request),
        partition_types={
            spec_id: partition_type(spec, metadata.schema, former)
            for spec_id, spec in metadata.partition_specs.items()
        },
        partition_ids={field.name: field.field_id for field in partition_struct(metadata).fields},
        metric_ids={field.name: field.field_id for field in metric_columns(metadata.schema)},
        row_filter=bound_filter(schema, request),
    )


def parts(request: Inspection, metadata: TableMetadata, io: FileIO) -> list[Part]:
    """Return the parts of a read; no rows.

    For the `all_*` tables over files, memory holds the manifests of all snapshots, each once.
    """
    snapshot = _snapshot(request, metadata)
    match request.name:
        case MetadataTable.ALL_MANIFESTS:
            return list(metadata.snapshots.values())
        case MetadataTable.POSITION_DELETES:
            return list(position_delete_files(metadata, io, snapshot))
        case name if name.has_files:
            return list(reachable_manifests(metadata, io, name, snapshot))
        case _:
            return [WholeTable()]


def read_parts(
    request: Inspection, loaded: LoadedTable, io: FileIO, group: Sequence[Part]
) -> Iterator[pa.Table]:
    """Yield the rows of parts as tables of exactly `request.read_schema`.

    At any time, memory holds the rows of one manifest, one batch of a delete file, 64 manifest
    lists or one small table.
    """
    target = to_arrow(request.read_schema)
    if request.row_filter == ALWAYS_TRUE:
        for table in _tables(request, loaded, io, group, request.read_schema):
            yield select_columns(table, target)
        return
    mask = mask_of(request.row_filter, _paths(request.schema))
    for table in _tables(request, loaded, io, group, request.schema):
        yield select_columns(table.filter(mask(table)), target)


def _tables(
    request: Inspection, loaded: LoadedTable, io: FileIO, group: Sequence[Part], schema: Schema
) -> Iterator[pa.Table]:
    """Yield the rows of parts, with at least the columns of `schema`."""
    metadata = loaded.metadata
    files = FilesRequest(
        schema, request.partition_types, request.metric_ids, request.name.has_entries
    )
    snapshots_to_list = [part for part in group if isinstance(part, Snapshot)]
    for start in range(0, len(snapshots_to_list), SNAPSHOTS_IN_A_PART):
        yield all_manifests(metadata, io, snapshots_to_list[start : start + SNAPSHOTS_IN_A_PART])
    manifests_to_read = [part for part in group if isinstance(part, ManifestFile)]
    yield from read_ahead(lambda manifest: file_rows(io, manifest, files), manifests_to_read)
    for part in group:
        match part:
            case WholeTable():
                yield _whole_table(request, loaded, io)
            case PositionDeleteFile():
                for batch in deleted_rows(io, part, schema, request.partition_ids):
                    yield pa.Table.from_batches([batch])
            case Snapshot() | ManifestFile():
                pass  # read above
            case _:
                assert_never(part)


def _whole_table(request: Inspection, loaded: LoadedTable, io: FileIO) -> pa.Table:
    metadata = loaded.metadata
    snapshot = _snapshot(request, metadata)
    match request.name:
        case MetadataTable.HISTORY:
            return history(metadata)
        case MetadataTable.METADATA_LOG_ENTRIES:
            return metadata_log_entries(metadata, loaded.metadata_location)
        case MetadataTable.SNAPSHOTS:
            return snapshots(metadata)
        case MetadataTable.REFS:
            return refs(metadata)
        case MetadataTable.STATISTICS_FILES:
            return statistics_files(metadata)
        case MetadataTable.PARTITION_STATISTICS_FILES:
            return partition_statistics_files(metadata)
        case MetadataTable.MANIFESTS:
            return manifests(metadata, io, snapshot)
        case MetadataTable.PARTITIONS:
            return partitions(metadata, io, snapshot)
        case _:
            raise InvalidInputError(f"Metadata table '{request.name}' is not read as a whole")


def select_columns(table: pa.Table, target: pa.Schema) -> pa.Table:
    """Return the columns of `target` by name; structs keep only the fields of `target`."""
    if table.schema.names == target.names and table.schema.types == target.types:
        return table
    columns = [_select_fields(concat(table.column(field.name)), field.type) for field in target]
    if columns:
        return pa.Table.from_arrays(columns, schema=target)
    return pa.Table.from_struct_array(struct_of(table.num_rows, (), pa.struct([])))


def _select_fields(array: pa.Array, kind: pa.DataType) -> pa.Array:
    if array.type == kind:
        return array
    if pa.types.is_struct(kind):
        children = [
            _select_fields(array.field(array.type.get_field_index(field.name)), field.type)
            for field in kind
        ]
        return map_struct(array, children, kind)
    if pa.types.is_list(kind):
        return map_list(array, lambda values: _select_fields(values, kind.value_type), kind)
    return array


def _paths(schema: Schema) -> dict[int, tuple[str, ...]]:
    """Return the names on the path to each field, outermost first."""
    return {
        field_id: tuple(
            schema.find_field(ancestor_id).name for ancestor_id in schema.path_ids(field_id)
        )
        for field_id in schema.field_ids
    }


def _snapshot(request: Inspection, metadata: TableMetadata) -> Snapshot | None:
    return None if request.snapshot_id is None else metadata.snapshot(request.snapshot_id)


def _snapshot_id(
    metadata: TableMetadata, name: MetadataTable, choice: SnapshotChoice
) -> int | None:
    if name.is_of_one_snapshot:
        return choose_snapshot(metadata, choice).snapshot_id
    if choice.given:
        raise InvalidOptionError(
            f"Metadata table '{name}' shows all snapshots: leave out the snapshot, branch, tag "
            "or time, and filter its rows"
        )
    return None


_CONTENT = {
    MetadataTable.DATA_FILES: ManifestContent.DATA,
    MetadataTable.ALL_DATA_FILES: ManifestContent.DATA,
    MetadataTable.DELETE_FILES: ManifestContent.DELETES,
    MetadataTable.ALL_DELETE_FILES: ManifestContent.DELETES,
}


def reachable_manifests(
    metadata: TableMetadata, io: FileIO, name: MetadataTable, snapshot: Snapshot | None
) -> Iterator[ManifestFile]:
    """Yield the manifests of a snapshot, or (`all_*` tables) of all snapshots, each path once.

    A data file that several manifests list is in the table several times, as in Java. Source:
    Java's BaseAllMetadataTableScan.reachableManifests.
    """
    if name.is_of_all_snapshots:
        snapshots = tuple(metadata.snapshots.values())
    else:
        snapshots = () if snapshot is None else (snapshot,)
    content = _CONTENT.get(name)
    seen: set[str] = set()

    def read_list(listed: Snapshot) -> pa.Table:
        return read_manifest_list_columns(io, listed, metadata)

    for listed, rows in zip(snapshots, read_ahead(read_list, snapshots), strict=True):
        paths = rows.column("manifest_path").to_pylist()
        new = [row for row, path in enumerate(paths) if path not in seen]
        seen.update(paths)
        added = rows.take(pa.array(new, pa.int64()))
        for manifest in manifest_files(added, str(listed.manifest_list)):
            if content is None or manifest.content is content:
                yield manifest
