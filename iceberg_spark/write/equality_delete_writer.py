"""Equality delete files (specification, "Equality Delete Files")."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import pyarrow as pa

from iceberg_spark.arrow.schema import to_arrow
from iceberg_spark.errors import InvalidInputError
from iceberg_spark.formats.metrics_modes import FULL, metrics_modes
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.spec.data_file import DataFile, DataFileContent
from iceberg_spark.spec.partition import PartitionSpec
from iceberg_spark.spec.properties import DELETE_TARGET_FILE_SIZE_BYTES, int_property
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.types import (
    DoubleType,
    FloatType,
    ListType,
    MapType,
    NestedField,
    StructType,
)
from iceberg_spark.write.context import TaskId, WriteContext
from iceberg_spark.write.delete_files import DELETES, check_takes_deletes, numbers
from iceberg_spark.write.limits import ROWS
from iceberg_spark.write.locations import file_location, file_name
from iceberg_spark.write.open_file import OpenFile, file_shape
from iceberg_spark.write.rolling_files import RollingFiles


def equality_schema(schema: Schema, equality_ids: Collection[int]) -> Schema:
    """Return the columns of a delete file: the keys, nested ones inside their structs.

    Raises InvalidInputError for no key, a key that the table lacks, a float or double (the
    specification forbids them), a struct, or a field inside a list or map.
    """
    if not equality_ids:
        raise InvalidInputError("Equality deletes need at least one key column")
    for field_id in equality_ids:
        _check_key(schema, field_id)
    return Schema(*_pruned(schema.fields, frozenset(equality_ids)))


def _check_key(schema: Schema, field_id: int) -> None:
    column = schema.get(field_id)
    if column is None:
        raise InvalidInputError(f"No column has id {field_id}, so it can't be a key")
    name = schema.find_column_name(field_id)
    if isinstance(column.field_type, FloatType | DoubleType | StructType | ListType | MapType):
        raise InvalidInputError(f"Column '{name}' of type {column.field_type} can't be a key")
    parents = [schema.find_field(above).field_type for above in schema.path_ids(field_id)[:-1]]
    if not all(isinstance(parent, StructType) for parent in parents):
        raise InvalidInputError(f"Column '{name}' is inside a list or map and can't be a key")


def _pruned(fields: Iterable[NestedField], ids: frozenset[int]) -> list[NestedField]:
    remaining = []
    for field in fields:
        if field.field_id in ids:
            remaining.append(field)
        elif isinstance(field.field_type, StructType):
            inner = _pruned(field.field_type.fields, ids)
            if inner:
                pruned = StructType(*inner)
                remaining.append(NestedField(field.field_id, field.name, pruned, field.required))
    return remaining


def write_equality_deletes(
    context: WriteContext,
    io: FileIO,
    keys: Iterable[pa.RecordBatch],
    *,
    equality_ids: Collection[int],
    spec: PartitionSpec,
    partition: tuple[Any, ...],
    task: TaskId,
) -> tuple[DataFile, ...]:
    """Write the keys of deleted rows; batches have `to_arrow(equality_schema(...))`.

    A spec without fields makes the deletes global. Files are rolled at
    `write.delete.target-file-size-bytes`. Raises UnsupportedError for a v1 table,
    InvalidInputError for invalid keys. On any error the written files are deleted.
    """
    files = rolling_equality_deletes(context, io, equality_ids=equality_ids, spec=spec, task=task)
    target = to_arrow(equality_schema(context.schema, equality_ids))
    try:
        for batch in keys:
            if batch.num_rows:
                files.write((), partition, pa.Table.from_batches([batch], target))
        return files.finish()
    except BaseException:
        files.abort()
        raise


def rolling_equality_deletes(
    context: WriteContext,
    io: FileIO,
    *,
    equality_ids: Collection[int],
    spec: PartitionSpec,
    task: TaskId,
) -> RollingFiles:
    """Return the writer of a task's equality deletes under one spec, partition by partition.

    Raises as `write_equality_deletes`; the caller must finish or abort it.
    """
    check_takes_deletes(context)
    schema = equality_schema(context.schema, equality_ids)
    ids = tuple(sorted(equality_ids))
    modes = metrics_modes(schema, context.properties)
    modes.update({key: FULL for key in ids if not modes[key].has_bounds})  # planners prune by keys
    keys_of_footer = {"delete-type": "equality", "delete-field-ids": ",".join(map(str, ids))}
    content = DataFileContent.EQUALITY_DELETES
    shape = file_shape(context, content, context.delete_format, schema, modes, keys_of_footer)

    def open_file(partition: tuple[Any, ...]) -> OpenFile:
        name = file_name(context, task, next(numbers), shape.file_format, DELETES)
        path = file_location(context, spec, context.schema, partition, name)
        entry = {"partition": partition, "partition_spec_id": spec.spec_id, "equality_ids": ids}
        return OpenFile(io, shape, path, sort_order_id=context.sort_order_id, **entry)

    return RollingFiles(
        open_file,
        target_bytes=int_property(context.properties, DELETE_TARGET_FILE_SIZE_BYTES),
        row_group_bytes=ROWS.equality_row_group_bytes,
    )
