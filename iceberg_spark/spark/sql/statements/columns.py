"""Columns as statements define them: name, type, nullability, default, comment and position."""

from __future__ import annotations

from dataclasses import dataclass

from iceberg_spark.spark.session.error_conditions import UNSUPPORTED_OPERATION, with_condition
from iceberg_spark.spark.sql.statements.cursor import Cursor

_ENDS = (("NOT", "NULL"), ("COMMENT",), ("DEFAULT",), ("FIRST",), ("AFTER",))
_CONSTRAINTS = (("CHECK", "("), ("UNIQUE", "("), ("PRIMARY", "KEY", "("), ("FOREIGN", "KEY", "("))
_OTHERS = (("GENERATED",), ("PRIMARY",), ("CHECK",), ("UNIQUE",), ("REFERENCES",), ("CONSTRAINT",))


@dataclass(frozen=True, slots=True)
class ColumnPosition:
    """The position of a column: after another one of its struct, or first (`after` is None)."""

    after: str | None = None


@dataclass(frozen=True, slots=True)
class Column:
    """A column definition; `type` is DDL and `default` an expression, both as written.

    `path` has more than one part for a field of a struct.
    """

    path: tuple[str, ...]
    type: str
    required: bool = False
    default: str | None = None
    comment: str | None = None
    position: ColumnPosition | None = None


def read_columns(cursor: Cursor) -> tuple[Column, ...]:
    """Read the rest of a text as columns. Raises InvalidInputError."""
    items = cursor.items()
    for item in items:
        _refuse_constraint(item)
    return tuple(read_column(item) for item in items)


def _refuse_constraint(item: Cursor) -> None:
    """Refuse a constraint of the table; a column may have the name of its first word."""
    begins = any(item.sees(*words) for words in _CONSTRAINTS)
    named = item.fresh()
    if named.takes("CONSTRAINT") and not named.at_end:
        named.word()
        begins = begins or any(named.sees(*words) for words in _CONSTRAINTS)
    if begins:
        error = item.fault(f"'{item.rest()}': Iceberg tables have no constraints")
        raise with_condition(error, UNSUPPORTED_OPERATION)


def read_column(cursor: Cursor) -> Column:
    """Read the rest of a text as one column. Raises InvalidInputError naming an unknown clause."""
    path = cursor.name()
    cursor.takes(":")
    kind = cursor.until(*_ENDS, *_OTHERS)
    required, default, comment, position = False, None, None, None
    while not cursor.at_end:
        if cursor.takes("NOT", "NULL"):
            required = True
        elif cursor.takes("COMMENT"):
            comment = cursor.string()
        elif cursor.takes("DEFAULT"):
            default = cursor.until(*_ENDS, *_OTHERS)
        elif cursor.sees("FIRST") or cursor.sees("AFTER"):
            position = read_position(cursor)
        else:
            is_known = any(cursor.sees(*words) for words in _OTHERS)
            error = cursor.fault(
                f"Column '{'.'.join(path)}': '{cursor.rest()}' is nothing that an Iceberg table has"
            )
            raise with_condition(error, UNSUPPORTED_OPERATION) if is_known else error
    return Column(path, kind, required, default, comment, position)


def read_position(cursor: Cursor) -> ColumnPosition:
    """Read `FIRST` or `AFTER name`. Raises InvalidInputError."""
    if cursor.takes("FIRST"):
        return ColumnPosition()
    cursor.needs("AFTER")
    return ColumnPosition(cursor.identifier())
