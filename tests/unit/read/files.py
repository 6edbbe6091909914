"""Data and delete files written plainly, and a scan over one of them."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import fastavro
import numpy as np
import pyarrow as pa
import pyarrow.orc as po
import pyarrow.parquet as pq

from iceberg_spark.arrow.position_set import PositionSet
from iceberg_spark.arrow.schema import FIELD_ID, to_arrow
from iceberg_spark.bounded_cache import BoundedCache
from iceberg_spark.errors import IcebergError
from iceberg_spark.formats.open_file import open_data_file
from iceberg_spark.formats.puffin.deletion_vector import vector_blob
from iceberg_spark.formats.puffin.write_puffin import write_puffin
from iceberg_spark.io.fsspec_io import FsspecIO
from iceberg_spark.read.task_reader import read_task
from iceberg_spark.scan.context import ScanContext
from iceberg_spark.scan.task import DeleteFile, FileScanTask
from iceberg_spark.spec import reserved
from iceberg_spark.spec.data_file import DataFileContent, FileFormat
from iceberg_spark.spec.partition import UNPARTITIONED
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.types import (
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    NestedField,
    StringType,
)

IO = FsspecIO()
PATHS = Schema(reserved.DELETE_FILE_PATH, reserved.DELETE_FILE_POS)
_AVRO = {
    LongType: "long",
    IntegerType: "int",
    StringType: "string",
    DoubleType: "double",
    FloatType: "float",
}
Rows = Sequence[Mapping[str, Any]] | pa.Table


def write(
    path: Path,
    schema: Schema,
    rows: Rows,
    file_format: FileFormat = FileFormat.PARQUET,
    **rest: Any,
) -> str:
    """Write rows with field ids; ORC keeps them as attributes, Avro as properties."""
    arrow = to_arrow(schema)
    table = rows if isinstance(rows, pa.Table) else pa.Table.from_pylist(list(rows), schema=arrow)
    path.parent.mkdir(parents=True, exist_ok=True)
    match file_format:
        case FileFormat.PARQUET:
            pq.write_table(table, path, **rest)
        case FileFormat.ORC:
            po.write_table(table.cast(_orc_schema(table.schema)), str(path), **rest)
        case _:
            fields = [_avro_field(field) for field in schema.fields]
            with path.open("wb") as out:
                record = {"type": "record", "name": "table", "fields": fields}
                fastavro.writer(out, record, table.to_pylist(), **rest)
    return str(path)


def _orc_schema(schema: pa.Schema) -> pa.Schema:
    return pa.schema(
        [field.with_metadata({"iceberg.id": field.metadata[FIELD_ID]}) for field in schema]
    )


def _avro_field(field: NestedField) -> dict[str, Any]:
    kind = _AVRO[type(field.field_type)]
    shown = kind if field.required else ["null", kind]
    return {"name": field.name, "type": shown, "field-id": field.field_id}


def context(table: Schema, read: Schema | None = None, **rest: Any) -> ScanContext:
    members: dict[str, Any] = {
        "table_location": "/t",
        "snapshot_id": 1,
        "format_version": 2,
        "table_schema": table,
        "read_schema": table if read is None else read,
        "specs": {0: UNPARTITIONED},
    }
    return ScanContext(**(members | rest))


def row_count(path: str, file_format: FileFormat) -> int:
    """Count the rows of a file; 1 for what is none."""
    if not IO.exists(path):
        return 1
    try:
        with open_data_file(IO, path, file_format) as file:
            return file.rows
    except IcebergError:
        return 1


def task(path: str, file_format: FileFormat = FileFormat.PARQUET, **rest: Any) -> FileScanTask:
    size = IO.size(path) if IO.exists(path) else 100
    members: dict[str, Any] = {
        "file_path": path,
        "file_format": file_format,
        "spec_id": 0,
        "partition": (),
        "record_count": row_count(path, file_format),
        "file_size_in_bytes": size,
        "data_sequence_number": 1,
        "start": 0,
        "length": size,
    }
    return FileScanTask(**(members | rest))


def delete_file(path: str, content: DataFileContent, **rest: Any) -> DeleteFile:
    members: dict[str, Any] = {
        "content": content,
        "file_path": path,
        "file_format": FileFormat.PARQUET,
        "file_size_in_bytes": IO.size(path) if IO.exists(path) else 100,
        "record_count": row_count(path, rest.get("file_format", FileFormat.PARQUET)),
        "data_sequence_number": 2,
        "spec_id": 0,
    }
    return DeleteFile(**(members | rest))


def position_deletes(path: Path, pairs: Sequence[tuple[str, int]], **rest: Any) -> DeleteFile:
    """Write a position delete file of (data file, position) pairs."""
    file_format = rest.get("file_format", FileFormat.PARQUET)
    options = rest.pop("options", {})
    rows = [{"file_path": where, "pos": pos} for where, pos in pairs]
    made = write(path, PATHS, rows, file_format, **options)
    return delete_file(made, DataFileContent.POSITION_DELETES, **rest)


def vectors(path: Path, deleted: Mapping[str, Sequence[int]], **rest: Any) -> list[DeleteFile]:
    """Write the deletion vectors of some data files to one Puffin file."""
    sets = {name: PositionSet.from_positions(np.array(each)) for name, each in deleted.items()}
    path.unlink(missing_ok=True)
    file = write_puffin(IO, str(path), [vector_blob(each, name) for name, each in sets.items()])
    return [
        delete_file(
            str(path),
            DataFileContent.POSITION_DELETES,
            **{
                "file_format": FileFormat.PUFFIN,
                "record_count": sets[name].count,
                "referenced_data_file": name,
                "content_offset": blob.offset,
                "content_size_in_bytes": blob.length,
                **rest,
            },
        )
        for name, blob in zip(sets, file.blobs, strict=True)
    ]


def equality_deletes(
    path: Path, schema: Schema, rows: Rows, ids: Sequence[int] | None = None, **rest: Any
) -> DeleteFile:
    """Write an equality delete file; all its columns are keys unless `ids` says which."""
    made = write(path, schema, rows, rest.get("file_format", FileFormat.PARQUET))
    keys = tuple(ids) if ids is not None else tuple(f.field_id for f in schema.fields)
    return delete_file(made, DataFileContent.EQUALITY_DELETES, equality_ids=keys, **rest)


def read(scan: ScanContext, one: FileScanTask, cache: BoundedCache | None = None) -> pa.Table:
    """Read a task whole with a cache of its own; every batch has the promised schema."""
    expected = to_arrow(scan.read_schema)
    batches = list(read_task(scan, IO, one, cache or BoundedCache()))
    for batch in batches:
        batch.validate(full=True)
        assert batch.schema.equals(expected, check_metadata=True)
        assert [column.type for column in batch.columns] == expected.types
        assert batch.num_rows <= scan.batch_rows
    return pa.Table.from_batches(batches, expected)


def name_mapping(*fields: tuple[int, str]) -> str:
    return json.dumps([{"field-id": number, "names": [name]} for number, name in fields])
