"""Manifests read as Arrow tables, entries inherited and typed (specification: "Manifests")."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.arrow.arrays import concat, map_entries, struct_of, validity
from iceberg_spark.arrow.schema import field_id
from iceberg_spark.errors import CorruptFileError, InvalidInputError
from iceberg_spark.formats.avro.columns import read_avro_columns
from iceberg_spark.io.decoding import decoding
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.io.limits import Limits, limits_of
from iceberg_spark.io.servers import stored_at
from iceberg_spark.manifest.cache import MANIFEST_CACHE, ManifestCache
from iceberg_spark.manifest.columns import (
    DATA_FILE_ID,
    ENTRY_COLUMNS,
    PARTITION,
    PARTITION_ID,
    REQUIRED,
    entry_schema,
    partition_arrow_type,
)
from iceberg_spark.manifest.inherit import (
    check_data_sequence_number,
    inherited_first_row_id,
    inherited_sequence_number,
    inherited_snapshot_id,
)
from iceberg_spark.spec.manifest_file import ManifestFile
from iceberg_spark.spec.types import StructType

Array: TypeAlias = Any  # pyarrow ships no types
Table: TypeAlias = Any

_ROWS = "status"  # read always: it gives the number of rows
_TABLE_TYPES = {name: column.type for name, column in ENTRY_COLUMNS.items()}


def read_manifest(
    io: FileIO,
    manifest: ManifestFile,
    partition_type: StructType,
    *,
    columns: Collection[str] | None = None,
    cache: ManifestCache | None = None,
) -> Table:
    """Return a manifest's entries as a table of `columns.ENTRY_COLUMNS`, deleted ones too.

    `columns` selects columns (None: all); the others are not decoded. `partition_type` is
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
    for name in selected:
        if name not in ENTRY_COLUMNS:
            raise InvalidInputError(
                f"Manifests have no column '{name}'; they have: {', '.join(ENTRY_COLUMNS)}"
            )
    return selected


def _decoded(
    io: FileIO,
    manifest: ManifestFile,
    partition_type: StructType,
    needed: set[str],
    cache: ManifestCache,
) -> Mapping[str, Array]:
    """Return the file's columns before inheritance, decoding those that are not cached."""
    ids = {name: ENTRY_COLUMNS[name].field_id for name in needed if name != PARTITION}
    if PARTITION in needed:
        ids |= {_child(field.field_id): field.field_id for field in partition_type.fields}
    path = manifest.manifest_path
    key = path, manifest.manifest_length, stored_at(io, path)
    held = cache.get(key)
    missing = {name: number for name, number in ids.items() if name not in held}
    if not missing:
        return held
    with decoding(path):
        decoded = _decode(io.read_bytes(path), path, missing, limits_of(io.properties))
    cache.put(key, decoded)
    return {**held, **decoded}


def _decode(data: bytes, location: str, ids: Mapping[str, int], limits: Limits) -> dict[str, Array]:
    table = read_avro_columns(
        data,
        location=location,
        columns=frozenset(ids.values()),
        inline=(DATA_FILE_ID, PARTITION_ID),
        limits=limits,
    )
    column_of = {field_id(field): index for index, field in enumerate(table.schema)}
    columns: dict[str, Array] = {}
    for name, number in ids.items():
        if number in column_of:
            columns[name] = _typed(concat(table.column(column_of[number])), name, location)
        elif name in REQUIRED:
            raise CorruptFileError(
                f"{location} is not a manifest: it lacks field {number} ({name})"
            )
        else:
            columns[name] = None
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
    return pa.nulls(rows, ENTRY_COLUMNS[name].type)


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
