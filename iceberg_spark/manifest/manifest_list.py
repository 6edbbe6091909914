"""Manifest lists: the manifests of a snapshot (specification: "Manifest Lists")."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.arrow.arrays import concat
from iceberg_spark.arrow.schema import field_id, to_arrow
from iceberg_spark.errors import CorruptFileError, InvalidInputError
from iceberg_spark.formats.avro.columns import read_avro_columns, read_avro_files
from iceberg_spark.formats.avro.container import parse_container
from iceberg_spark.formats.avro.schema import avro_record
from iceberg_spark.io.decoding import decoding
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.io.limits import DEFAULT_LIMITS, Limits, limits_of
from iceberg_spark.lazy import LazyFunction
from iceberg_spark.manifest.reader import read_manifest
from iceberg_spark.manifest.schemas import MANIFEST_FILE_NAME, manifest_file_struct
from iceberg_spark.spec.format_version import rules_of
from iceberg_spark.spec.manifest_file import FieldSummary, ManifestContent, ManifestFile
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.partition import PartitionSpec
from iceberg_spark.spec.partition_type import partition_type
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.snapshot import Snapshot

Table: TypeAlias = Any  # pyarrow ships no types

_write_avro: Callable[..., Iterator[bytes]] = LazyFunction(
    "iceberg_spark.formats.avro.writer", "write_avro"
)
_manifest_file_of: Callable[..., ManifestFile] = LazyFunction(
    "iceberg_spark.manifest.writer", "manifest_file_of"
)

LIST_SCHEMA = to_arrow(Schema(*manifest_file_struct(3).fields)).remove_metadata()
"""The columns of a manifest list as an Arrow table: the field names of the specification."""

_V1_DEFAULTS = {"content": 0, "sequence_number": 0, "min_sequence_number": 0}
_REQUIRED = ("manifest_path", "manifest_length", "partition_spec_id")


def read_manifest_list(
    io: FileIO, snapshot: Snapshot, metadata: TableMetadata
) -> tuple[ManifestFile, ...]:
    """Return the manifests of a snapshot.

    A list of format version 1 reads with sequence numbers 0 and content data. A very old
    snapshot names its manifests itself: their list entries are computed from them.

    Raises NoSuchFileError, CorruptFileError naming the list.
    """
    if snapshot.manifest_list is None:
        paths = snapshot.manifests or ()
        return tuple(manifest_file_from_manifest(io, path, snapshot, metadata) for path in paths)
    table = _read(io, snapshot.manifest_list)
    _check_specs(table, snapshot.manifest_list, metadata)
    return manifest_files(table, snapshot.manifest_list)


def manifest_files(table: Table, location: str) -> tuple[ManifestFile, ...]:
    """Return rows of a table of LIST_SCHEMA as values; `location` is the list's, for messages."""
    with decoding(location):
        rows = table.to_pylist()  # one row per manifest: thousands at most
        return tuple(_manifest_file(row, location) for row in rows)


def read_manifest_list_columns(
    io: FileIO,
    snapshot: Snapshot,
    metadata: TableMetadata,
    columns: Sequence[str] = tuple(LIST_SCHEMA.names),
) -> Table:
    """Return the manifests of a snapshot as a table, one row each, some columns of LIST_SCHEMA."""
    if snapshot.manifest_list is not None:
        table = _read(io, snapshot.manifest_list, columns)
        _check_specs(table, snapshot.manifest_list, metadata)
        return table
    return manifest_list_table(read_manifest_list(io, snapshot, metadata)).select(columns)


def _check_specs(table: Table, location: str, metadata: TableMetadata) -> None:
    """Raise CorruptFileError for manifests with partition specs that the table lacks."""
    if "partition_spec_id" not in table.column_names:
        return
    specs = table.column("partition_spec_id")
    sizes = {number: len(spec.fields) for number, spec in metadata.partition_specs.items()}
    unknown = set(pc.unique(specs).to_pylist()) - set(sizes)
    if unknown:
        raise CorruptFileError(
            f"{location} lists manifests of partition spec {', '.join(sorted(map(str, unknown)))}, "
            "which the table lacks"
        )


def read_manifest_lists(
    lists: Iterable[tuple[str, bytes]], columns: Sequence[str], limits: Limits = DEFAULT_LIMITS
) -> Iterator[Table]:
    """Yield the manifests of lists, each a (location, bytes): some columns of LIST_SCHEMA."""
    held = list(lists)
    where = held[0][0] if held else ""
    field_ids = frozenset(_LIST_IDS[name] for name in columns)
    for table in read_avro_files(held, columns=field_ids, limits=limits):
        yield _typed(table, where, columns)


def manifest_list_table(manifests: Iterable[ManifestFile]) -> Table:
    """Return manifests as a table of LIST_SCHEMA, one row each."""
    rows = [_row(manifest) for manifest in manifests]
    arrays = [pa.array([row[field.name] for row in rows], field.type) for field in LIST_SCHEMA]
    return pa.Table.from_arrays(arrays, schema=_nullable(LIST_SCHEMA))


def write_manifest_list(
    io: FileIO,
    path: str,
    snapshot: Snapshot,
    manifests: Sequence[ManifestFile],
    *,
    format_version: int,
    codec: str = "gzip",
) -> tuple[ManifestFile, ...]:
    """Write a snapshot's manifest list and return its rows as written.

    A manifest without a sequence number gets the snapshot's, as its least data sequence number
    if all its entries inherit. Only new manifests of this snapshot may lack one.

    Raises InvalidInputError for a new manifest of another snapshot, for a manifest without
    counts in format version 2, and for delete manifests in version 1.
    """
    rows = tuple(_assigned(manifest, snapshot, format_version) for manifest in manifests)
    struct = manifest_file_struct(format_version)
    table = manifest_list_table(rows).select([field.name for field in struct.fields])
    metadata = {
        "snapshot-id": str(snapshot.snapshot_id),
        "parent-snapshot-id": _text(snapshot.parent_snapshot_id),
        "format-version": str(format_version),
    }
    rules = rules_of(format_version)
    if rules.has_sequence_numbers:
        metadata["sequence-number"] = str(snapshot.sequence_number)
    if rules.has_row_lineage and snapshot.first_row_id is not None:
        metadata["first-row-id"] = str(snapshot.first_row_id)
    avro = avro_record(struct, MANIFEST_FILE_NAME)
    with io.create(path) as out:
        for chunk in _write_avro(avro, table, metadata=metadata, codec=codec):
            out.write(chunk)
    return rows


def _text(snapshot_id: int | None) -> str:
    return "null" if snapshot_id is None else str(snapshot_id)


def _assigned(manifest: ManifestFile, snapshot: Snapshot, format_version: int) -> ManifestFile:
    added_by = manifest.added_snapshot_id
    if added_by is None:
        manifest = replace(manifest, added_snapshot_id=snapshot.snapshot_id)
    elif manifest.sequence_number is None and added_by != snapshot.snapshot_id:
        raise InvalidInputError(
            f"Manifest {manifest.manifest_path} has no sequence number but was added by snapshot "
            f"{added_by}, not by {snapshot.snapshot_id}"
        )
    if not rules_of(format_version).has_delete_files:
        if manifest.content is ManifestContent.DELETES:
            raise InvalidInputError(
                f"Manifest {manifest.manifest_path} has deletes, which format version 1 lacks"
            )
        return manifest
    counts = ("added_files_count", "existing_files_count", "deleted_files_count",
              "added_rows_count", "existing_rows_count", "deleted_rows_count")  # fmt: skip
    unknown = [name for name in counts if getattr(manifest, name) is None]
    if unknown:
        raise InvalidInputError(
            f"Manifest {manifest.manifest_path} lacks {', '.join(unknown)}, which a manifest "
            f"list of format version {format_version} needs; `fill_counts` reads them from it"
        )
    if manifest.sequence_number is not None:
        return manifest
    number, least = snapshot.sequence_number, manifest.min_sequence_number
    return replace(
        manifest, sequence_number=number, min_sequence_number=number if least is None else least
    )


def _read(io: FileIO, location: str, columns: Sequence[str] = tuple(LIST_SCHEMA.names)) -> Table:
    table = read_avro_columns(
        io.read_bytes(location),
        location=location,
        columns=frozenset(_LIST_IDS[name] for name in columns),
        limits=limits_of(io.properties),
    )
    return _typed(table, location, columns)


def _typed(table: Table, location: str, columns: Sequence[str]) -> Table:
    with decoding(location):
        return _columns(table, location, columns)


def _columns(table: Table, location: str, columns: Sequence[str]) -> Table:
    by_id = {field_id(field): index for index, field in enumerate(table.schema)}
    arrays = []
    schema = pa.schema([LIST_SCHEMA.field(name) for name in columns])
    for field in schema:
        position = by_id.get(_LIST_IDS[field.name])
        if position is None:
            arrays.append(_absent(field, table.num_rows, location))
            continue
        array = (
            concat(table.column(position))
            if table.num_rows
            else pa.array([], table.field(position).type)
        )
        if field.name == "partitions":
            arrays.append(_summaries(array, field.type))
        else:
            arrays.append(array.cast(field.type))
    return pa.Table.from_arrays(arrays, schema=_nullable(schema))


def _absent(field: Any, rows: int, location: str) -> Any:
    if field.name in _REQUIRED:
        raise CorruptFileError(f"{location} is not a manifest list: it has no {field.name}")
    default = _V1_DEFAULTS.get(field.name)
    if default is None:
        return pa.nulls(rows, field.type)
    return pa.repeat(pa.scalar(default, field.type), rows)


def _summaries(array: Any, target: Any) -> Any:
    """Return partition summaries with their fields by id; an old list lacks `contains_nan`."""
    if array.type == target:
        return array
    have = {field_id(field): field.name for field in array.type.value_type}
    sources = {child.name: have.get(_SUMMARY_IDS[child.name]) for child in target.value_type}
    # A loop over rows: a manifest list has one per manifest.
    rows = [
        None
        if row is None
        else [
            {name: summary[src] if src else None for name, src in sources.items()}
            for summary in row
        ]
        for row in array.to_pylist()
    ]
    return pa.array(rows, target)


def _manifest_file(row: Mapping[str, Any], location: str) -> ManifestFile:
    parts = row["partitions"]
    summaries = None if parts is None else tuple(FieldSummary(**part) for part in parts)
    try:
        content = ManifestContent(row["content"])
    except ValueError:
        raise CorruptFileError(
            f"{location} lists {row['manifest_path']} with unknown content {row['content']}"
        ) from None
    return ManifestFile(**{**row, "content": content, "partitions": summaries})


def _row(manifest: ManifestFile) -> dict[str, Any]:
    row = {name: getattr(manifest, name) for name in LIST_SCHEMA.names}
    row["content"] = int(manifest.content)
    if manifest.partitions is not None:
        row["partitions"] = [
            {name: getattr(summary, name) for name in _SUMMARY_IDS}
            for summary in manifest.partitions
        ]
    return row


def _nullable(schema: Any) -> Any:
    return pa.schema([field.with_nullable(True) for field in schema])


_LIST_IDS = {field.name: field.field_id for field in manifest_file_struct(3).fields}
_SUMMARY_IDS = {"contains_null": 509, "contains_nan": 518, "lower_bound": 510, "upper_bound": 511}


# The manifest list entry of a manifest, computed from the manifest itself.
#
# Needed for snapshots of format version 1 that name their manifests without a list, and for lists
# of old writers without counts.

_COLUMNS = ("status", "snapshot_id", "data_sequence_number", "record_count", "partition")


def manifest_file_from_manifest(
    io: FileIO, path: str, snapshot: Snapshot, metadata: TableMetadata
) -> ManifestFile:
    """Return the row that a version 1 manifest list would have for a manifest.

    Entries without a snapshot id inherit the snapshot's. Raises NoSuchFileError,
    CorruptFileError for a spec id that the table doesn't have.
    """
    container = parse_container(io.read_bytes(path), path, limits_of(io.properties))
    text = container.metadata.get("partition-spec-id", "0")
    with decoding(path):
        spec = metadata.partition_specs.get(int(text)) if text.isdecimal() else None
    if spec is None:
        raise CorruptFileError(f"Manifest {path} has partition spec '{text}', the table has not")
    bare = ManifestFile(
        path, io.size(path), spec.spec_id, ManifestContent.DATA, 0, 0, snapshot.snapshot_id
    )
    return replace(fill_counts(io, bare, spec, metadata), sequence_number=0, min_sequence_number=0)


def fill_counts(
    io: FileIO, manifest: ManifestFile, spec: PartitionSpec, metadata: TableMetadata
) -> ManifestFile:
    """Return a manifest with the counts and partition summaries that its list left out."""
    kind = partition_type(spec, metadata.schema, metadata.schemas.values())
    table = read_manifest(io, manifest, kind, columns=_COLUMNS)
    full = _manifest_file_of(
        table,
        manifest.manifest_path,
        manifest.manifest_length,
        spec,
        manifest.content,
        manifest.added_snapshot_id,
        kind,
    )
    return replace(
        full,
        sequence_number=manifest.sequence_number,
        min_sequence_number=manifest.min_sequence_number,
        key_metadata=manifest.key_metadata,
        first_row_id=manifest.first_row_id,
    )


@dataclass(frozen=True, slots=True)
class AssignedRowIds:
    """The manifests of a snapshot with their first row ids, and the next one that is free."""

    manifests: tuple[ManifestFile, ...]
    next_row_id: int


def assigned_row_ids(manifests: Iterable[ManifestFile], next_row_id: int) -> AssignedRowIds:
    """Give each data manifest that has no first row id the next free one.

    New manifests lack one, and so do all of a table that was upgraded. As many ids are used up as
    a manifest has live rows, also where existing files have their own already: which of them have
    none is not in the list (Java: ManifestListWriter). Raises InvalidInputError for a manifest
    without counts.
    """
    assigned: list[ManifestFile] = []
    free = next_row_id
    for manifest in manifests:
        if manifest.content is not ManifestContent.DATA or manifest.first_row_id is not None:
            assigned.append(manifest)
            continue
        added, existing = manifest.added_rows_count, manifest.existing_rows_count
        if added is None or existing is None:
            raise InvalidInputError(
                f"Manifest {manifest.manifest_path} lacks row counts, which are needed to assign "
                "row ids"
            )
        assigned.append(replace(manifest, first_row_id=free))
        free += added + existing
    return AssignedRowIds(tuple(assigned), free)
