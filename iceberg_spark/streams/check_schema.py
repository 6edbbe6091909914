"""Checks that a stream's columns are unchanged since it was loaded.

A running stream has the columns of its load, because Spark fixes their types. New columns and
renamed ones do not matter.
"""

from __future__ import annotations

from iceberg_spark.errors import InvalidSchemaError
from iceberg_spark.expr.logic import field_ids
from iceberg_spark.scan.context import ScanContext
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.types import ListType, MapType, NestedField, StructType


def check_schema(context: ScanContext, metadata: TableMetadata) -> None:
    """Raise InvalidSchemaError if a column of the stream can no longer be read."""
    schema = context.table_schema
    if metadata.schema == schema:
        return
    read = {number for number in context.read_schema.field_ids if schema.get(number) is not None}
    for number in sorted(read | set(field_ids(context.row_filter))):
        was = schema.get(number)
        if was is not None:
            _check(schema.find_column_name(number) or was.name, was, metadata.schema.get(number))


def _check(name: str, was: NestedField, now: NestedField | None) -> None:
    if now is None:
        raise _changed(f"column '{name}' (field id {was.field_id}) was dropped")
    if not _is_same_type(was, now):
        raise _changed(f"column '{name}' was {was.field_type} and is {now.field_type}")
    if was.required and not now.required:
        raise _changed(f"column '{name}' may be NULL now")


def _is_same_type(was: NestedField, now: NestedField) -> bool:
    """Compares the fields of structs one by one."""
    nested = StructType | ListType | MapType
    if isinstance(was.field_type, nested):
        return type(was.field_type) is type(now.field_type)
    return was.field_type == now.field_type


def _changed(what: str) -> InvalidSchemaError:
    return InvalidSchemaError(
        f"The table's schema changed under a running stream: {what}. Load the stream and start the "
        "query again with the same checkpoint: it continues there, with the new columns"
    )
