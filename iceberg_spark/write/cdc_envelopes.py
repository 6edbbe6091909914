"""Messages of Debezium and Maxwell as rows of changes: the columns of a table, and what each does.

Sources: Debezium, "Connectors" (change events) and "New Record State Extraction"; Maxwell,
"Data format".
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from functools import partial
from typing import Any, TypeAlias

import pyarrow as pa

from iceberg_spark.arrow.schema import to_arrow
from iceberg_spark.errors import InvalidInputError
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    IcebergType,
    LongType,
    NestedField,
    StringType,
    TimestampType,
    TimestamptzType,
)

Message: TypeAlias = dict[str, Any]
"""A JSON object: values are what Python makes of it."""

SEQUENCE, OP, DELETED, TRUNCATED = "__seq", "__op", "__deleted", "__truncated"
"""The columns beside those of the table, named as Debezium's own extraction names them."""
OFFSET = "offset"
_TEXTS = ("position", "source.pos")
_FIRST_ID = 2_147_460_000
_EPOCH = date(1970, 1, 1)
_UNITS = {"ms": 1_000, "us": 1, "io.debezium.time.Timestamp": 1_000}
_UNITS |= {"io.debezium.time.MicroTimestamp": 1, "org.apache.kafka.connect.data.Timestamp": 1_000}
_LOGICAL_DECIMAL = "org.apache.kafka.connect.data.Decimal"


class Envelope(StrEnum):
    """Who wrote the messages."""

    DEBEZIUM = "debezium"
    MAXWELL = "maxwell"


@dataclass(frozen=True, slots=True)
class Unwrapping:
    """How messages become rows: pickled with the plan of a frame.

    `schema` are the table's columns, `sequence` is "offset" (of the Kafka record) or a path in the
    message, `table` (as "db.table") the only one whose messages count, `keys` tell updates of
    Maxwell's that give a row another key. `time_unit` is that of timestamps that are numbers.
    """

    envelope: Envelope
    schema: Schema
    sequence: str
    table: str | None = None
    keys: tuple[str, ...] = ()
    time_unit: str | None = None

    @property
    def columns(self) -> Schema:
        """The columns of the rows."""
        order = StringType() if self.sequence in _TEXTS else LongType()
        own = [(SEQUENCE, order), (OP, StringType()), (DELETED, BooleanType())]
        added = [
            NestedField(_FIRST_ID + at, name, kind)
            for at, (name, kind) in enumerate([*own, (TRUNCATED, BooleanType())])
        ]
        optional = [NestedField(f.field_id, f.name, f.field_type) for f in self.schema.fields]
        return Schema(*optional, *added)


@dataclass(frozen=True, slots=True)
class _Change:
    """A change: its values by column, what it does, and where in the message its order lies."""

    values: Mapping[str, Any]
    op: str
    kinds: Mapping[str, str]


def unwrapped(how: Unwrapping, batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return the changes in a batch of messages: columns `value`, and `key` and `offset` if any.

    A message without a value (a tombstone of the log) is none, nor is one of another table.
    Raises InvalidInputError for one that can't be read, naming its offset or row.
    """
    made: list[list[Any]] = [[] for _ in how.columns.fields]
    for place, (value, key, offset) in enumerate(_messages(batch)):
        if value is None:
            continue
        try:
            message = _object(value)
            for change in _changes(how, message, {} if key is None else _object(key)):
                for column, cell in zip(made, _cells(how, change, message, offset), strict=True):
                    column.append(cell)
        except (ValueError, TypeError, KeyError, ArithmeticError) as error:
            where = f"row {place}" if offset is None else f"offset {offset}"
            raise InvalidInputError(
                f"The message at {where} is none of {how.envelope}'s that can be read: {error}"
            ) from error
    target = to_arrow(how.columns)
    arrays = [_array(column, field) for column, field in zip(made, target, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=target)


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


def _object(text: str | bytes) -> Message:
    found = json.loads(text, parse_float=Decimal)
    if not isinstance(found, dict):
        raise InvalidInputError("it is no JSON object")
    return found


def _changes(how: Unwrapping, message: Message, key: Message) -> Iterator[_Change]:
    if how.envelope is Envelope.MAXWELL:
        return _of_maxwell(how, message)
    return _of_debezium(how, message, key)


def _of_debezium(how: Unwrapping, message: Message, key: Message) -> Iterator[_Change]:
    payload = message.get("payload", message) if "schema" in message else message
    if payload is None:
        return
    key = key.get("payload", key) if "schema" in key else key
    kinds = _kinds(message.get("schema"))
    if "op" not in payload and DELETED in payload:  # unwrapped by Debezium already
        op = "d" if str(payload[DELETED]).lower() == "true" else str(payload.get(OP, "u"))
        yield _Change({**key, **payload}, op, kinds)
        return
    op = payload["op"]
    source = payload.get("source") or {}
    if op == "m" or not _is_of(how.table, source.get("schema") or source.get("db"), source):
        return
    values = payload.get("before" if op == "d" else "after") or {}
    yield _Change({**(key if op == "d" else {}), **values}, op, kinds)


def _is_of(table: str | None, database: Any, source: Mapping[str, Any]) -> bool:
    if table is None:
        return True
    own = {str(source.get("db")), str(database)}
    return table in {f"{name}.{source.get('table')}" for name in own}


def _of_maxwell(how: Unwrapping, message: Message) -> Iterator[_Change]:
    ops = {"insert": "c", "bootstrap-insert": "r", "update": "u", "delete": "d"}
    op = ops.get(message["type"])
    if op is None or not _is_of(how.table, message["database"], {**message, "db": None}):
        return
    values, old = message["data"], message.get("old") or {}
    if op == "u" and any(key in old for key in how.keys):
        yield _Change({**values, **old}, "d", {})
    yield _Change(values, op, {})


def _kinds(schema: Any) -> dict[str, str]:
    """Return the logical types that a message names, by column."""
    found: dict[str, str] = {}
    fields = schema.get("fields", ()) if isinstance(schema, dict) else ()
    for part in fields:
        inner = part.get("fields") if part.get("field") in ("after", "before") else [part]
        found |= {f["field"]: f["name"] for f in inner or () if f.get("name") and "field" in f}
    return found


def _cells(how: Unwrapping, change: _Change, message: Message, offset: Any) -> list[Any]:
    cells = [
        _value(change.values.get(field.name), field.field_type, change.kinds.get(field.name), how)
        for field in how.schema.fields
    ]
    order = offset if how.sequence == OFFSET else _order(how.sequence, message)
    return [*cells, order, change.op, change.op == "d", change.op == "t"]


def _order(path: str, message: Message) -> Any:
    """Return what is at a path of a message; places in logs as texts that are in their order."""
    found: Any = message.get("payload", message) if "schema" in message else message
    *parents, last = path.split(".")
    for name in parents:
        found = found[name]
    value = found[last]
    if path == "source.pos":
        return f"{found['file']}:{int(value):020}:{int(found.get('row') or 0):010}"
    if path == "position":
        file, _, place = str(value).rpartition(":")
        return f"{file}:{int(place):020}:{int(found.get('xoffset') or 0):010}"
    return None if value is None else int(value)


def _value(value: Any, kind: IcebergType, logical: str | None, how: Unwrapping) -> Any:
    if value is None:
        return None
    match kind:
        case DateType():
            is_number = isinstance(value, int)
            return _EPOCH + timedelta(days=value) if is_number else date.fromisoformat(value)
        case TimestampType() | TimestamptzType():
            return _moment(value, logical, how)
        case DecimalType(scale=scale):
            return _decimal(value, logical, scale)
        case BinaryType():
            return base64.b64decode(value)
        case StringType():
            return value if isinstance(value, str) else json.dumps(value, default=str)
        case _:
            return float(value) if isinstance(value, Decimal) else value


def _moment(value: Any, logical: str | None, how: Unwrapping) -> Any:
    if not isinstance(value, int):
        return datetime.fromisoformat(value)
    unit = logical if logical in _UNITS else how.time_unit
    if unit not in _UNITS:
        raise InvalidInputError("a timestamp is a number: say its time_unit, 'ms' or 'us'")
    return value * _UNITS[unit]


def _decimal(value: Any, logical: str | None, scale: int) -> Decimal:
    if logical == _LOGICAL_DECIMAL:
        return _unscaled(value, scale)
    try:
        return Decimal(value)
    except InvalidOperation:
        return _unscaled(value, scale)


def _unscaled(value: str, scale: int) -> Decimal:
    number = int.from_bytes(base64.b64decode(value, validate=True), "big", signed=True)
    return Decimal(number).scaleb(-scale)


def schema_of(how: Envelope, batches: Iterable[pa.RecordBatch]) -> Schema:
    """Return the columns that messages show: whole numbers, others, truth values, else text."""
    seen: dict[str, IcebergType] = {}
    anything = Unwrapping(how, Schema(), OFFSET)
    for batch in batches:
        for value, key, _ in _messages(batch):
            for change in (
                ()
                if value is None
                else _changes(anything, _object(value), {} if key is None else _object(key))
            ):
                for name, cell in change.values.items():
                    if cell is not None and not name.startswith("__"):
                        kind = _kind_of(cell)
                        seen[name] = kind if seen.get(name, kind) == kind else _wider(kind)
    return Schema(*(NestedField(at, name, kind) for at, (name, kind) in enumerate(seen.items(), 1)))


def _kind_of(cell: object) -> IcebergType:
    match cell:
        case bool():
            return BooleanType()
        case int():
            return LongType()
        case Decimal():
            return DoubleType()
        case _:
            return StringType()


def _wider(kind: IcebergType) -> IcebergType:
    return DoubleType() if kind in (LongType(), DoubleType()) else StringType()


def unwrap_all(how: Unwrapping, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the changes of each batch."""
    return map(partial(unwrapped, how), batches)


def needed(names: Sequence[str]) -> list[str]:
    """Return the columns of Kafka's records that are read."""
    return [name for name in ("key", "value", OFFSET) if name in names]
