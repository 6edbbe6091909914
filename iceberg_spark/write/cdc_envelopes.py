"""Convert messages of Debezium and Maxwell to rows of changes.

The columns come from the schemas of the messages, else from their values.

Sources: Debezium, "Connectors" (change events), "New Record State Extraction" and "Data type
mappings"; Kafka Connect's logical types; Maxwell, "Data format".
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from itertools import count
from typing import Any

import pyarrow as pa

from iceberg_spark.arrow.schema import to_arrow
from iceberg_spark.errors import InvalidInputError
from iceberg_spark.spec import types as t
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.types import (
    BooleanType,
    DecimalType,
    IcebergType,
    ListType,
    LongType,
    NestedField,
    StringType,
)
from iceberg_spark.write.cdc_messages import (
    DELETED,
    OP,
    PLACEHOLDER,
    UNAVAILABLE,
    Change,
    Envelope,
    Placeholder,
    debezium_changes,
    maxwell_changes,
    parse_object,
)
from iceberg_spark.write.cdc_values import (
    CONNECT_DECIMAL,
    TIME_UNITS,
    TIMESTAMP_UNITS,
    VARIABLE_DECIMAL,
    Convert,
    Source,
    ValueForms,
    binary_form,
    converter,
    source_name,
)

SEQUENCE, TRUNCATED = "__seq", "__truncated"
"""Columns next to those of the table; `__op` and `__deleted` are named as Debezium names them."""
OFFSET = "offset"
_TEXTS = ("position", "source.pos")
_TIMES = ("ts_ms", "ts_us", "ts_ns")
_OFFSETS = 10**19
_FIRST_ID = 2_147_460_000


@dataclass(frozen=True, slots=True)
class Unwrapping:
    """How messages become rows: pickled with the plan of a frame.

    `schema` are the table's columns. `sequence` is "offset" (of the Kafka record) or a path in the
    message. `table` (as "db.table") selects the messages. `keys` detect updates of Maxwell that
    change a row's key. `time_unit` is the unit of numeric times, for all columns or by column;
    `decimals` and `binary` are the forms of texts. `strict` refuses messages whose columns are not
    those of `schema`.
    """

    envelope: Envelope
    schema: Schema
    sequence: str
    table: str | None = None
    keys: tuple[str, ...] = ()
    time_unit: str | Mapping[str, str] | None = None
    decimals: str | None = None
    binary: str | None = None
    placeholder: str = PLACEHOLDER
    strict: bool = False
    ignores_case: bool = False
    has_offset: bool = False

    @property
    def breaks_ties(self) -> bool:
        """Whether the sequence is a time, which several changes may share, with an offset."""
        return self.has_offset and self.sequence.endswith(_TIMES)

    @property
    def columns(self) -> Schema:
        """The columns of the rows."""
        order: IcebergType = StringType() if self.sequence in _TEXTS else LongType()
        if self.breaks_ties:
            order = DecimalType(38, 0)
        names: list[tuple[str, IcebergType]] = [
            (SEQUENCE, order),
            (OP, StringType()),
            (DELETED, BooleanType()),
            (TRUNCATED, BooleanType()),
            (UNAVAILABLE, ListType(_FIRST_ID - 1, StringType())),
        ]
        added = [
            NestedField(_FIRST_ID + number, name, kind) for number, (name, kind) in enumerate(names)
        ]
        optional = [NestedField(f.field_id, f.name, f.field_type) for f in self.schema.fields]
        return Schema(*optional, *added)

    def forms(self, column: str, binary: Mapping[str, str], texts: list[str]) -> ValueForms:
        """Return the forms of a column's values; `binary` are those that its values show."""
        unit = self.time_unit
        unit = unit.get(column) if isinstance(unit, Mapping) else unit
        if self.envelope is Envelope.MAXWELL:
            return ValueForms("text", "base64", unit, self.ignores_case)
        form = self.binary or binary.get(column)
        return ValueForms(self.decimals, form, unit, self.ignores_case, texts)


@dataclass(frozen=True, slots=True)
class _Column:
    """A column of the table: its name in messages, and the conversion of its values."""

    name: str
    source: str | None
    convert: Convert


class _RowReader:
    """Converts the values of changes; messages of one form share their converters."""

    def __init__(self, how: Unwrapping, binary: Mapping[str, str]) -> None:
        self._how = how
        self._binary = binary
        self._placeholder = Placeholder(how.placeholder)
        self._plans: dict[tuple[str, ...], tuple[Sequence[Source], list[_Column]]] = {}
        self.open_texts: dict[str, list[str]] = {}

    def cells(self, change: Change) -> list[Any]:
        """Return the values of the table's columns, and the names of missing ones.

        A deleted row has, except for its key, only what the source logs: without REPLICA IDENTITY
        FULL defaults, such as '' for a UUID. Values that can't be converted become NULL there.
        """
        cells: list[Any] = []
        left_out: list[str] = []
        is_delete = change.op == "d"
        for column in self._columns(change):
            value = None if column.source is None else change.values[column.source]
            if value is not None and self._placeholder.is_value(value):
                value = self._value_before(change, column.source)
                if value is None and not is_delete:
                    left_out.append(column.name)
            try:
                cells.append(None if value is None else column.convert(value))
            except (ValueError, TypeError, ArithmeticError, AttributeError) as error:
                if not is_delete:
                    raise InvalidInputError(f"column '{column.name}': {error}") from error
                cells.append(None)
        return [*cells, left_out or None]

    def _value_before(self, change: Change, name: str | None) -> Any:
        """Return the value before; NULL may mean that the message only has the row's key."""
        value = (change.before or {}).get(name or "")
        return None if value is None or self._placeholder.is_value(value) else value

    def _columns(self, change: Change) -> list[_Column]:
        names = tuple(change.values)
        plan = self._plans.get(names)
        if plan is None or (plan[0] is not change.fields and plan[0] != change.fields):
            plan = change.fields, self._plan(change)
            self._plans[names] = plan
        return plan[1]

    def _plan(self, change: Change) -> list[_Column]:
        how = self._how
        fields = {str(part.get("field")): part for part in change.fields}
        columns = []
        for part in how.schema.fields:
            try:
                source = source_name(part.name, change.values, ignores_case=how.ignores_case)
            except ValueError as error:
                raise InvalidInputError(f"column '{part.name}': {error}") from error
            texts = self.open_texts.setdefault(part.name, [])
            forms = how.forms(part.name, self._binary, texts)
            convert = converter(fields.get(source or "") or {}, part.field_type, forms)
            columns.append(_Column(part.name, source, convert))
        if how.strict and change.op not in ("d", "t"):
            _check_columns(change.values, columns)
        return columns


def _check_columns(values: Mapping[str, Any], columns: Sequence[_Column]) -> None:
    """Refuse columns that only the message or only the table has."""
    for column in columns:
        if column.source is None:
            raise InvalidInputError(f"column '{column.name}' is not in the message")
    sources = {column.source for column in columns}
    for name in values:
        if name not in sources and not name.startswith("__"):
            raise InvalidInputError(f"column '{name}' is not in the schema")


def unwrap_messages(how: Unwrapping, batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return the changes in a batch of messages: columns `value`, and `key` and `offset` if any.

    A message without a value (a tombstone of the log) has none, nor has one of another table.
    Raises InvalidInputError for one that can't be read, naming its offset or row.
    """
    reader = _RowReader(how, {})
    columns = _columns(how, reader, batch)
    open_texts = {name: texts for name, texts in reader.open_texts.items() if texts}
    if open_texts:  # binary values whose form shows only when all of them are seen
        binary = {name: _binary_form(name, texts) for name, texts in open_texts.items()}
        columns = _columns(how, _RowReader(how, binary), batch)
    target = to_arrow(how.columns)
    arrays = [_array(column, field) for column, field in zip(columns, target, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=target)


def _binary_form(name: str, texts: Sequence[str]) -> str:
    form = binary_form(texts)
    if form is None:
        raise InvalidInputError(
            f"Column '{name}': {texts[0]!r} may be hexadecimal or base64 text: set "
            "binary='hex' or 'base64'"
        )
    return form


def _columns(how: Unwrapping, reader: _RowReader, batch: pa.RecordBatch) -> list[list[Any]]:
    columns: list[list[Any]] = [[] for _ in how.columns.fields]
    for number, (value, key, offset) in enumerate(_messages(batch)):
        if value is None:
            continue
        try:
            for change in _changes(how, value, key):
                for column, cell in zip(columns, _cells(how, reader, change, offset), strict=True):
                    column.append(cell)
        except (ValueError, TypeError, KeyError, ArithmeticError, AttributeError) as error:
            where = f"row {number}" if offset is None else f"offset {offset}"
            what = f"it has no {error}" if isinstance(error, KeyError) else error
            raise InvalidInputError(
                f"The message at {where} is not one of {how.envelope} that can be read: {what}"
            ) from error
    return columns


def _array(cells: list[Any], field: pa.Field) -> pa.Array:
    try:
        return pa.array(cells, field.type)
    except (pa.ArrowException, OverflowError) as error:
        raise InvalidInputError(f"Column '{field.name}': {error}") from error


def _messages(batch: pa.RecordBatch) -> Iterator[tuple[Any, Any, Any]]:
    names = batch.schema.names
    if "value" not in names:
        raise InvalidInputError(
            f"Messages are in a column 'value'; the rows have: {', '.join(names)}"
        )
    columns = [
        batch.column(name).to_pylist() if name in names else [None] * batch.num_rows
        for name in ("value", "key", OFFSET)
    ]
    return zip(*columns, strict=True)


def _changes(how: Unwrapping, value: str | bytes, key: str | bytes | None) -> Iterator[Change]:
    message = parse_object(value)
    if how.envelope is Envelope.MAXWELL:
        return maxwell_changes(message, how.table, how.keys)
    return debezium_changes(message, {} if key is None else parse_object(key), how.table)


def _cells(how: Unwrapping, reader: _RowReader, change: Change, offset: Any) -> list[Any]:
    *cells, left_out = reader.cells(change)
    order = offset if how.sequence == OFFSET else _position(how, change, offset)
    return [*cells, order, change.op, change.op == "d", change.op == "t", left_out]


def _position(how: Unwrapping, change: Change, offset: Any) -> Any:
    """Return the value at a path of a message; positions in logs as texts in their order.

    A row of a snapshot has the position at which the snapshot was taken, and the first change
    behind it may have the same: the row counts as just before it.
    """
    path = how.sequence
    parent: Any = change.payload
    *parents, last = path.split(".")
    for name in parents:
        parent = parent[name]
    value = parent[last]
    is_time, is_read = path.endswith(_TIMES), change.op == "r"
    if is_read and not is_time:
        _check_snapshot(change, path)
    if value is None:
        raise InvalidInputError(f"its {path} is null: order by Kafka's offset, without sequence=")
    if path in _TEXTS:
        return _log_position(parent, path, value, is_read=is_read)
    if how.breaks_ties:
        return int(value) * _OFFSETS + int(offset)
    return int(value) - (is_read and not is_time)


def _log_position(parent: Mapping[str, Any], path: str, value: Any, *, is_read: bool) -> str:
    if path == "source.pos":
        file, number, row = parent["file"], value, parent.get("row")
    else:
        file, _, number = str(value).rpartition(":")
        row = parent.get("xoffset")
    position = f"{file}:{int(number):020}"
    return position if is_read else f"{position}:{int(row or 0):010}"


def _check_snapshot(change: Change, path: str) -> None:
    """Refuse rows of incremental snapshots: they are read between changes, at no position."""
    source = change.payload.get("source")
    kind = source.get("snapshot") if isinstance(source, dict) else None
    if str(kind).lower() == "incremental":
        raise InvalidInputError(
            f"it is of an incremental snapshot, which has no {path}: order by Kafka's offset, "
            "without sequence="
        )


def changes_in(how: Unwrapping, batch: pa.RecordBatch) -> Iterator[Change]:
    """Yield the changes in a batch of messages, their values not converted.

    Raises InvalidInputError for a message that can't be read, naming its offset or row.
    """
    for number, (value, key, offset) in enumerate(_messages(batch)):
        if value is None:
            continue
        try:
            changes = list(_changes(how, value, key))
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            where = f"row {number}" if offset is None else f"offset {offset}"
            raise InvalidInputError(
                f"The message at {where} is not one of {how.envelope} that can be read: {error}"
            ) from error
        yield from changes


def schema_of(how: Envelope, table: str | None, batches: Iterable[pa.RecordBatch]) -> Schema:
    """Return the columns of the messages of `table`, by their schemas or else their values.

    Values are inferred as integers, other numbers, booleans, else text.
    """
    types = ColumnTypes()
    source = Unwrapping(how, Schema(), OFFSET, table)
    for batch in batches:
        for change in changes_in(source, batch):
            types.add(change.values, change.fields)
    return types.schema()


def unwrap_all(how: Unwrapping, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the changes of each batch."""
    return map(partial(unwrap_messages, how), batches)


def needed_columns(names: Sequence[str]) -> list[str]:
    """Return the columns of Kafka's records that are read."""
    return [name for name in ("key", "value", OFFSET) if name in names]


def new_fields(how: Unwrapping, batches: Iterable[pa.RecordBatch]) -> Iterator[str]:
    """Yield the Connect field of each column that messages have and the schema lacks, as JSON.

    Each field is yielded once, without a type if the message has no schema. Rows that are deleted
    and definitions add no columns. Raises InvalidInputError for a message that can't be read.
    """
    names = {_key(how, field.name) for field in how.schema.fields}
    seen: set[str] = set()
    for batch in batches:
        for change in changes_in(how, batch):
            if change.op in ("d", "t"):
                continue
            declared = {str(part.get("field")): part for part in change.fields}
            for name in change.values:
                if name.startswith("__") or _key(how, name) in names:
                    continue
                text = json.dumps(declared.get(name, {"field": name}), sort_keys=True)
                if text not in seen:
                    seen.add(text)
                    yield text


def with_new_columns(how: Unwrapping, fields: Iterable[str]) -> Schema:
    """Return the schema with the columns of `new_fields` at its end, all of them optional.

    Raises InvalidInputError for a column whose messages do not name its type: a value alone never
    decides a column's type.
    """
    types = ColumnTypes(first_id=how.schema.highest_field_id + 1)
    spelling: dict[str, str] = {}
    for text in fields:
        field = json.loads(text)
        if "type" not in field:
            raise InvalidInputError(
                f"Column '{field['field']}' is not in the schema, and its message does not name "
                "its type (value.converter.schemas.enable=false): give the column a type in schema="
            )
        name = spelling.setdefault(_key(how, field["field"]), field["field"])
        types.add({name: None}, [{**field, "field": name}])
    added: tuple[NestedField, ...] = types.schema().fields
    return Schema(*how.schema.fields, *added)


def _key(how: Unwrapping, name: str) -> str:
    return name.lower() if how.ignores_case else name


_PRIMITIVES: dict[str, t.IcebergType] = {
    "int8": t.IntegerType(),
    "int16": t.IntegerType(),
    "int32": t.IntegerType(),
    "int64": t.LongType(),
    "float": t.FloatType(),
    "float32": t.FloatType(),
    "double": t.DoubleType(),
    "float64": t.DoubleType(),
    "boolean": t.BooleanType(),
    "string": t.StringType(),
    "bytes": t.BinaryType(),
}
_LOGICAL: dict[str, t.IcebergType] = {
    **dict.fromkeys(TIME_UNITS, t.TimeType()),
    **dict.fromkeys(TIMESTAMP_UNITS, t.TimestampType()),
    "io.debezium.time.IsoTime": t.TimeType(),
    "io.debezium.time.IsoTimestamp": t.TimestampType(),
    "io.debezium.time.ZonedTimestamp": t.TimestamptzType(),
    "io.debezium.time.Date": t.DateType(),
    "io.debezium.time.IsoDate": t.DateType(),
    "org.apache.kafka.connect.data.Date": t.DateType(),
    "io.debezium.data.Uuid": t.UUIDType(),
    VARIABLE_DECIMAL: t.StringType(),  # any scale: only text can represent all of them
}
_WIDEST_DECIMAL = 38
_WIDTH: tuple[type, ...] = (t.IntegerType, t.LongType, t.FloatType, t.DoubleType)


class ColumnTypes:
    """Collects the columns of rows; a column with values of several types gets a wider one."""

    def __init__(self, first_id: int = 1) -> None:
        self._types: dict[str, t.IcebergType] = {}
        self._sources: dict[str, Source] = {}
        self._ids = count(first_id)

    def add(self, row: Mapping[str, Any], fields: Iterable[Source]) -> None:
        """Add a row and the fields of its schema, none if the message has no schema."""
        declared = {str(part.get("field")): part for part in fields}
        for name, value in row.items():
            if name.startswith("__"):
                continue
            if name in declared:
                if self._sources.get(name) != declared[name]:
                    self._sources[name] = declared[name]
                    self._add(name, self._declared(declared[name]))
            elif value is not None:
                self._add(name, _of_value(value))

    def schema(self) -> Schema:
        """Return the columns, all of them optional."""
        return Schema(
            *(t.NestedField(next(self._ids), name, kind) for name, kind in self._types.items())
        )

    def _add(self, name: str, kind: t.IcebergType) -> None:
        before = self._types.get(name)
        if before is None or before != kind:
            self._types[name] = kind if before is None else _wider(before, kind)

    def _declared(self, source: Source) -> t.IcebergType:
        name, kind = source.get("name"), str(source.get("type"))
        if name == CONNECT_DECIMAL:
            parameters = source.get("parameters") or {}
            precision = int(parameters.get("connect.decimal.precision", _WIDEST_DECIMAL))
            scale = int(parameters.get("scale", 0))
            is_decimal = 0 <= scale <= precision <= _WIDEST_DECIMAL
            return t.DecimalType(precision, scale) if is_decimal else t.StringType()
        if name in _LOGICAL:
            return _LOGICAL[str(name)]
        if kind == "array":
            return t.ListType(next(self._ids), self._declared(source.get("items") or {}))
        if kind == "map":
            keys, values = source.get("keys") or {}, source.get("values") or {}
            key, value = self._declared(keys), self._declared(values)
            return t.MapType(next(self._ids), key, next(self._ids), value)
        if kind == "struct":
            parts = source.get("fields") or ()
            return t.StructType(
                *(
                    t.NestedField(next(self._ids), str(part["field"]), self._declared(part))
                    for part in parts
                )
            )
        return _PRIMITIVES.get(kind, t.StringType())


def _of_value(value: object) -> t.IcebergType:
    match value:
        case bool():
            return t.BooleanType()
        case int():
            return t.LongType()
        case Decimal():
            return t.DoubleType()
        case _:
            return t.StringType()


def _wider(before: t.IcebergType, kind: t.IcebergType) -> t.IcebergType:
    match before, kind:
        case t.DecimalType(), t.DecimalType():
            scale = max(before.scale, kind.scale)
            digits = max(before.precision - before.scale, kind.precision - kind.scale)
            is_decimal = digits + scale <= _WIDEST_DECIMAL
            return t.DecimalType(digits + scale, scale) if is_decimal else t.StringType()
        case _ if type(before) in _WIDTH and type(kind) in _WIDTH:
            wider = max(before, kind, key=lambda candidate: _WIDTH.index(type(candidate)))
            has_long = t.LongType in (type(before), type(kind))
            return t.DoubleType() if has_long and isinstance(wider, t.FloatType) else wider
        case _:
            return t.StringType()
