"""CREATE TABLE, REPLACE TABLE and both with AS SELECT; DROP TABLE."""

from __future__ import annotations

from dataclasses import dataclass, field

from iceberg_spark.spark.sql.statements.columns import Column, read_column, read_columns
from iceberg_spark.spark.sql.statements.cursor import Cursor
from iceberg_spark.spark.sql.statements.properties import (
    Option,
    read_table_options,
    read_table_properties,
)
from iceberg_spark.spec.quoted_name import quote


@dataclass(frozen=True, slots=True)
class CreateTable:
    """A table to create. `query` is the text after AS, None without one.

    `creates` is false for REPLACE TABLE, which needs an existing table. `replaces` is true for it
    and for CREATE OR REPLACE. The option `path` is another word for `location`.
    """

    table: tuple[str, ...]
    columns: tuple[Column, ...] = ()
    partition_by: tuple[str, ...] = ()
    properties: dict[str, str] = field(default_factory=dict)
    location: str | None = None
    comment: str | None = None
    using: str | None = None
    query: str | None = None
    creates: bool = True
    replaces: bool = False
    if_not_exists: bool = False
    options: dict[str, Option] = field(default_factory=dict)
    is_external: bool = False


@dataclass(frozen=True, slots=True)
class DropTable:
    """A table to drop, with its files if `purge` is true."""

    table: tuple[str, ...]
    if_exists: bool = False
    purge: bool = False


def read_create_table(cursor: Cursor) -> CreateTable:
    """Read a statement that begins with CREATE or REPLACE. Raises InvalidInputError."""
    creates = cursor.takes("CREATE")
    is_external = creates and cursor.takes("EXTERNAL")
    replaces = cursor.takes("OR", "REPLACE") if creates else cursor.takes("REPLACE")
    cursor.needs("TABLE")
    if_not_exists = cursor.takes("IF", "NOT", "EXISTS")
    if if_not_exists and replaces:
        raise cursor.fault("OR REPLACE and IF NOT EXISTS don't go together")
    table = cursor.name()
    columns = read_columns(cursor.brackets()) if cursor.sees_open() else ()
    clauses = _Clauses()
    while not cursor.at_end and not _query_begins(cursor):
        clauses.read(cursor)
    _check_places(cursor, clauses)
    cursor.takes("AS")
    if not cursor.at_end and (columns or clauses.columns):
        raise cursor.fault(
            "CREATE TABLE ... AS SELECT takes its columns from the query: cast them there"
        )
    query = None if cursor.at_end else cursor.rest()
    return CreateTable(
        table,
        (*columns, *clauses.columns),
        (*clauses.partition_by, *clauses.buckets),
        clauses.properties,
        clauses.location,
        clauses.comment,
        clauses.using,
        query,
        creates=creates,
        replaces=replaces,
        if_not_exists=if_not_exists,
        options=clauses.options,
        is_external=is_external,
    )


def read_drop_table(cursor: Cursor) -> DropTable:
    """Read a statement that begins with DROP. Raises InvalidInputError."""
    cursor.needs("DROP", "TABLE")
    if_exists = cursor.takes("IF", "EXISTS")
    table = cursor.name()
    purge = cursor.takes("PURGE")
    cursor.done()
    return DropTable(table, if_exists, purge)


def _query_begins(cursor: Cursor) -> bool:
    return any(cursor.sees(word) for word in ("AS", "SELECT", "WITH", "VALUES", "TABLE", "FROM"))


@dataclass(slots=True)
class _Clauses:
    """The clauses after the columns of a table: in any order, each at most once."""

    columns: list[Column] = field(default_factory=list)
    partition_by: list[str] = field(default_factory=list)
    buckets: list[str] = field(default_factory=list)
    properties: dict[str, str] = field(default_factory=dict)
    options: dict[str, Option] = field(default_factory=dict)
    location: str | None = None
    comment: str | None = None
    using: str | None = None
    seen: set[str] = field(default_factory=set)

    def read(self, cursor: Cursor) -> None:
        if self._next(cursor, "USING"):
            self.using = _format(cursor)
        elif self._next(cursor, "PARTITIONED", "BY"):
            for item in cursor.brackets().items():
                self._partition(item)
        elif self._next(cursor, "CLUSTERED", "BY"):
            self.buckets.append(_buckets(cursor))
        elif self._next(cursor, "TBLPROPERTIES"):
            self.properties.update(read_table_properties(cursor))
        elif self._next(cursor, "OPTIONS"):
            self.options.update(read_table_options(cursor))
        elif self._next(cursor, "LOCATION"):
            self.location = cursor.string()
        elif self._next(cursor, "COMMENT"):
            self.comment = cursor.string()
        else:
            raise cursor.error(
                "a clause of CREATE TABLE (USING, PARTITIONED BY, CLUSTERED BY, TBLPROPERTIES, "
                "OPTIONS, LOCATION, COMMENT, AS) is needed"
            )

    def _next(self, cursor: Cursor, *words: str) -> bool:
        if not cursor.sees(*words):
            return False
        clause = " ".join(words)
        if clause in self.seen:
            raise cursor.error(f"{clause} may be there once")
        self.seen.add(clause)
        return cursor.takes(*words)

    def _partition(self, item: Cursor) -> None:
        """Read a transform, or a column with its type, which Hive adds to the table's columns."""
        probe = item.fresh()
        name = probe.name()
        if probe.at_end or probe.sees_open():
            self.partition_by.append(item.term())
        else:
            self.partition_by.append(".".join(quote(part) for part in name))
            self.columns.append(read_column(item))


def _buckets(cursor: Cursor) -> str:
    """Read `(column) INTO n BUCKETS`, which is a bucket transform, as in Java.

    Raises InvalidInputError for several columns and for SORTED BY.
    """
    columns = [".".join(map(quote, item.name())) for item in cursor.brackets().items()]
    if len(columns) > 1 or cursor.sees("SORTED"):
        raise cursor.fault(
            "CLUSTERED BY takes one column of an Iceberg table, and no SORTED BY: use ALTER TABLE "
            "... WRITE ORDERED BY afterwards"
        )
    cursor.needs("INTO")
    count = cursor.integer()
    cursor.needs("BUCKETS")
    return f"bucket({count}, {columns[0]})"


def is_path(option: str) -> bool:
    """Return whether an option is a table's location (Spark: AstBuilder.cleanTableOptions)."""
    return option.lower() == "path"


def _check_places(cursor: Cursor, clauses: _Clauses) -> None:
    places = [option for option in clauses.options if is_path(option)]
    if len(places) + (clauses.location is not None) > 1:
        raise cursor.fault(
            "LOCATION and the option 'path' both set where a table is stored: use one of them"
        )


def _format(cursor: Cursor) -> str:
    start = cursor.position
    cursor.identifier()
    while cursor.takes("-"):
        cursor.identifier()
    return cursor.text[start : cursor.end].strip("`").lower()
