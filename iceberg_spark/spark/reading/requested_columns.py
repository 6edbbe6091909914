"""The columns that a scan reads from its data files, or why Spark's Parquet reader cannot."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from iceberg_spark.expr.logic import field_ids
from iceberg_spark.read.projected_rows import LeafColumn
from iceberg_spark.scan.context import ScanContext
from iceberg_spark.spark.deletes.per_file_values import ROW_INDEX
from iceberg_spark.spec import reserved
from iceberg_spark.spec import types as t
from iceberg_spark.spec.schema import Schema

_DEFAULTS = (
    t.BooleanType, t.IntegerType, t.LongType, t.FloatType, t.DoubleType, t.DecimalType,
    t.DateType, t.TimestampType, t.TimestamptzType, t.StringType,
)  # fmt: skip
_METADATA_IDS = frozenset(
    {
        reserved.FILE_ID,
        reserved.POS_ID,
        reserved.DELETED_ID,
        reserved.SPEC_ID_ID,
        reserved.PARTITION_ID,
    }
)


@dataclass(frozen=True, slots=True)
class RequestedColumns:
    """The top-level columns that a scan reads.

    `fields` are those that the scan returns, then others of its filter. `keys` are columns of
    equality deletes. A dropped column is among them as the last schema with it had it, under a name
    that no column has. If `isolated` is False, a setting of the session could make Spark read by
    name.
    """

    context: ScanContext
    isolated: bool
    fields: tuple[t.NestedField, ...]
    keys: tuple[t.NestedField, ...] = ()

    @property
    def all_fields(self) -> tuple[t.NestedField, ...]:
        """All columns, without repetition."""
        return (*self.fields, *self.keys)


def requested_columns(context: ScanContext, *, isolated: bool) -> RequestedColumns | str:
    """Return the columns of a scan, or why the Arrow engine has to read them.

    A column of the filter within a struct comes with its whole struct.
    """
    columns = RequestedColumns(context, isolated, _fields(context))
    return _column_reason(columns) or columns


def with_keys(columns: RequestedColumns, keys: Sequence[LeafColumn]) -> RequestedColumns | str:
    """Return the columns and those that equality deletes need as well, structs as a whole.

    Returns the reason if the Arrow engine has to apply deletes by these keys.
    """
    added = _key_fields(columns, keys)
    more = replace(columns, keys=tuple(added.values()))
    return _key_reason(more, keys, added) or more


def _fields(context: ScanContext) -> tuple[t.NestedField, ...]:
    shown = tuple(f for f in context.read_schema.fields if f.field_id not in _METADATA_IDS)
    shown_ids = {field.field_id for field in shown}
    tops = dict.fromkeys(context.table_schema.path_ids(i)[0] for i in field_ids(context.row_filter))
    others = (context.table_schema.find_field(top) for top in tops if top not in shown_ids)
    return (*shown, *others)


def _key_fields(
    columns: RequestedColumns, keys: Sequence[LeafColumn]
) -> Mapping[int, t.NestedField]:
    context = columns.context
    read_ids = {field.field_id for field in columns.fields}
    key_fields: dict[int, t.NestedField] = {}
    for leaf in keys:
        top = leaf.field.field_id
        if top in read_ids:
            continue
        if context.table_schema.get(leaf.field_id) is not None:
            key_fields[top] = context.table_schema.find_field(top)
        elif context.dropped_fields is not None:
            dropped = context.dropped_fields.find_field(top)
            key_fields[top] = replace(dropped, name=f"__dropped_{top}")
    return key_fields


def _key_reason(
    columns: RequestedColumns, keys: Sequence[LeafColumn], added: Mapping[int, t.NestedField]
) -> str | None:
    read = Schema(*columns.fields)
    for leaf in keys:
        top = added.get(leaf.field.field_id) or read.find_field(leaf.field.field_id)
        if leaf.field_id not in {field.field_id for field in with_nested_fields(top)}:
            return f"key column '{_name(leaf)}' is in a struct that is read in part"
        if columns.context.table_schema.get(leaf.field_id) is None and (
            leaf.depth or not columns.isolated
        ):
            # Spark prunes structs by name, and what a dropped field was called isn't known.
            return f"key column '{_name(leaf)}' was dropped, so that only its field id finds it"
        for field in with_nested_fields(top):
            reason = _reason(columns, field, top=field is top)
            if reason:
                return f"{reason} (key '{_name(leaf)}')"
    return None


def _name(leaf: LeafColumn) -> str:
    name, field = leaf.field.name, leaf.field
    while isinstance(field.field_type, t.StructType):
        (field,) = field.field_type.fields
        name = f"{name}.{field.name}"
    return name


def _column_reason(columns: RequestedColumns) -> str | None:
    context, read = columns.context, Schema(*columns.fields)
    for field_id in field_ids(context.row_filter):
        if read.get(field_id) is None:
            name = context.table_schema.find_column_name(field_id)
            return f"filter column '{name}' is in a struct that is read in part"
    if any(field.name.lower() == ROW_INDEX for field in context.table_schema.fields):
        return f"a name under which Spark gives places of rows (column '{ROW_INDEX}')"
    for field in read.fields:
        for inner in with_nested_fields(field):
            reason = _reason(columns, inner, top=inner is field)
            if reason:
                return f"{reason} ('{read.find_column_name(inner.field_id)}')"
    return None


def with_nested_fields(field: t.NestedField) -> Iterator[t.NestedField]:
    """Yield a field and all those inside of it."""
    yield field
    for child in t.child_fields(field.field_type):
        yield from with_nested_fields(child)


def _reason(columns: RequestedColumns, field: t.NestedField, *, top: bool) -> str | None:
    history, field_id = columns.context.history, field.field_id
    default = field.initial_default
    match field.field_type:
        case t.UUIDType() | t.UnknownType() if not top:
            return "a type that Spark reads at the top level only"
        case t.TimestampNanoType() | t.TimestamptzNanoType() | t.TimeType():
            return "a type that Spark's reader lacks"
        case _ if default is not None and not top:
            return "default inside a struct"
        case kind if default is not None and not isinstance(kind, _DEFAULTS):
            return "default of a type that Spark's reader gives none"
        case _:
            pass
    if field_id in history.retyped:
        return "column whose type was changed"
    if field.required and field_id in history.younger and default is None and top:
        return "required column that files may lack"
    if not columns.isolated and field_id in reserved.LINEAGE_IDS:
        return "row ids, which a setting of the session could hide"
    if not columns.isolated and (field_id in history.renamed or field_id in history.shared):
        return "renamed column, which a setting of the session could hide"
    return None
