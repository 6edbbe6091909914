"""`position_deletes`: the rows of position delete files and of deletion vectors.

Source: Java's PositionDeletesTable.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.arrow.arrays import batch_of, struct_of
from iceberg_spark.arrow.file_fields import Path
from iceberg_spark.arrow.schema import to_arrow, to_arrow_type
from iceberg_spark.arrow.values import to_array
from iceberg_spark.inspect.schemas import PARTITION, SPEC_ID
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.manifest.entries import data_files
from iceberg_spark.manifest.manifest_list import read_manifest_list
from iceberg_spark.read.deletion_vectors import vector_positions
from iceberg_spark.read.projected_rows import projected_rows
from iceberg_spark.scan.entry_tables import entry_tables
from iceberg_spark.scan.planned_files import position_delete
from iceberg_spark.scan.task import DeleteFile
from iceberg_spark.spec import reserved
from iceberg_spark.spec.data_file import DataFileContent, ManifestEntryStatus
from iceberg_spark.spec.manifest_file import ManifestContent
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.partition_type import partition_type
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.snapshot import Snapshot
from iceberg_spark.spec.types import NestedField, StructType

_COLUMNS = (
    "status", "content", "file_path", "file_format", "partition", "record_count",
    "file_size_in_bytes", "data_sequence_number", "referenced_data_file",
    "content_offset", "content_size_in_bytes",
)  # fmt: skip
_NAMES: Mapping[Path, int] = {
    (reserved.DELETE_FILE_PATH.name,): reserved.DELETE_FILE_PATH_ID,
    (reserved.DELETE_FILE_POS.name,): reserved.DELETE_FILE_POS_ID,
    ("row",): reserved.DELETE_FILE_ROW_ID,
}
"""Field ids by name, for files without field ids."""
_OF_FILE = (PARTITION, SPEC_ID, "delete_file_path", "content_offset", "content_size_in_bytes")


@dataclass(frozen=True, slots=True)
class PositionDeleteFile:
    """A position delete file and its partition: canonical values by partition field id."""

    file: DeleteFile
    partition: Mapping[int, Any]


def position_delete_files(
    metadata: TableMetadata, io: FileIO, snapshot: Snapshot | None
) -> list[PositionDeleteFile]:
    """Return the live position delete files of a snapshot; all of them are held in memory."""
    if snapshot is None:
        return []
    former = metadata.schemas.values()
    kinds = {
        spec_id: partition_type(spec, metadata.schema, former)
        for spec_id, spec in metadata.partition_specs.items()
    }
    manifests = [
        manifest
        for manifest in read_manifest_list(io, snapshot, metadata)
        if manifest.content is ManifestContent.DELETES and manifest.may_have_live_files
    ]
    delete_files = []
    tables = entry_tables(io, manifests, kinds, _COLUMNS)
    for manifest, entries in zip(manifests, tables, strict=True):
        kind = kinds[manifest.partition_spec_id]
        for file in data_files(_live(entries), manifest.partition_spec_id, kind):
            ids = (field.field_id for field in kind.fields)
            delete_files.append(
                PositionDeleteFile(
                    position_delete(file), dict(zip(ids, file.partition, strict=True))
                )
            )
    return delete_files


def _live(entries: pa.Table) -> pa.Table:
    live = pc.not_equal(entries.column("status"), ManifestEntryStatus.DELETED.value)
    of_kind = pc.equal(entries.column("content"), DataFileContent.POSITION_DELETES.value)
    return entries.filter(pc.and_(live, of_kind))


def deleted_rows(
    io: FileIO, delete: PositionDeleteFile, read_schema: Schema, partition_ids: Mapping[str, int]
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a delete file as batches of exactly `read_schema`.

    `partition_ids` maps partition names to field ids. `row` is null for deletion vectors and for
    files that do not store the deleted rows.

    Raises:
        NoSuchFileError: the delete file does not exist.
        CorruptFileError: the delete file cannot be decoded; the message names it.
    """
    file = delete.file
    schema = to_arrow(read_schema)
    columns = [field for field in read_schema.fields if field.name not in _OF_FILE]
    constants = _constants(delete, read_schema, partition_ids)
    columns_to_read = columns or [reserved.DELETE_FILE_POS]  # read a column to count the rows
    read_rows = _vector_rows if file.is_vector else _file_rows
    for batch in read_rows(io, file, columns_to_read):
        rows = batch.num_rows
        arrays = [
            pa.repeat(constants[field.name], rows)
            if field.name in constants
            else batch.column(field.name)
            for field in read_schema.fields
        ]
        yield batch_of(rows, arrays, schema)


def _file_rows(
    io: FileIO, file: DeleteFile, columns: Sequence[NestedField]
) -> Iterator[pa.RecordBatch]:
    return projected_rows(io, file, columns, _NAMES)


def _vector_rows(
    io: FileIO, file: DeleteFile, fields: Sequence[NestedField]
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a deletion vector as a position delete file would have them."""
    schema = to_arrow(Schema(*fields))
    path = pa.scalar(file.referenced_data_file, pa.string())
    for positions in vector_positions(io, file):
        rows = len(positions)
        columns = {
            reserved.DELETE_FILE_PATH.name: pa.repeat(path, rows),
            reserved.DELETE_FILE_POS.name: pa.array(positions),
        }
        arrays = [columns.get(field.name, pa.nulls(rows, field.type)) for field in schema]
        yield batch_of(rows, arrays, schema)


def _constants(
    delete: PositionDeleteFile, read_schema: Schema, partition_ids: Mapping[str, int]
) -> dict[str, pa.Scalar]:
    file = delete.file
    constants = {
        SPEC_ID: pa.scalar(file.spec_id, pa.int32()),
        "delete_file_path": pa.scalar(file.file_path, pa.string()),
        "content_offset": pa.scalar(file.content_offset, pa.int64()),
        "content_size_in_bytes": pa.scalar(file.content_size_in_bytes, pa.int64()),
    }
    for field in read_schema.fields:
        if field.name == PARTITION and isinstance(field.field_type, StructType):
            constants[PARTITION] = _tuple(delete.partition, field.field_type, partition_ids)
    return constants


def _tuple(
    values: Mapping[int, Any], kind: StructType, partition_ids: Mapping[str, int]
) -> pa.Scalar:
    """Return the partition as one struct; fields that the file's spec lacks are null."""
    children = [
        to_array(field.field_type, [values.get(partition_ids[field.name])]) for field in kind.fields
    ]
    return struct_of(1, children, to_arrow_type(kind))[0]
