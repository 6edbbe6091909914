"""ALTER TABLE: columns, partition fields, write order, identifier fields, properties, name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from iceberg_spark.errors import UnsupportedError
from iceberg_spark.spark.session.error_conditions import (
    NO_PARTITION_MANAGEMENT,
    UNSUPPORTED_COMMAND,
    UNSUPPORTED_OPERATION,
    with_condition,
)
from iceberg_spark.spark.sql.statements.columns import (
    Column,
    ColumnPosition,
    read_column,
    read_columns,
)
from iceberg_spark.spark.sql.statements.cursor import Cursor
from iceberg_spark.spark.sql.statements.properties import read_table_keys, read_table_properties
from iceberg_spark.spark.sql.statements.references import RefChange, read_ref_change, sees_ref

Path: TypeAlias = tuple[str, ...]
_DISTRIBUTED = ("DISTRIBUTED", "BY")


@dataclass(frozen=True, slots=True)
class AddColumns:
    """Columns to add to a table."""

    columns: tuple[Column, ...]


@dataclass(frozen=True, slots=True)
class ReplaceColumns:
    """New columns in place of all columns of a table."""

    columns: tuple[Column, ...]


@dataclass(frozen=True, slots=True)
class DropColumns:
    """Columns to drop; with `if_exists` those that the table has."""

    paths: tuple[Path, ...]
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class RenameColumn:
    """A column and its new name."""

    path: Path
    name: str


@dataclass(frozen=True, slots=True)
class AlterColumn:
    """Changes of a column, None for none. `default` is an expression, "" removes the default."""

    path: Path
    type: str | None = None
    required: bool | None = None
    comment: str | None = None
    default: str | None = None
    position: ColumnPosition | None = None


@dataclass(frozen=True, slots=True)
class AddPartitionField:
    """A partition field as `parse_partition_field` parses it."""

    text: str


@dataclass(frozen=True, slots=True)
class DropPartitionField:
    """A partition field, by its name or its transform."""

    text: str


@dataclass(frozen=True, slots=True)
class ReplacePartitionField:
    """A partition field and its replacement."""

    old: str
    new: str


@dataclass(frozen=True, slots=True)
class WriteOrder:
    """The order and the distribution of rows in later writes; None changes nothing."""

    sort_by: tuple[str, ...]
    distribution: str | None


@dataclass(frozen=True, slots=True)
class IdentifierFields:
    """Columns to set as identifier fields, or to drop from them if `set` is false."""

    paths: tuple[Path, ...]
    set: bool


@dataclass(frozen=True, slots=True)
class SetProperties:
    """Properties to set."""

    properties: dict[str, str]


@dataclass(frozen=True, slots=True)
class UnsetProperties:
    """Properties to remove."""

    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SetLocation:
    """The location for later files of the table."""

    location: str


@dataclass(frozen=True, slots=True)
class RenameTable:
    """A new name in the same catalog."""

    name: tuple[str, ...]


Change: TypeAlias = (
    AddColumns
    | ReplaceColumns
    | DropColumns
    | RenameColumn
    | AlterColumn
    | AddPartitionField
    | DropPartitionField
    | ReplacePartitionField
    | WriteOrder
    | IdentifierFields
    | SetProperties
    | UnsetProperties
    | SetLocation
    | RenameTable
    | RefChange
)


@dataclass(frozen=True, slots=True)
class AlterTable:
    """A table and its changes; several changes are one commit."""

    table: tuple[str, ...]
    changes: tuple[Change, ...]


def read_alter_table(cursor: Cursor) -> AlterTable:
    """Read a statement that begins with ALTER. Raises InvalidInputError."""
    cursor.needs("ALTER", "TABLE")
    table = cursor.name()
    changes = _changes(cursor)
    cursor.done()
    return AlterTable(table, changes)


def _changes(cursor: Cursor) -> tuple[Change, ...]:
    if sees_ref(cursor):
        return (read_ref_change(cursor),)
    if cursor.takes_one_of("ALTER", "CHANGE") is not None:
        return _altered(cursor)
    return (_change(cursor),)


def _change(cursor: Cursor) -> Change:
    _refuse_unsupported(cursor)
    change = _of_partitioning(cursor) or _of_columns(cursor)
    if change is not None:
        return change
    if cursor.takes("RENAME", "TO"):
        return RenameTable(cursor.name())
    if cursor.takes("SET", "TBLPROPERTIES"):
        return SetProperties(read_table_properties(cursor))
    if cursor.takes("SET", "LOCATION"):
        return SetLocation(cursor.string())
    if cursor.takes("UNSET", "TBLPROPERTIES"):
        cursor.takes("IF", "EXISTS")
        return UnsetProperties(read_table_keys(cursor))
    if cursor.takes("WRITE"):
        return _write_order(cursor)
    raise cursor.error("a change of the table is needed (ADD, DROP, RENAME, ALTER, SET, WRITE)")


_PARTITIONS = "Iceberg tables have no partitions to add, drop or rename: write and delete rows"
_UNSUPPORTED = (
    (("ADD", "CONSTRAINT"), UNSUPPORTED_OPERATION, "Iceberg tables have no constraints"),
    (("ADD", "CHECK"), UNSUPPORTED_OPERATION, "Iceberg tables have no constraints"),
    (("ADD", "UNIQUE"), UNSUPPORTED_OPERATION, "Iceberg tables have no constraints"),
    (("ADD", "PRIMARY", "KEY"), UNSUPPORTED_OPERATION, "Iceberg tables have no constraints"),
    (("ADD", "FOREIGN", "KEY"), UNSUPPORTED_OPERATION, "Iceberg tables have no constraints"),
    (("DROP", "CONSTRAINT"), UNSUPPORTED_OPERATION, "Iceberg tables have no constraints"),
    (("SET", "SERDE"), UNSUPPORTED_COMMAND, "Iceberg tables have no SerDe"),
    (("SET", "SERDEPROPERTIES"), UNSUPPORTED_COMMAND, "Iceberg tables have no SerDe"),
    (("RECOVER", "PARTITIONS"), UNSUPPORTED_COMMAND, _PARTITIONS),
    (("ADD", "PARTITION", "("), NO_PARTITION_MANAGEMENT, _PARTITIONS),
    (("ADD", "IF", "NOT", "EXISTS", "PARTITION"), NO_PARTITION_MANAGEMENT, _PARTITIONS),
    (("DROP", "PARTITION", "("), NO_PARTITION_MANAGEMENT, _PARTITIONS),
    (("DROP", "IF", "EXISTS", "PARTITION"), NO_PARTITION_MANAGEMENT, _PARTITIONS),
    (("PARTITION", "("), NO_PARTITION_MANAGEMENT, _PARTITIONS),
)
"""Changes that Spark's grammar has and Iceberg tables do not, with Spark's conditions."""


def _refuse_unsupported(cursor: Cursor) -> None:
    for words, condition, reason in _UNSUPPORTED:
        if cursor.sees(*words):
            head = " ".join(words).rstrip("( ")
            raise with_condition(UnsupportedError(f"ALTER TABLE ... {head}: {reason}"), condition)


def _of_partitioning(cursor: Cursor) -> Change | None:
    if cursor.takes("ADD", "PARTITION", "FIELD"):
        return AddPartitionField(cursor.term())
    if cursor.takes("DROP", "PARTITION", "FIELD"):
        return DropPartitionField(cursor.term())
    if cursor.takes("REPLACE", "PARTITION", "FIELD"):
        old = cursor.term(("WITH",))
        cursor.needs("WITH")
        return ReplacePartitionField(old, cursor.term())
    return None


def _of_columns(cursor: Cursor) -> Change | None:
    if cursor.takes("ADD"):
        return _added(cursor)
    if cursor.takes("REPLACE", "COLUMNS"):
        return ReplaceColumns(read_columns(cursor.brackets() if cursor.sees_open() else cursor))
    if cursor.takes("DROP", "IDENTIFIER", "FIELDS"):
        return IdentifierFields(cursor.names(), set=False)
    if cursor.takes("SET", "IDENTIFIER", "FIELDS"):
        return IdentifierFields(cursor.names(), set=True)
    if cursor.takes("DROP"):
        return _dropped(cursor)
    if cursor.takes("RENAME", "COLUMN"):
        path = cursor.name()
        cursor.needs("TO")
        return RenameColumn(path, cursor.identifier())
    return None


def _added(cursor: Cursor) -> AddColumns:
    if cursor.takes_one_of("COLUMN", "COLUMNS") is None:
        raise cursor.error("COLUMN, COLUMNS or PARTITION FIELD is needed")
    if cursor.sees_open():
        return AddColumns(read_columns(cursor.brackets()))
    return AddColumns(read_columns(cursor))


def _dropped(cursor: Cursor) -> DropColumns:
    if cursor.takes_one_of("COLUMN", "COLUMNS") is None:
        raise cursor.error("COLUMN, PARTITION FIELD, IDENTIFIER FIELDS, BRANCH or TAG is needed")
    if_exists = cursor.takes("IF", "EXISTS")
    paths = (cursor.brackets() if cursor.sees_open() else cursor).names()
    return DropColumns(paths, if_exists)


def _altered(cursor: Cursor) -> tuple[Change, ...]:
    """Read the columns after ALTER COLUMN; Spark takes several with commas between them."""
    cursor.takes("COLUMN")
    changes: list[Change] = []
    while True:
        changes += _alter_column(cursor)
        if not cursor.takes(","):
            return tuple(changes)


def _alter_column(cursor: Cursor) -> list[Change]:
    path = cursor.name()
    if cursor.takes("SET", "NOT", "NULL"):
        return [AlterColumn(path, required=True)]
    if cursor.takes("DROP", "NOT", "NULL"):
        return [AlterColumn(path, required=False)]
    if cursor.takes("DROP", "DEFAULT"):
        return [AlterColumn(path, default="")]
    if cursor.takes("SET", "DEFAULT"):
        return [AlterColumn(path, default=cursor.until((",",)))]
    if cursor.takes("TYPE"):
        kind = cursor.until((",",), ("COMMENT",))
        comment = cursor.string() if cursor.takes("COMMENT") else None
        return [AlterColumn(path, type=kind, comment=comment)]
    if cursor.takes("COMMENT"):
        return [AlterColumn(path, comment=cursor.string())]
    if cursor.sees("FIRST") or cursor.sees("AFTER"):
        position = ColumnPosition() if cursor.takes("FIRST") else ColumnPosition(_after(cursor))
        return [AlterColumn(path, position=position)]
    return _hive_change(path, cursor)


def _hive_change(path: Path, cursor: Cursor) -> list[Change]:
    """Read Hive's `CHANGE COLUMN old new type ...`: name, type, comment and position together."""
    column = read_column(cursor)
    if column.required or column.default is not None or len(column.path) > 1:
        raise cursor.fault(
            "CHANGE COLUMN old new type takes name, type, comment and position: use ALTER COLUMN "
            "... SET NOT NULL, or SET DEFAULT, for the rest, and a name without its parents"
        )
    changes: list[Change] = [
        AlterColumn(path, type=column.type, comment=column.comment, position=column.position)
    ]
    if column.path[-1] != path[-1]:
        changes.append(RenameColumn(path, column.path[-1]))
    return changes


def _after(cursor: Cursor) -> str:
    cursor.needs("AFTER")
    return cursor.identifier()


def _write_order(cursor: Cursor) -> WriteOrder:
    """Read the clauses after WRITE (Java: IcebergSqlExtensions.g4, writeSpec), in any order."""
    is_distributed, order = False, None
    while not cursor.at_end:
        if not is_distributed and cursor.takes("DISTRIBUTED", "BY", "PARTITION"):
            is_distributed = True
        elif order is None:
            order = _ordering(cursor)
        else:
            cursor.done()
    if is_distributed:
        return WriteOrder(order.sort_by if order else (), "hash")
    if order is None:
        raise cursor.error("ORDERED BY, UNORDERED or DISTRIBUTED BY PARTITION is needed")
    return order


def _ordering(cursor: Cursor) -> WriteOrder:
    if cursor.takes("UNORDERED"):
        return WriteOrder((), "none")
    is_local = cursor.takes("LOCALLY")
    if not cursor.sees("ORDERED"):
        raise cursor.error("ORDERED BY, UNORDERED or DISTRIBUTED BY PARTITION is needed")
    cursor.needs("ORDERED", "BY")
    return WriteOrder(_sort_fields(cursor), None if is_local else "range")


def _sort_fields(cursor: Cursor) -> tuple[str, ...]:
    """Read the fields of an order, with or without brackets; a field may be called distributed."""
    fields = cursor.brackets() if cursor.sees_open() else cursor
    terms = [fields.term((",",), _DISTRIBUTED)]
    while fields.takes(","):
        terms.append(fields.term((",",), _DISTRIBUTED))
    if fields is not cursor:
        fields.done()
    return tuple(terms)
