"""Manifests read as Arrow tables, entries inherited and typed (specification: "Manifests")."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.arrow.arrays import (
    concat,
    from_numpy,
    int_scalar,
    map_entries,
    struct_of,
    to_numpy,
    validity,
)
from iceberg_spark.arrow.schema import field_id
from iceberg_spark.bounded_cache import BoundedCache, bytes_from_environment
from iceberg_spark.errors import CorruptFileError, InvalidInputError
from iceberg_spark.formats.avro.columns import read_avro_files, read_avro_pieces
from iceberg_spark.io.allowed_places import storage_server
from iceberg_spark.io.decoding import decoding
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.io.limits import Limits, limits_of
from iceberg_spark.manifest.map_values import map_values
from iceberg_spark.manifest.schemas import (
    DATA_FILE_ID,
    ENTRY_COLUMNS,
    PARTITION,
    PARTITION_ID,
    REQUIRED,
    column_type,
    entry_schema,
    partition_arrow_type,
    value_columns,
)
from iceberg_spark.spec.data_file import ManifestEntryStatus
from iceberg_spark.spec.manifest_file import ManifestContent, ManifestFile
from iceberg_spark.spec.types import StructType

Array: TypeAlias = Any  # pyarrow ships no types
Table: TypeAlias = Any

_ADDED = int_scalar(ManifestEntryStatus.ADDED, np.int32)
_DELETED = int_scalar(ManifestEntryStatus.DELETED, np.int32)
_ROWS = "status"  # read always: it gives the number of rows
_TABLE_TYPES = {name: column.type for name, column in ENTRY_COLUMNS.items()}


def read_manifest(
    io: FileIO,
    manifest: ManifestFile,
    partition_type: StructType,
    *,
    columns: Collection[str] | None = None,
    cache: BoundedCache | None = None,
) -> Table:
    """Return a manifest's entries as a table of `columns.ENTRY_COLUMNS`, deleted ones too.

    `columns` selects columns (None: all); the others are not decoded. Names of
    `schemas.value_column` select the values of one column in a map, null in files without one, so
    that a scan holds the bounds of few columns only. `partition_type` is
    `spec.partition_type.partition_type` of the manifest's spec: the children of `partition` are
    named by its field ids and have its types, also if the file was written before a promotion.
    Sequence numbers, snapshot ids and first row ids are inherited. Fields are matched by field
    id; missing ones are null (content: 0, data). `cache` defaults to the process's.

    Raises NoSuchFileError, CorruptFileError, UnsupportedError (codec), InvalidInputError for an
    unknown column.
    """
    selected = _checked(columns)
    needed = set(selected) | {_ROWS}
    if "first_row_id" in needed:
        needed.add("record_count")
    held = _decoded(
        io, manifest, partition_type, needed, MANIFEST_CACHE if cache is None else cache
    )
    with decoding(manifest.manifest_path):
        rows = len(held[_ROWS])
        arrays = {
            name: _partition(held, rows, partition_type, manifest)
            if name == PARTITION
            else _column_or_default(held, name, rows)
            for name in needed
        }
        _inherit(arrays, manifest)
        schema = entry_schema(partition_type, selected)
        return pa.Table.from_arrays([arrays[name] for name in schema.names], schema=schema)


def _checked(columns: Collection[str] | None) -> Collection[str]:
    selected = tuple(ENTRY_COLUMNS) if columns is None else columns
    allowed = {*ENTRY_COLUMNS, *value_columns(selected)}
    for name in selected:
        if name not in allowed:
            raise InvalidInputError(
                f"Manifests have no column '{name}'; they have: {', '.join(ENTRY_COLUMNS)}"
            )
    return selected


def _decoded(
    io: FileIO,
    manifest: ManifestFile,
    partition_type: StructType,
    needed: set[str],
    cache: BoundedCache,
) -> Mapping[str, Array]:
    """Return the file's columns before inheritance, decoding those that are not cached."""
    ids = {
        name: ENTRY_COLUMNS[name.partition(".")[0]].field_id for name in needed if name != PARTITION
    }
    if PARTITION in needed:
        ids |= {_child(field.field_id): field.field_id for field in partition_type.fields}
    path = manifest.manifest_path
    key = path, manifest.manifest_length, storage_server(io, path)
    held = cache.get(key) or {}
    missing = {name: number for name, number in ids.items() if name not in held}
    if not missing:
        return held
    with decoding(path):
        decoded = _decode(io.read_bytes(path), path, missing, limits_of(io.properties))
    add_columns(cache, key, decoded)
    return {**held, **decoded}


def _decode(data: bytes, location: str, ids: Mapping[str, int], limits: Limits) -> dict[str, Array]:
    pieces = [
        _piece(table, location, ids)
        for table in read_avro_pieces(
            data,
            location=location,
            columns=frozenset(ids.values()),
            inline=(DATA_FILE_ID, PARTITION_ID),
            limits=limits,
        )
    ]
    return {
        name: None
        if pieces[0][name] is None
        else pa.concat_arrays([piece[name] for piece in pieces])
        for name in ids
    }


def _piece(table: Table, location: str, ids: Mapping[str, int]) -> dict[str, Array]:
    """Return the columns of some entries, None for those that the file lacks."""
    column_of = {field_id(field): index for index, field in enumerate(table.schema)}
    columns: dict[str, Array] = dict.fromkeys(ids)
    values = value_columns(ids)
    names_of: dict[str, dict[int, str]] = defaultdict(dict)
    for name, (base, key) in values.items():
        names_of[base][key] = name
    for base, names in names_of.items():
        index = column_of.get(ENTRY_COLUMNS[base].field_id)
        if index is not None:
            by_key = map_values(_typed(concat(table.column(index)), base, location), names)
            columns |= {name: by_key[key] for key, name in names.items()}
    for name in ids.keys() - values.keys():
        index = column_of.get(ids[name])
        if index is not None:
            columns[name] = _typed(concat(table.column(index)), name, location)
        elif name in REQUIRED:
            raise CorruptFileError(
                f"{location} is not a manifest: it lacks field {ids[name]} ({name})"
            )
    return columns


def _typed(array: Array, name: str, location: str) -> Array:
    target = _TABLE_TYPES.get(name)
    try:
        if target is None or array.type == target:
            out = array
        elif pa.types.is_map(array.type):
            out = _pairs(array, target)
        else:
            out = array.cast(target)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as broken:
        raise CorruptFileError(
            f"{location} has a column {name} of {array.type}: {broken}"
        ) from broken
    if name in REQUIRED and out.null_count:
        raise CorruptFileError(f"{location} has entries without {name}")
    return pc.utf8_upper(out) if name == "file_format" else out


def _pairs(array: Array, target: Any) -> Array:
    """Return a map array as a list of key and value."""
    entries = map_entries(array)
    kind = target.value_type
    children = [entries.field(index).cast(kind.field(index).type) for index in (0, 1)]
    offsets = array.offsets
    buffers = [validity(array), offsets.buffers()[1]]
    pairs = struct_of(len(entries), children, kind)
    return pa.Array.from_buffers(target, len(array), buffers, children=[pairs])


def _column_or_default(held: Mapping[str, Array], name: str, rows: int) -> Array:
    array = held[name]
    if array is not None:
        return array
    if name == "content":  # not in v1: all its files are data files
        return pa.repeat(pa.scalar(0, pa.int32()), rows)
    return pa.nulls(rows, column_type(name))


def _inherit(arrays: dict[str, Array], manifest: ManifestFile) -> None:
    status = arrays[_ROWS]
    if "snapshot_id" in arrays:
        arrays["snapshot_id"] = inherited_snapshot_id(arrays["snapshot_id"], manifest)
    for name in ("data_sequence_number", "file_sequence_number"):
        if name in arrays:
            arrays[name] = inherited_sequence_number(arrays[name], status, manifest)
    if "data_sequence_number" in arrays:
        check_data_sequence_number(arrays["data_sequence_number"], status, manifest)
    if "first_row_id" in arrays:
        arrays["first_row_id"] = inherited_first_row_id(
            arrays["first_row_id"], arrays["record_count"], status, manifest
        )


def _child(number: int) -> str:
    return f"{PARTITION}.{number}"


def _partition(
    held: Mapping[str, Array], rows: int, partition_type: StructType, manifest: ManifestFile
) -> Array:
    kind = partition_arrow_type(partition_type)
    children = []
    for index, field in enumerate(partition_type.fields):
        array = held[_child(field.field_id)]
        try:
            children.append(_as_partition(array, kind.field(index).type, rows))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as broken:
            raise CorruptFileError(
                f"Manifest {manifest.manifest_path} has values of partition field "
                f"'{field.name}' ({field.field_id}) that are not {field.field_type}: {broken}"
            ) from broken
    return struct_of(rows, children, kind)


def _as_partition(array: Array | None, target: Any, rows: int) -> Array:
    """Return partition values in the type of today's spec (specification: "Schema Evolution").

    Writers differ in the type of a day (int or date) and in the zone mark of timestamps.
    """
    if array is None or pa.types.is_null(array.type):
        return pa.nulls(rows, target)
    if array.type == target:
        return array
    if pa.types.is_timestamp(array.type) and pa.types.is_timestamp(target):
        return array.cast(pa.timestamp(target.unit, array.type.tz)).view(target)
    if pa.types.is_string(target) and not pa.types.is_string(array.type):
        return _as_text(array)
    if pa.types.is_fixed_size_binary(array.type):
        return array.cast(pa.binary()).cast(target)
    return array.cast(target)


def _as_text(array: Array) -> Array:
    """Return values of an unknown transform as distinct texts."""
    kind = array.type
    if pa.types.is_binary(kind) or pa.types.is_fixed_size_binary(kind):
        # A loop over rows: no kernel writes hexadecimal, and such specs are rare.
        return pa.array([v if v is None else v.hex() for v in array.to_pylist()], pa.string())
    return array.cast(pa.string())


# Values that entries inherit from their manifest (spec: "Sequence Number Inheritance").
#
# Source of the cases: specification, "Manifest Entry Fields" and "First Row ID Inheritance";
# Java's InheritableMetadataFactory and ManifestReader.


def inherited_snapshot_id(snapshot_id: Array, manifest: ManifestFile) -> Array:
    """Return snapshot ids, the manifest's where an entry has none."""
    if manifest.added_snapshot_id is None:
        return snapshot_id
    return pc.fill_null(snapshot_id, int_scalar(manifest.added_snapshot_id))


def inherited_sequence_number(number: Array, status: Array, manifest: ManifestFile) -> Array:
    """Return data or file sequence numbers, the manifest's for added entries that have none.

    A sequence number of 0 marks a manifest of format version 1, where every entry has 0.
    """
    if manifest.sequence_number is None or not number.null_count:
        return number
    inherit = int_scalar(manifest.sequence_number)
    if manifest.sequence_number == 0:
        return pc.fill_null(number, inherit)
    added = pc.equal(status, _ADDED)
    return pc.if_else(pc.and_(pc.is_null(number), added), inherit, number)


def check_data_sequence_number(number: Array, status: Array, manifest: ManifestFile) -> None:
    """Raise CorruptFileError for a live file without a data sequence number after inheritance.

    It would be unknown which deletes apply to it.
    """
    if manifest.sequence_number is None or not number.null_count:
        return
    live = pc.not_equal(status, _DELETED)
    if pc.any(pc.and_(pc.is_null(number), live)).as_py():
        raise CorruptFileError(
            f"Manifest {manifest.manifest_path} has existing entries without a data sequence "
            "number; only added ones may inherit it"
        )


def inherited_first_row_id(
    first_row_id: Array, record_count: Array, status: Array, manifest: ManifestFile
) -> Array:
    """Return first row ids: files without one get the next free ones, starting with the manifest's.

    A manifest of an uncommitted snapshot, which is not in any list yet, keeps its own values.
    """
    if manifest.content is not ManifestContent.DATA:
        return first_row_id
    if manifest.first_row_id is None and manifest.sequence_number is None:
        return first_row_id
    if manifest.first_row_id is None:
        return pa.nulls(len(first_row_id), pa.int64())
    live = pc.not_equal(status, _DELETED)
    assigned = pc.and_(pc.is_null(first_row_id), live)
    rows = pc.if_else(assigned, record_count, int_scalar(0))
    counts = to_numpy(rows)
    starts = from_numpy(np.cumsum(counts) - counts + manifest.first_row_id)
    return pc.if_else(assigned, starts, first_row_id)


Columns: TypeAlias = Mapping[str, Any]  # Arrow arrays by name; None for one the file lacks
Key: TypeAlias = Hashable  # path, length, and the store that has it

CACHE_BYTES_VARIABLE = "ICEBERG_SPARK_MANIFEST_CACHE_BYTES"


def add_columns(cache: BoundedCache, key: Key, columns: Columns) -> None:
    """Add columns of a manifest to those that are cached already."""

    def merged(before: Columns | None) -> tuple[Columns, int]:
        merged = {**(before or {}), **columns}
        return merged, sum(array.nbytes for array in merged.values() if array is not None)

    cache.update(key, merged)


MANIFEST_CACHE = BoundedCache(bytes_from_environment(CACHE_BYTES_VARIABLE))
"""Columns of manifests by path, length and store, bounded in bytes of Arrow memory."""


FILES = pa.schema([("file_path", pa.string()), ("content", pa.int32())])
"""A live file of a manifest: its path and `DataFileContent`."""

_STATUS, _PATH, _CONTENT = 0, 100, 134  # field ids (specification: "Manifests")
_RECORDS = (2, 102)  # data_file and its partition


def live_files(manifests: Iterable[tuple[str, bytes]]) -> Iterator[Table]:
    """Yield tables of FILES: the files that manifests, (location, bytes), have added or existing.

    Version 1 manifests have data files only. Raises CorruptFileError, UnsupportedError (codec).
    """
    for table in read_avro_files(
        manifests, columns=frozenset((_STATUS, _PATH, _CONTENT)), inline=_RECORDS
    ):
        column_of = {field_id(field): index for index, field in enumerate(table.schema)}
        if _STATUS not in column_of or _PATH not in column_of:
            raise CorruptFileError("A manifest has entries without status or file_path")
        paths = table.column(column_of[_PATH]).cast(pa.string())
        content = (
            table.column(column_of[_CONTENT]).cast(pa.int32())
            if _CONTENT in column_of
            else pa.repeat(pa.scalar(0, pa.int32()), table.num_rows)
        )
        live = pc.not_equal(table.column(column_of[_STATUS]), _DELETED)
        yield pa.table([paths, content], schema=FILES).filter(live)
