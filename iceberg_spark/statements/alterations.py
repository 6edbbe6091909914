"""ALTER TABLE: calls the table's builders for a statement; one commit."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeAlias

from pyspark.sql import DataFrame, SparkSession

from iceberg_spark.api.manage_snapshots import ManageSnapshots
from iceberg_spark.api.schema_input import as_type
from iceberg_spark.api.table import Table
from iceberg_spark.api.transaction import TableTransaction
from iceberg_spark.api.update_schema import UpdateSchema
from iceberg_spark.catalog.chosen_location import moved_location
from iceberg_spark.commits.commit import commit
from iceberg_spark.commits.metadata_changes import SetTableLocation
from iceberg_spark.errors import InvalidInputError, InvalidSchemaError
from iceberg_spark.spark.session.active_session import is_case_sensitive
from iceberg_spark.spark.session.error_conditions import (
    COLUMN_ALREADY_EXISTS,
    FIELD_NOT_FOUND,
    INVALID_FIELD_NAME,
    UNRESOLVED_COLUMN,
    UNSUPPORTED_COLUMN_CHANGE,
    UPDATED_ARRAY,
    UPDATED_MAP,
    UPDATED_STRUCT,
    ErrorCondition,
    with_condition,
)
from iceberg_spark.spark.sql.statements.alter_table import (
    AddColumns,
    AddPartitionField,
    AlterColumn,
    AlterTable,
    Change,
    DropColumns,
    DropPartitionField,
    IdentifierFields,
    RenameColumn,
    RenameTable,
    ReplaceColumns,
    ReplacePartitionField,
    SetLocation,
    SetProperties,
    UnsetProperties,
    WriteOrder,
)
from iceberg_spark.spark.sql.statements.columns import Column, ColumnPosition
from iceberg_spark.spark.sql.statements.references import RefChange
from iceberg_spark.spec import types as t
from iceberg_spark.spec.properties import WRITE_DISTRIBUTION_MODE
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.transforms import IdentityTransform
from iceberg_spark.spec.types import IcebergType
from iceberg_spark.statements.acting_properties import apply_properties
from iceberg_spark.statements.answers import nothing
from iceberg_spark.statements.column_types import ColumnDefault, column_type, defaults_of
from iceberg_spark.statements.target import (
    Name,
    Target,
    check_new_name,
    new_target,
    target,
)

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


def change_reference(table: Table, change: RefChange) -> None:
    """Carry out one change of a branch or tag.

    Raises NoSuchSnapshotError, InvalidInputError if it exists already or does not exist.
    """
    there = change.name in table.refs()
    builder = table.manage_snapshots()
    if change.drops:
        if there or not change.if_exists:
            _drop(builder, change)
        return
    if there and change.if_not_exists:
        return
    if change.replaces and (there or not change.creates):
        _replace(builder, change, _snapshot(table, change))
    else:
        _create(builder, change, _snapshot_or_none(table, change))


def _drop(builder: ManageSnapshots, change: RefChange) -> None:
    remove = builder.remove_branch if change.kind == "branch" else builder.remove_tag
    remove(change.name).commit()


def _snapshot_or_none(table: Table, change: RefChange) -> int | None:
    current = table.current_snapshot()
    if change.snapshot_id is not None or current is None:
        return change.snapshot_id
    return current.snapshot_id


def _snapshot(table: Table, change: RefChange) -> int:
    snapshot_id = _snapshot_or_none(table, change)
    if snapshot_id is None:
        raise InvalidInputError(
            f"The table has no snapshot for {change.kind} '{change.name}': write rows first"
        )
    return snapshot_id


def _replace(builder: ManageSnapshots, change: RefChange, snapshot_id: int) -> None:
    if change.kind == "tag":
        builder.replace_tag(snapshot_id, change.name, change.max_ref_age_ms).commit()
    else:
        builder.replace_branch(snapshot_id, change.name, *_retention(change)).commit()


def _create(builder: ManageSnapshots, change: RefChange, snapshot_id: int | None) -> None:
    if change.kind == "tag":
        builder.create_tag(snapshot_id, change.name, change.max_ref_age_ms).commit()
    else:
        builder.create_branch(snapshot_id, change.name, *_retention(change)).commit()


def _retention(change: RefChange) -> tuple[int | None, int | None, int | None]:
    """Return a branch's retention in the order of the builder's arguments."""
    return change.max_ref_age_ms, change.max_snapshot_age_ms, change.min_snapshots_to_keep


Path: TypeAlias = tuple[str, ...]
ColumnChange: TypeAlias = (
    AddColumns | ReplaceColumns | DropColumns | RenameColumn | AlterColumn | IdentifierFields
)


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
        with conditions_of_change(schema, change, _new_type(spark, change), case_sensitive=case):
            _change_column(spark, update, schema, change)
    with conditions_of_change(schema, of_columns[0], None, case_sensitive=case):
        update.commit()


def _new_type(spark: SparkSession, change: ColumnChange) -> IcebergType | None:
    if not isinstance(change, AlterColumn) or change.type is None:
        return None
    return as_type(column_type(spark, change.type), change.path[-1], format_version=3)


def _change_column(
    spark: SparkSession, update: UpdateSchema, schema: Schema, change: ColumnChange
) -> None:
    match change:
        case AddColumns(columns):
            for column in columns:
                _add(spark, update, column)
        case ReplaceColumns(columns):
            for field in schema.fields:
                update.delete_column((field.name,))
            for column in columns:
                _add(spark, update, column)
        case DropColumns():
            _drop_column(update, schema, change, is_case_sensitive(spark))
        case RenameColumn(path, name):
            update.rename_column(path, name)
        case AlterColumn():
            _alter(spark, update, schema, change)
        case IdentifierFields():
            _identify(update, schema, change)


def _drop_column(update: UpdateSchema, schema: Schema, change: DropColumns, case: bool) -> None:
    for path in change.paths:
        if change.if_exists and schema.find_id(".".join(path), case_sensitive=case) is None:
            continue
        update.delete_column(path)


def _add(spark: SparkSession, update: UpdateSchema, column: Column) -> None:
    kind, default = column_type(spark, column.type), None
    if column.default is not None:
        meant = as_type(kind, column.path[-1], format_version=3)
        name = ".".join(column.path)
        (default,) = defaults_of(spark, [ColumnDefault(name, column.default, meant)])
    update.add_column(column.path, kind, column.comment, column.required, default_value=default)
    _move_column(update, column.path, column.position)


def _alter(spark: SparkSession, update: UpdateSchema, schema: Schema, change: AlterColumn) -> None:
    kind = None if change.type is None else column_type(spark, change.type)
    if kind is not None or change.comment is not None or change.required is not None:
        update.update_column(change.path, kind, change.comment, change.required)
    if change.default is not None:
        update.set_default_value(change.path, _new_default(spark, schema, change))
    _move_column(update, change.path, change.position)


def _new_default(spark: SparkSession, schema: Schema, change: AlterColumn) -> object:
    if not change.default:
        return None
    name = ".".join(change.path)
    field_id = schema.find_id(name, case_sensitive=is_case_sensitive(spark))
    kind = None if field_id is None else schema.find_field(field_id).field_type
    return defaults_of(spark, [ColumnDefault(name, change.default, kind)])[0]


def _move_column(update: UpdateSchema, path: Path, position: ColumnPosition | None) -> None:
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


_NUMBERS = (t.IntegerType, t.LongType, t.DecimalType, t.FloatType, t.DoubleType)
"""Types of numbers in the order in which Spark widens them."""
_MOMENTS = (t.DateType, t.TimestamptzType, t.TimestampType)


@contextmanager
def conditions_of_change(
    schema: Schema, change: Change, kind: t.IcebergType | None, *, case_sensitive: bool
) -> Iterator[None]:
    """Give errors about a change of columns the condition that Spark has for the statement.

    `kind` is the new type of a column, None if the change has none. Raises InvalidSchemaError.
    """
    change_check = _ChangeCheck(schema, case_sensitive)
    if isinstance(change, RenameColumn) and change_check.above(change.path) is not None:
        raise with_condition(
            InvalidSchemaError(
                f"Can't rename '{'.'.join(change.path)}': it is no field of a struct"
            ),
            INVALID_FIELD_NAME,
        )
    try:
        yield
    except InvalidSchemaError as error:
        condition = change_check.condition(change, kind)
        if condition is not None:
            with_condition(error, condition)
        raise


@dataclass(frozen=True, slots=True)
class _ChangeCheck:
    """The columns that a failed change is compared with."""

    schema: Schema
    case_sensitive: bool

    def condition(self, change: Change, kind: t.IcebergType | None) -> ErrorCondition | None:
        """Return Spark's condition for a failed change, None for that of the error's class."""
        match change:
            case AddColumns(columns):
                paths = [column.path for column in columns]
                return self._of_added(paths, [column.position for column in columns])
            case ReplaceColumns(columns):
                return self._of_repeated([column.path for column in columns])
            case AlterColumn(path, position=position):
                if position is not None and position.after is not None:
                    paths = [path, (*path[:-1], position.after)]
                    return self._of_paths(paths)
                return self._of_paths([path]) or self._of_type(path, kind)
            case RenameColumn(path):
                return self._of_paths([path])
            case DropColumns(paths):
                return self._of_paths(paths)
            case _:
                return None

    def above(self, path: Path) -> ErrorCondition | None:
        """Return the condition for a path through a column that is not a struct."""
        for size in range(1, len(path)):
            kind = self._type(path[:size])
            is_within = size + 1 < len(path) and isinstance(kind, t.ListType | t.MapType)
            if kind is not None and not is_within and not isinstance(kind, t.StructType):
                return INVALID_FIELD_NAME
        return None

    def _of_added(
        self, paths: Sequence[Path], positions: Sequence[object]
    ) -> ErrorCondition | None:
        repeated = self._of_repeated(paths)
        if repeated is not None:
            return repeated
        above = [path[:-1] for path in paths if len(path) > 1]
        for parent in above:
            kind = self._type(parent)
            if kind is None:
                return self.above(parent) or UNRESOLVED_COLUMN
            if not isinstance(kind, t.StructType):
                return INVALID_FIELD_NAME
        is_there = any(self._type(path) is not None for path in paths)
        return FIELD_NOT_FOUND if any(positions) and not is_there else None

    def _of_repeated(self, paths: Sequence[Path]) -> ErrorCondition | None:
        folded = [path if self.case_sensitive else tuple(map(str.lower, path)) for path in paths]
        return COLUMN_ALREADY_EXISTS if len(set(folded)) < len(folded) else None

    def _of_paths(self, paths: Sequence[Path]) -> ErrorCondition | None:
        unknown = [path for path in paths if self._type(path) is None]
        return (self.above(unknown[0]) or UNRESOLVED_COLUMN) if unknown else None

    def _of_type(self, path: Path, kind: t.IcebergType | None) -> ErrorCondition | None:
        old = self._type(path)
        match kind:
            case None:
                return None
            case t.StructType():
                return UPDATED_STRUCT
            case t.ListType():
                return UPDATED_ARRAY
            case t.MapType():
                return UPDATED_MAP
            case _:
                pass
        return None if old is not None and _widens(old, kind) else UNSUPPORTED_COLUMN_CHANGE

    def _type(self, path: Path) -> t.IcebergType | None:
        field_id = self.schema.find_id(".".join(path), case_sensitive=self.case_sensitive)
        return None if field_id is None else self.schema.find_field(field_id).field_type


def _widens(old: t.IcebergType, new: t.IcebergType) -> bool:
    """Return whether Spark casts a type up to another (Spark: Cast.canUpCast)."""
    if isinstance(new, t.StringType):
        return not isinstance(old, t.StructType | t.ListType | t.MapType | t.BinaryType)
    if isinstance(old, t.DecimalType) and isinstance(new, t.DecimalType):
        grows = new.precision - new.scale >= old.precision - old.scale
        return grows and new.scale >= old.scale
    if isinstance(old, _NUMBERS) and isinstance(new, _NUMBERS):
        return _NUMBERS.index(type(old)) <= _NUMBERS.index(type(new))
    return isinstance(old, _MOMENTS) and isinstance(new, _MOMENTS[1:])
