"""ALTER TABLE: calls the table's builders for a statement; one commit."""

from __future__ import annotations

import re

from pyspark.sql import DataFrame, SparkSession

from iceberg_spark.api.statements.acting_properties import apply_properties
from iceberg_spark.api.statements.answers import nothing
from iceberg_spark.api.statements.column_changes import change_columns
from iceberg_spark.api.statements.reference_changes import change_reference
from iceberg_spark.api.statements.target import (
    Name,
    Target,
    check_new_name,
    new_target,
    target,
)
from iceberg_spark.api.table import Table
from iceberg_spark.api.transaction import TableTransaction
from iceberg_spark.catalog.chosen_location import moved_location
from iceberg_spark.commits.commit import commit
from iceberg_spark.commits.metadata_changes import SetTableLocation
from iceberg_spark.errors import InvalidInputError
from iceberg_spark.spark.session.active_session import is_case_sensitive
from iceberg_spark.spark.sql.statements.alter_table import (
    AddPartitionField,
    AlterTable,
    Change,
    DropPartitionField,
    RenameTable,
    ReplacePartitionField,
    SetLocation,
    SetProperties,
    UnsetProperties,
    WriteOrder,
)
from iceberg_spark.spark.sql.statements.references import RefChange
from iceberg_spark.spec.properties import WRITE_DISTRIBUTION_MODE
from iceberg_spark.spec.transforms import IdentityTransform

_QUOTED = re.compile(r"`((?:[^`]|``)+)`")


def alter_table(spark: SparkSession, statement: AlterTable) -> DataFrame:
    """Change a table's definition. Raises NoSuchTableError, InvalidSchemaError."""
    match statement.changes:
        case (RenameTable(name),):
            _rename(spark, statement.table, name)
        case (SetLocation(location),):
            _move(target(spark, statement.table), location)
        case (RefChange() as reference,):
            change_reference(target(spark, statement.table).whole_table(), reference)
        case changes:
            table, case = target(spark, statement.table).whole_table(), is_case_sensitive(spark)
            with table.transaction() as tx:
                change_columns(spark, tx, table.schema(), changes)
                for change in changes:
                    _apply(tx, table, change, case)
    return nothing(spark)


def _field(table: Table, text: str, case: bool) -> str:
    """Return the name of the partition field that a name, or a term, stands for.

    A column's name stands for its identity transform, whatever fields are called (Java:
    DropPartitionFieldExec). A field keeps its name when its column is renamed. Raises
    InvalidInputError for a column without such a field.
    """
    name = _unquoted(text)
    source_id = table.schema().find_id(name, case_sensitive=case)
    if source_id is None:
        return name
    for part in table.spec().fields:
        if part.source_id == source_id and isinstance(part.transform, IdentityTransform):
            return part.name
    raise InvalidInputError(
        f"The table is not partitioned by column '{name}' as it is, but by {table.spec()}: name a "
        "field, or what it is made of, as days(ts)"
    )


def _rename(spark: SparkSession, old: Name, new: Name) -> None:
    """Rename within a catalog; the new name may leave the catalog out, as Spark allows.

    A new name alone is of the old one's namespace.
    """
    old_target = new_target(spark, old)
    if len(new) == 1:
        new = (*old[:-1], *new)
    full = new if new[0] == old[0] else (old[0], *new)
    listed = old_target.catalog.namespaces
    if listed is None:
        raise InvalidInputError(f"Tables of '{old[0]}' can't be renamed")
    check_new_name(full)
    listed.rename_table(old_target.identifier, new_target(spark, full).identifier)


def _move(table_target: Target, location: str) -> None:
    """Change the location of new files; existing files are not moved."""
    table_target.whole_table()
    catalog, base = table_target.catalog, table_target.catalog.load(table_target.identifier)
    there = moved_location(catalog, base, location)
    commit(catalog, table_target.identifier, SetTableLocation(there), base)


def _apply(tx: TableTransaction, table: Table, change: Change, case: bool) -> None:
    """Add what is about no column."""
    match change:
        case AddPartitionField(text):
            tx.update_spec(case_sensitive=case).add_field(text).commit()
        case DropPartitionField(text):
            tx.update_spec(case_sensitive=case).remove_field(_field(table, text, case)).commit()
        case ReplacePartitionField(old, new):
            update = tx.update_spec(case_sensitive=case).remove_field(_field(table, old, case))
            update.add_field(new).commit()
        case WriteOrder():
            _write_order(tx, change, case)
        case SetProperties(properties):
            apply_properties(tx, properties)
        case UnsetProperties(keys):
            tx.set_properties({}, keys)
        case _:
            return


def _unquoted(field: str) -> str:
    """Return a partition field's name that stands in backticks without them."""
    quoted = _QUOTED.fullmatch(field)
    return field if quoted is None else quoted[1].replace("``", "`")


def _write_order(tx: TableTransaction, order: WriteOrder, case: bool) -> None:
    """Set order and distribution as Java does (SetWriteDistributionAndOrderingExec)."""
    update = tx.update_sort_order(case_sensitive=case)
    for field in order.sort_by:
        update.add_field(field)
    update.commit()
    if order.distribution is not None:
        tx.set_properties({WRITE_DISTRIBUTION_MODE: order.distribution})
