"""A source's batches as changes: keys of all rows, and the rows that are written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.arrow.arrays import comparison_order, plain, with_offsets
from iceberg_spark.arrow.schema import is_list
from iceberg_spark.errors import InvalidInputError
from iceberg_spark.spec.nearest import did_you_mean, name_list
from iceberg_spark.spec.quoted_name import quoted_parts
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.types import NestedField, StructType
from iceberg_spark.write.align_columns import AlignPlan, align
from iceberg_spark.write.partitioned import source_column
from iceberg_spark.write.upsert_context import UpsertContext

OPERATION = "_op"
"""The optional source column with the operation of a row."""
_INSERTS = ("I", "U", "+I", "+U", "INSERT", "UPDATE_AFTER")
_DELETES = ("D", "-D", "-U", "DELETE", "UPDATE_BEFORE")

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class CdcRows:
    """Changes in their order: `keys` and `order` have a value for each of them.

    `rows` are those to write, in the table's columns, None for none; `written` marks them among
    the changes, None for all.
    """

    rows: pa.RecordBatch | None
    keys: tuple[pa.Array, ...]
    order: tuple[pa.Array, ...]
    written: Mask | None


class CdcReader:
    """Converts batches of one Arrow schema to changes; checks the schema on creation.

    Raises InvalidInputError for a missing key or order column, an `_op` column that is not text
    or belongs to the table; InvalidSchemaError for unsuitable columns.
    """

    def __init__(self, context: UpsertContext, source: pa.Schema) -> None:
        self._context = context
        schema, names = context.write.schema, source.names
        self._op = names.index(OPERATION) if OPERATION in names else None
        if self._op is not None:
            _check_operation(schema, source.field(self._op))
        for key in context.equality_ids:
            _check_given(schema, key, source, case_sensitive=context.options.case_sensitive)
        self._order = tuple(_order_column(source, name) for name in context.order_by)
        extra = {self._op, *(index for index in self._order if not self._is_column(names[index]))}
        self._source_indices = [index for index in range(len(names)) if index not in extra]
        self._source_schema = pa.schema([source.field(index) for index in self._source_indices])
        self._strict: AlignPlan | None = None
        if self._op is None:
            self._strict = self._plan(schema)
            self._relaxed = self._strict
            self._relaxed_schema = schema
        else:  # a delete needs its key only
            self._relaxed_schema = _relaxed(schema, frozenset(context.equality_ids))
            self._relaxed = self._plan(self._relaxed_schema)

    def _is_column(self, name: str) -> bool:
        field_id = self._context.write.schema.find_id(name, self._context.options.case_sensitive)
        return field_id is not None

    def _plan(self, schema: Schema) -> AlignPlan:
        options = self._context.options
        return align(
            schema,
            self._source_schema,
            check_nullability=options.check_nullability,
            check_ordering=options.check_ordering,
            case_sensitive=options.case_sensitive,
        )

    def changes(self, batch: pa.RecordBatch) -> CdcRows:
        """Return a batch's changes. Raises InvalidInputError for invalid values."""
        columns = [with_offsets(column) for column in batch.columns]
        data = pa.RecordBatch.from_arrays(
            [columns[index] for index in self._source_indices], schema=self._source_schema
        )
        order = tuple(_comparable(columns[index]) for index in self._order)
        written = None if self._op is None else _written(columns[self._op])
        if written is None:
            rows = self._strict_plan().apply(data)
            return CdcRows(rows, self._keys(rows, self._context.write.schema), order, None)
        keys = self._keys(self._relaxed.apply(data), self._relaxed_schema)
        rows = self._strict_plan().apply(data.filter(pa.array(written))) if written.any() else None
        return CdcRows(rows, keys, order, written)

    def _strict_plan(self) -> AlignPlan:
        if self._strict is None:
            self._strict = self._plan(self._context.write.schema)
        return self._strict

    def _keys(self, rows: pa.RecordBatch, schema: Schema) -> tuple[pa.Array, ...]:
        table = pa.Table.from_batches([rows])
        return tuple(source_column(table, schema, key) for key in self._context.equality_ids)


def _check_operation(schema: Schema, column: pa.Field) -> None:
    if schema.find_id(OPERATION) is not None:
        raise InvalidInputError(
            f"The table has a column '{OPERATION}' of its own, so the source's can't contain the "
            "operation: rename one of them"
        )
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or _is_view(kind)):
        raise InvalidInputError(
            f"Column '{OPERATION}' is {column.type}; it must be text: {', '.join(_operations())}"
        )


def _is_view(kind: pa.DataType) -> bool:
    return bool(kind == pa.string_view())


def _operations() -> list[str]:
    return sorted((*_INSERTS, *_DELETES))


def _written(operations: pa.Array) -> Mask | None:
    """Return which rows are written, None for all."""
    texts = plain(operations).cast(pa.string())
    inserts = pc.is_in(texts, pa.array(_INSERTS))
    valid = pc.or_(inserts, pc.is_in(texts, pa.array(_DELETES)))
    if not pc.all(valid, min_count=0).as_py():
        wrong = texts.filter(pc.invert(valid))[0].as_py()
        shown = "NULL" if wrong is None else f"'{wrong}'"
        raise InvalidInputError(
            f"Column '{OPERATION}' has {shown}; it may hold {', '.join(_operations())}"
        )
    mask: Mask = inserts.to_numpy(zero_copy_only=False)
    return None if mask.all() else mask


def _check_given(schema: Schema, key: int, source: pa.Schema, *, case_sensitive: bool) -> None:
    """Refuse a source without a key column: it would be NULL in every row."""
    fields: Sequence[pa.Field] = list(source)
    for step in schema.path_ids(key):
        name = schema.find_field(step).name
        matches = [
            field
            for field in fields
            if field.name == name or (not case_sensitive and field.name.lower() == name.lower())
        ]
        if not matches:
            raise InvalidInputError(
                f"The data lacks the key column '{schema.find_column_name(key)}'; an upsert needs "
                "every key column in each row"
            )
        fields = list(matches[0].type) if pa.types.is_struct(matches[0].type) else []


def _order_column(source: pa.Schema, name: str) -> int:
    parts = quoted_parts(name)
    index: int = source.get_field_index(name)
    if index < 0 and parts is not None and len(parts) == 1:
        index = source.get_field_index(parts[0])
    if index < 0:
        raise InvalidInputError(
            f"The data has no column '{name}' to order by; it has: "
            f"{name_list(source.names)}{did_you_mean(name, source.names)}"
        )
    kind = source.field(index).type
    if pa.types.is_nested(kind) or is_list(kind) or pa.types.is_interval(kind):
        raise InvalidInputError(f"Column '{name}' of type {kind} has no order; order by another")
    return index


def _comparable(column: pa.Array) -> pa.Array:
    """Return a column that Arrow ranks as Spark orders it."""
    column = plain(column)
    kind = column.type
    if pa.types.is_floating(kind):
        return comparison_order(column)
    if pa.types.is_boolean(kind) or pa.types.is_null(kind):
        return column.cast(pa.int8())
    if pa.types.is_decimal(kind) or pa.types.is_integer(kind):
        return column
    if pa.types.is_temporal(kind):
        return column.cast(pa.int64() if kind.bit_width == 64 else pa.int32())
    return column


def _relaxed(schema: Schema, keys: frozenset[int]) -> Schema:
    """Return the schema with nothing required but keys and the structs around them."""
    return Schema(*(_optional(field, keys) for field in schema.fields))


def _optional(field: NestedField, keys: frozenset[int]) -> NestedField:
    if field.field_id in keys:
        return field
    kind = field.field_type
    if isinstance(kind, StructType):
        inner = [_optional(child, keys) for child in kind.fields]
        holds_key = any(child.required for child in inner)
        required = field.required and holds_key
        return replace(field, field_type=StructType(*inner), required=required)
    return replace(field, required=False)
