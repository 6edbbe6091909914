"""Spark's error conditions for ALTER TABLE statements whose columns or types do not fit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeAlias

from iceberg_spark.errors import InvalidSchemaError
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
    AlterColumn,
    Change,
    DropColumns,
    RenameColumn,
)
from iceberg_spark.spec import types as t
from iceberg_spark.spec.schema import Schema

Path: TypeAlias = tuple[str, ...]
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
        folded = [path if self.case_sensitive else tuple(map(str.lower, path)) for path in paths]
        if len(set(folded)) < len(folded):
            return COLUMN_ALREADY_EXISTS
        above = [path[:-1] for path in paths if len(path) > 1]
        for parent in above:
            kind = self._type(parent)
            if kind is None:
                return self.above(parent) or UNRESOLVED_COLUMN
            if not isinstance(kind, t.StructType):
                return INVALID_FIELD_NAME
        is_there = any(self._type(path) is not None for path in paths)
        return FIELD_NOT_FOUND if any(positions) and not is_there else None

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
