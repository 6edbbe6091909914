"""Manifests written from values or from entry tables (specification: "Manifests")."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NotRequired, TypeAlias, TypedDict, Unpack

import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.arrow.arrays import concat, extremes, struct_children
from iceberg_spark.arrow.values import from_array
from iceberg_spark.errors import InvalidInputError
from iceberg_spark.formats.avro.schema import avro_record
from iceberg_spark.formats.avro.writer import write_avro
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.manifest.entries import entry_table
from iceberg_spark.manifest.schemas import (
    BLOCK_SIZE,
    DATA_FILE_ID,
    DEFAULT_BLOCK_SIZE,
    ENTRY_NAME,
    PARTITION,
    PARTITION_ID,
    data_file_struct,
    entry_schema,
    entry_struct,
)
from iceberg_spark.spec.data_file import ManifestEntry, ManifestEntryStatus
from iceberg_spark.spec.format_version import rules_of
from iceberg_spark.spec.manifest_file import FieldSummary, ManifestContent, ManifestFile
from iceberg_spark.spec.partition import PartitionSpec
from iceberg_spark.spec.partition_json import fields_to_json
from iceberg_spark.spec.partition_type import partition_type
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.schema_json import schema_to_dict
from iceberg_spark.spec.types import IcebergType, StructType, UnknownType
from iceberg_spark.spec.values import to_bytes

Table: TypeAlias = Any  # pyarrow ships no types

_CONTENT_TEXT = {ManifestContent.DATA: "data", ManifestContent.DELETES: "deletes"}
_TABLE_NAME = {"sequence_number": "data_sequence_number"}


class ManifestParts(TypedDict):
    """The content of a manifest; see `write_manifest`."""

    format_version: int
    spec: PartitionSpec
    schema: Schema
    content: ManifestContent
    snapshot_id: int | None
    entries: Iterable[ManifestEntry] | Table
    codec: NotRequired[str]
    tuple_type: NotRequired[StructType | None]


def write_manifest(io: FileIO, path: str, **parts: Unpack[ManifestParts]) -> ManifestFile:
    """Write a manifest and return its row for a manifest list, sequence numbers unassigned.

    `entries` are values, or a table of ENTRY_COLUMNS (missing columns are null); statistics and
    bounds are written unchanged. Sequence numbers that are None stay null in the file: they are
    inherited on read, so a retried commit needs no new manifest. An entry without a snapshot id
    gets `snapshot_id`. `tuple_type` is the spec's partition type if `schema` has lost a source
    column. `codec` as in `avro.writer.write_avro`.

    Raises InvalidInputError for delete files in format version 1, for existing or deleted
    entries without a data sequence number, and for values that don't fit the spec.
    """
    table, kind, chunks = _encoded(path, **parts)
    length = 0
    with io.create(path) as out:
        for chunk in chunks:
            length += len(chunk)
            out.write(chunk)
    spec, content, snapshot_id = parts["spec"], parts["content"], parts["snapshot_id"]
    return manifest_file_of(table, path, length, spec, content, snapshot_id, kind)


def manifest_bytes(**parts: Unpack[ManifestParts]) -> int:
    """Return how long a manifest would be; raises as `write_manifest`."""
    return sum(len(chunk) for chunk in _encoded("in the making", **parts)[2])


def _encoded(
    path: str, **parts: Unpack[ManifestParts]
) -> tuple[Table, StructType, Iterator[bytes]]:
    """Return the entries as a table, the type of their tuples, and the file."""
    spec, schema, entries = parts["spec"], parts["schema"], parts["entries"]
    format_version, content = parts["format_version"], parts["content"]
    kind = parts.get("tuple_type") or partition_type(spec, schema)
    provided = entries if isinstance(entries, pa.Table) else entry_table(entries, kind)
    table = _with_snapshot_id(_complete(provided, kind), parts["snapshot_id"])
    _check(table, format_version, content, path)
    avro = avro_record(entry_struct(kind, format_version), ENTRY_NAME)
    chunks = write_avro(
        avro,
        _flat(table, kind, format_version),
        metadata=_metadata(spec, schema, format_version, content),
        codec=parts.get("codec", "gzip"),
        inline=(DATA_FILE_ID, PARTITION_ID),
    )
    return table, kind, chunks


def manifest_file_of(
    table: Table,
    path: str,
    length: int,
    spec: PartitionSpec,
    content: ManifestContent,
    snapshot_id: int | None,
    kind: StructType,
) -> ManifestFile:
    """Return the manifest list row of a manifest with these entries; `length` is bytes."""
    added = count(table, ManifestEntryStatus.ADDED)
    existing = count(table, ManifestEntryStatus.EXISTING)
    deleted = count(table, ManifestEntryStatus.DELETED)
    return ManifestFile(
        manifest_path=path,
        manifest_length=length,
        partition_spec_id=spec.spec_id,
        content=content,
        min_sequence_number=min_data_sequence_number(table),
        added_snapshot_id=snapshot_id,
        added_files_count=added.files,
        existing_files_count=existing.files,
        deleted_files_count=deleted.files,
        added_rows_count=added.rows,
        existing_rows_count=existing.rows,
        deleted_rows_count=deleted.rows,
        partitions=field_summaries(table, kind),
    )


def _complete(table: Table, kind: StructType) -> Table:
    """Bring a table to the columns and types of ENTRY_COLUMNS."""
    schema = entry_schema(kind)
    arrays = []
    for field in schema:
        if field.name not in table.column_names:
            arrays.append(pa.nulls(table.num_rows, field.type))
            continue
        array = concat(table.column(field.name))
        if array.type != field.type:
            raise InvalidInputError(
                f"Column {field.name} of the entries is {array.type}, not {field.type}"
            )
        arrays.append(array)
    return pa.Table.from_arrays(arrays, schema=schema)


def _with_snapshot_id(table: Table, snapshot_id: int | None) -> Table:
    if snapshot_id is None:
        return table
    index = table.column_names.index("snapshot_id")
    filled = pc.fill_null(table.column(index), pa.scalar(snapshot_id, pa.int64()))
    return table.set_column(index, "snapshot_id", filled)


def _check(table: Table, format_version: int, content: ManifestContent, path: str) -> None:
    if not rules_of(format_version).has_delete_files:
        if content is ManifestContent.DELETES:
            raise InvalidInputError(f"Manifest {path}: tables of format version 1 have no deletes")
        return
    unknown = pc.and_(
        pc.not_equal(table.column("status"), int(ManifestEntryStatus.ADDED)),
        pc.is_null(table.column("data_sequence_number")),
    )
    if pc.any(unknown, min_count=0).as_py():
        raise InvalidInputError(
            f"Manifest {path}: existing and deleted entries need their data sequence number; "
            "only added ones inherit it"
        )


def _flat(table: Table, kind: StructType, format_version: int) -> Table:
    """Return the columns in the order of the Avro schema, including the partition fields."""
    arrays: list[Any] = []
    names: list[str] = []
    for field in entry_struct(kind, format_version).fields:
        inner = data_file_struct(kind, format_version).fields
        for member in inner if field.field_id == DATA_FILE_ID else (field,):
            name = _TABLE_NAME.get(member.name, member.name)
            if name == PARTITION:
                tuples = concat(table.column(name))
                arrays += struct_children(tuples)
                names += [f"{PARTITION}.{child.field_id}" for child in kind.fields]
            elif name == BLOCK_SIZE:
                arrays.append(pa.repeat(pa.scalar(DEFAULT_BLOCK_SIZE, pa.int64()), table.num_rows))
                names.append(name)
            elif name == "content":
                arrays.append(pc.fill_null(concat(table.column(name)), 0))
                names.append(name)
            else:
                arrays.append(concat(table.column(name)))
                names.append(name)
    return pa.Table.from_arrays(arrays, names=names)


def _metadata(
    spec: PartitionSpec, schema: Schema, format_version: int, content: ManifestContent
) -> dict[str, str]:
    out = {
        "schema": _json(schema_to_dict(schema)),
        "schema-id": str(schema.schema_id),
        "partition-spec": _json(fields_to_json(spec)),
        "partition-spec-id": str(spec.spec_id),
        "format-version": str(format_version),
    }
    if rules_of(format_version).has_sequence_numbers:
        out["content"] = _CONTENT_TEXT[content]
    return out


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


Array: TypeAlias = Any  # pyarrow ships no types


@dataclass(frozen=True, slots=True)
class Count:
    """Files and rows of one status."""

    files: int
    rows: int


def count(entries: Table, status: ManifestEntryStatus) -> Count:
    """Return how many files and rows the entries of a status have."""
    rows = entries.column("record_count").filter(pc.equal(entries.column("status"), int(status)))
    return Count(len(rows), int(pc.sum(rows, min_count=0).as_py()))


def min_data_sequence_number(entries: Table) -> int | None:
    """Return the least data sequence number of live entries that have one.

    None means that all inherit: then the manifest's own sequence number is the least.
    """
    live = pc.not_equal(entries.column("status"), int(ManifestEntryStatus.DELETED))
    least = pc.min(entries.column("data_sequence_number").filter(live)).as_py()
    return None if least is None else int(least)


def field_summaries(entries: Table, partition_type: StructType) -> tuple[FieldSummary, ...]:
    """Return the summary of each partition field over all entries, also deleted ones (as Java)."""
    tuples = concat(entries.column("partition"))
    return tuple(
        field_summary(tuples.field(index), field.field_type)
        for index, field in enumerate(partition_type.fields)
    )


def field_summary(values: Array, kind: IcebergType) -> FieldSummary:
    """Return nulls, NaNs and bounds of one partition field (specification: "Manifest Lists")."""
    floating = pa.types.is_floating(values.type)
    nan = pc.fill_null(pc.is_nan(values), False) if floating else None
    contains_nan = bool(nan is not None and pc.any(nan, min_count=0).as_py())
    present = values.filter(pc.invert(nan)).drop_null() if contains_nan else values.drop_null()
    contains_null = values.null_count > 0
    if not len(present) or isinstance(kind, UnknownType):
        return FieldSummary(contains_null, contains_nan)
    return FieldSummary(contains_null, contains_nan, *_bounds(kind, present))


def _bounds(kind: IcebergType, values: Array) -> list[bytes]:
    if pa.types.is_floating(values.type):
        ends = extremes(values)
    else:
        ends = tuple(pc.min_max(values).values())  # Python has no dates beyond the year 9999
    return [to_bytes(kind, value) for value in from_array(kind, pa.array(ends, values.type))]
