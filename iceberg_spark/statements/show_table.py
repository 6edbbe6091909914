"""SHOW and DESCRIBE of a table, a part of it, or a view of its name."""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from iceberg_spark.errors import NoSuchNamespaceError, NoSuchTableError
from iceberg_spark.inspect.names import MetadataTable
from iceberg_spark.inspect.schemas import PARTITION
from iceberg_spark.spark.sql.query import plan_query
from iceberg_spark.spark.sql.statements.listings import (
    DescribeTable,
    ShowColumns,
    ShowCreateTable,
    ShowProperties,
)
from iceberg_spark.spec.quoted_name import quote
from iceberg_spark.statements import describe_table, views
from iceberg_spark.statements.answers import rows_of
from iceberg_spark.statements.describe_table import PARTITION_TITLES, Row, column_rows
from iceberg_spark.statements.target import table_above


def show_table(
    spark: SparkSession, command: DescribeTable | ShowCreateTable | ShowProperties | ShowColumns
) -> DataFrame:
    """Show a table or a part of one, or the view of that name if there is no such table."""
    part = show_table_part(spark, command)
    if part is not None:
        return part
    command = as_table_command(spark, command)
    try:
        match command:
            case DescribeTable():
                return describe_table.describe_table(spark, command)
            case ShowCreateTable():
                return describe_table.show_create_table(spark, command)
            case ShowProperties():
                return describe_table.show_properties(spark, command)
            case ShowColumns():
                return describe_table.show_columns(spark, command)
    except (NoSuchTableError, NoSuchNamespaceError):
        view = views.view_at(spark, command.table)
        if view is None:
            raise
        return views.show_view(spark, command, view)


_BRANCH = "branch_"
ShowCommand = DescribeTable | ShowCreateTable | ShowProperties | ShowColumns


def show_table_part(spark: SparkSession, command: ShowCommand) -> DataFrame | None:
    """Show the columns of a metadata table or of a tag; None for all other names.

    They are the columns of a query of it, as in Java, which loads it as a table.
    """
    is_known = isinstance(command, ShowColumns | DescribeTable)
    if not is_known or _is_branch(command) or table_above(spark, command.table) is None:
        return None
    columns = _read(spark, command).schema
    match command:
        case ShowColumns():
            return rows_of(spark, "col_name string", [(field.name,) for field in columns.fields])
        case DescribeTable(column=None):
            rows = column_rows(columns) + _partitioning(command.table[-1], columns)
            return rows_of(spark, "col_name string, data_type string, comment string", rows)
        case _:
            return None


def _partitioning(name: str, columns: StructType) -> list[Row]:
    """Return DESCRIBE's rows of partitions, which Java's table of position deletes has."""
    if name.lower() != MetadataTable.POSITION_DELETES:
        return []
    parts = next((field.dataType for field in columns.fields if field.name == PARTITION), None)
    if not isinstance(parts, StructType):
        return []
    named = [(f"{PARTITION}.{name}", kind, comment) for name, kind, comment in column_rows(parts)]
    return [*PARTITION_TITLES, *named]


def as_table_command(spark: SparkSession, command: ShowCommand) -> ShowCommand:
    """Return a command on a branch as one on its table, which has the same columns.

    Raises NoSuchSnapshotError if there is no such branch.
    """
    if isinstance(command, ShowCreateTable) or not _is_branch(command):
        return command
    if table_above(spark, command.table) is None:
        return command
    _read(spark, command)
    return replace(command, table=command.table[:-1])


def _is_branch(command: ShowCommand) -> bool:
    return command.table[-1].startswith(_BRANCH)


def _read(spark: SparkSession, command: ShowCommand) -> DataFrame:
    text = f"SELECT * FROM {'.'.join(map(quote, command.table))}"  # noqa: S608 (quoted)
    return plan_query(spark, text).frame(spark)
