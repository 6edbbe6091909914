"""The arguments of `apply_changes`, checked against the table and the columns of the rows."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from iceberg_spark.errors import InvalidInputError, InvalidSchemaError
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.nearest import did_you_mean, name_list
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.types import (
    PRIMITIVES,
    DateType,
    DecimalType,
    IcebergType,
    IntegerType,
    LongType,
    NestedField,
    StringType,
    TimestampType,
    TimestamptzType,
)
from iceberg_spark.spec.union_by_name import union_by_name

START_AT, END_AT = "__START_AT", "__END_AT"
"""From which sequence on a row of a history holds, and the first at which it no longer does."""
WITHOUT_OFFSET = (
    "For a feed that was ordered by its time alone (sequence='ts_ms'), leave the column 'offset' "
    "out of its records: the sequence is then the time again"
)
_HIDDEN = "__"


@dataclass(frozen=True, slots=True)
class CdcPlan:
    """How changes by key and sequence apply to a table.

    `schema` is the table's, with the columns that are added. `sequence` is the column with the
    sequence of a row's last change, None if only the ledger stores it. With `history`, rows are
    kept with their validity in `START_AT` and `END_AT` (type 2). Deletes are remembered for
    `retention_ms`. With `needs_values`, some changes leave out values, which come from the stored
    rows.
    """

    schema: Schema
    keys: tuple[NestedField, ...]
    sequence: NestedField | None
    sequence_type: IcebergType
    history: bool
    retention_ms: int
    needs_values: bool = False

    @property
    def key_names(self) -> tuple[str, ...]:
        """The names of the key columns."""
        return tuple(field.name for field in self.keys)

    @property
    def payload(self) -> tuple[NestedField, ...]:
        """The columns whose values distinguish a row of a history from the one before."""
        others = {*self.key_names, START_AT, END_AT}
        return tuple(field for field in self.schema.fields if field.name not in others)

    def column(self, name: str) -> NestedField:
        """Return a top-level column of the table."""
        return next(field for field in self.schema.fields if field.name == name)


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of the input rows that go to the table; `named_sequence` if that one does."""

    names: tuple[str, ...]
    named_sequence: bool


@dataclass(frozen=True, slots=True)
class Choice:
    """The columns that a caller selects: `only` these, or all `but` some; at most one of them."""

    only: tuple[str, ...] | None = None
    but: tuple[str, ...] | None = None

    def check(self, names: Sequence[str], *, case_sensitive: bool) -> None:
        """Raise InvalidInputError for both, and for a name that the rows lack."""
        if self.only and self.but:
            raise InvalidInputError("column_list and except_column_list exclude each other")
        for what, listing in (("column_list", self.only), ("except_column_list", self.but)):
            for name in listing or ():
                if not any(_same(name, other, case_sensitive) for other in names):
                    raise InvalidInputError(
                        f"{what}: the rows have no column '{name}'; they have: "
                        f"{name_list(list(names))}{did_you_mean(name, list(names))}"
                    )


def chosen_columns(
    columns: Sequence[str],
    schema: Schema,
    sequence: str | None,
    choice: Choice,
    controls: Collection[str],
    *,
    case_sensitive: bool,
    merge_schema: bool = False,
) -> Columns:
    """Return the columns of rows with the columns `columns` that go to the table.

    `sequence` is the column that orders the changes, None for an expression. `controls` may be used
    by the conditions of deletes and truncations. A column of them that the table lacks is used for
    that only, and so are names that begin with `__`.

    Raises:
        InvalidInputError: the rows lack a column.
        InvalidSchemaError: the table lacks a column, and `merge_schema` is not set.
    """
    choice.check(columns, case_sensitive=case_sensitive)

    def same(name: str) -> str:
        return name if case_sensitive else name.lower()

    selected = {same(name) for name in choice.only or columns}
    selected -= {same(name) for name in choice.but or ()}
    hidden = sequence is not None and sequence.startswith(_HIDDEN)
    if hidden and sequence is not None:
        selected.discard(same(sequence))
    have = {same(field.name) for field in schema.fields}
    names = []
    for name in columns:
        key = same(name)
        if key not in selected:
            continue
        if key not in have and name != sequence:
            if choice.only is None and (name in controls or name.startswith(_HIDDEN)):
                continue
            if not merge_schema:
                raise InvalidSchemaError(
                    f"The table has no column '{name}'; add it (merge_schema=True does), or name "
                    "it in except_column_list"
                )
        names.append(name)
    return Columns(tuple(names), sequence is not None and sequence in names)


def key_fields(
    schema: Schema, keys: Sequence[str], row_columns: Collection[str], *, case_sensitive: bool
) -> tuple[NestedField, ...]:
    """Return the table's key columns. Raises InvalidInputError for columns that cannot be keys."""
    if isinstance(keys, str) or not keys:
        raise InvalidInputError(f"keys must be a list of columns, as in keys=['id'], not {keys!r}")
    fields: list[NestedField] = []
    for key in keys:
        field = find_top_level(schema, key, case_sensitive=case_sensitive)
        if field is None:
            column_names = [field.name for field in schema.fields]
            raise InvalidInputError(
                f"Key column '{key}' is not in the table; it has: {name_list(column_names)}"
                f"{did_you_mean(key, column_names)}"
            )
        if not isinstance(field.field_type, PRIMITIVES):
            raise InvalidInputError(
                f"Key column '{key}' has type {field.field_type}, not a key type"
            )
        if field in fields:
            raise InvalidInputError(f"Key column '{key}' is given twice")
        if not any(_same(name, field.name, case_sensitive) for name in row_columns):
            raise InvalidInputError(f"Key column '{key}' is not among the columns of the rows")
        fields.append(field)
    return tuple(fields)


def find_top_level(schema: Schema, name: str, *, case_sensitive: bool) -> NestedField | None:
    """Return a top-level column by name, None if there is none."""
    for field in schema.fields:
        if _same(field.name, name, case_sensitive):
            return field
    return None


def _same(name: str, other: str, case_sensitive: bool) -> bool:
    return name == other if case_sensitive else name.lower() == other.lower()


def check_sequence_type(kind: IcebergType) -> IcebergType:
    """Return the type in which sequences are stored. Raises InvalidInputError for other types."""
    match kind:
        case IntegerType() | LongType():
            return LongType()
        case DecimalType() | StringType() | DateType() | TimestampType() | TimestamptzType():
            return kind
        case _:
            raise InvalidInputError(
                f"sequence_by has type {kind}, which does not order changes for certain: use an "
                "integer, decimal, string, date or timestamp"
            )


def merge_columns(
    metadata: TableMetadata, rows: Schema, names: Sequence[str], *, case_sensitive: bool
) -> Schema:
    """Return the table's schema with the missing columns `names` of rows, and wider types.

    Required columns stay required. New columns are always optional, because a feed's deletes have
    only the key. Raises InvalidSchemaError for types without a common type.
    """
    fields = []
    for field in rows.fields:
        if field.name not in names:
            continue
        own = find_top_level(metadata.schema, field.name, case_sensitive=case_sensitive)
        fields.append(replace(field, required=own is not None and own.required))
    return union_by_name(
        metadata.schema,
        Schema(*fields),
        last_column_id=metadata.last_column_id,
        case_sensitive=case_sensitive,
        format_version=metadata.format_version,
    )


def check_same_order(column: NestedField, kind: IcebergType) -> None:
    """Raise InvalidInputError if the table's sequence column cannot hold the rows' sequence.

    An integer would be compared with a time that is followed by an offset.
    """
    if isinstance(column.field_type, IntegerType | LongType) and isinstance(kind, DecimalType):
        raise InvalidInputError(
            f"Column '{column.name}' orders changes by {column.field_type}, and the rows have "
            f"{kind}. {WITHOUT_OFFSET}"
        )


def evolve_schema(
    schema: Schema,
    last_column_id: int,
    sequence: NestedField | None,
    sequence_type: IcebergType,
    *,
    history: bool,
    format_version: int,
) -> Schema:
    """Return a table's schema with the columns that changes need, added at its end.

    `sequence` is the column of sequences if the table stores them. Existing columns keep their
    types.
    """
    added: list[NestedField] = []
    have = {field.name for field in schema.fields}
    if sequence is not None and sequence.name not in have:
        added.append(NestedField(1, sequence.name, sequence.field_type))
    if history:
        added += [
            NestedField(number, name, sequence_type)
            for number, name in ((2, START_AT), (3, END_AT))
            if name not in have
        ]
    if not added:
        return schema
    return union_by_name(
        schema,
        Schema(*added),
        last_column_id=last_column_id,
        format_version=format_version,
    )
