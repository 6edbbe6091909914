"""ALTER TABLE's changes of columns, as one change of the schema."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from pyspark.sql import SparkSession

from iceberg_spark.api.schema_input import as_type
from iceberg_spark.api.statements.column_types import column_type, defaults_of
from iceberg_spark.api.transaction import TableTransaction
from iceberg_spark.api.update_schema import UpdateSchema
from iceberg_spark.errors import InvalidInputError
from iceberg_spark.spark.session.active_session import is_case_sensitive
from iceberg_spark.spark.sql.statements.alter_table import (
    AddColumns,
    AlterColumn,
    Change,
    DropColumns,
    IdentifierFields,
    RenameColumn,
)
from iceberg_spark.spark.sql.statements.columns import Column, ColumnPosition
from iceberg_spark.spec.schema import Schema

Path: TypeAlias = tuple[str, ...]
ColumnChange: TypeAlias = AddColumns | DropColumns | RenameColumn | AlterColumn | IdentifierFields


def change_columns(
    spark: SparkSession, tx: TableTransaction, schema: Schema, changes: Sequence[Change]
) -> None:
    """Add the changes that are about columns of `schema`. Raises InvalidSchemaError."""
    of_columns = [change for change in changes if isinstance(change, ColumnChange)]
    if not of_columns:
        return
    case = is_case_sensitive(spark)
    update = tx.update_schema(case_sensitive=case)
    for change in of_columns:
        match change:
            case AddColumns(columns):
                for column in columns:
                    _add(spark, update, column)
            case DropColumns():
                _drop(update, schema, change, case)
            case RenameColumn(path, name):
                update.rename_column(path, name)
            case AlterColumn():
                _alter(spark, update, schema, change)
            case IdentifierFields():
                _identify(update, schema, change)
    update.commit()


def _drop(update: UpdateSchema, schema: Schema, change: DropColumns, case: bool) -> None:
    for path in change.paths:
        if change.if_exists and schema.find_id(".".join(path), case_sensitive=case) is None:
            continue
        update.delete_column(path)


def _add(spark: SparkSession, update: UpdateSchema, column: Column) -> None:
    kind, default = column_type(spark, column.type), None
    if column.default is not None:
        meant = as_type(kind, column.path[-1], format_version=3)
        (default,) = defaults_of(spark, [(column.default, meant)])
    update.add_column(column.path, kind, column.comment, column.required, default_value=default)
    _move(update, column.path, column.position)


def _alter(spark: SparkSession, update: UpdateSchema, schema: Schema, change: AlterColumn) -> None:
    kind = None if change.type is None else column_type(spark, change.type)
    if kind is not None or change.comment is not None or change.required is not None:
        update.update_column(change.path, kind, change.comment, change.required)
    if change.default is not None:
        field_id = schema.find_id(".".join(change.path), case_sensitive=is_case_sensitive(spark))
        there = None if field_id is None else schema.find_field(field_id).field_type
        value = defaults_of(spark, [(change.default, there)])[0] if change.default else None
        update.set_default_value(change.path, value)
    _move(update, change.path, change.position)


def _move(update: UpdateSchema, path: Path, position: ColumnPosition | None) -> None:
    if position is None:
        return
    if position.after is None:
        update.move_first(path)
    else:
        update.move_after(path, (*path[:-1], position.after))


def _identify(update: UpdateSchema, schema: Schema, change: IdentifierFields) -> None:
    named = [".".join(path) for path in change.paths]
    if change.set:
        update.set_identifier_fields(*named)
        return
    there = [str(schema.find_column_name(field_id)) for field_id in schema.identifier_field_ids]
    for name in named:
        if name not in there:
            raise InvalidInputError(
                f"'{name}' is no identifier field; those are: {', '.join(there) or 'none'}"
            )
    update.set_identifier_fields(*(name for name in there if name not in named))
