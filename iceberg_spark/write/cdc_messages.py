"""Parse messages of Debezium and Maxwell into changes: operation, values and schema.

Sources: Debezium, "Connectors" (change events, schema change topic), "New Record State
Extraction" and "Event flattening"; Maxwell, "Data format".
"""

from __future__ import annotations

import base64
import hashlib
import json
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import Any, TypeAlias

from iceberg_spark.errors import InvalidInputError
from iceberg_spark.write.cdc_values import Source

Message: TypeAlias = dict[str, Any]
"""A JSON object with Python values."""

OP, DELETED = "__op", "__deleted"
_TABLE_PARTS = ("__source_table", "__table")
_SPACES = ("schema", "db")
_WRAPPER = {"schema", "payload"}
_MAXWELL_OPS = {"insert": "c", "bootstrap-insert": "r", "update": "u", "delete": "d"}


class Envelope(StrEnum):
    """Who wrote the messages."""

    DEBEZIUM = "debezium"
    MAXWELL = "maxwell"


@dataclass(frozen=True, slots=True)
class Change:
    """A change: its values and their Connect fields, its operation, and its message.

    `before` has the row's previous values if the message has them.
    """

    values: Mapping[str, Any]
    op: str
    payload: Message
    fields: Sequence[Source] = ()
    before: Mapping[str, Any] | None = None


def parse_object(text: str | bytes) -> Message:
    """Return a JSON object. Raises ValueError."""
    message = json.loads(text, parse_float=Decimal)
    if not isinstance(message, dict):
        raise InvalidInputError("it is not a JSON object")
    return message


def debezium_changes(message: Message, key: Message, table: str | None) -> Iterator[Change]:
    """Yield the change in a message of Debezium: none for other tables and definitions.

    Raises InvalidInputError for a message without an operation.
    """
    payload, fields = _opened(message)
    key_values, key_fields = _opened(key)
    if payload is None:
        return
    if DELETED in payload:
        yield from _flattened(payload, fields, key_values or {}, key_fields, table)
    elif isinstance(payload.get("op"), str):
        yield from _enveloped(payload, fields, key_values or {}, key_fields, table)
    elif not _is_notice(payload):
        raise InvalidInputError(
            "it has neither an 'op' nor '__deleted'; flatten with "
            "delete.tombstone.handling.mode=rewrite"
        )


def _opened(message: Message) -> tuple[Message | None, Sequence[Source]]:
    """Return the payload of a message and the fields of its schema.

    With `schemas.enable` a message has two members, and nothing else; a flattened row of a table
    with columns of these names has more.
    """
    schema = message.get("schema")
    if message.keys() != _WRAPPER or not (schema is None or isinstance(schema, dict)):
        return message, ()
    payload = message["payload"]
    if payload is not None and not isinstance(payload, dict):
        raise InvalidInputError("its payload is not an object")
    return payload, (schema or {}).get("fields") or ()


def _flattened(
    payload: Message,
    fields: Sequence[Source],
    key: Message,
    key_fields: Sequence[Source],
    table: str | None,
) -> Iterator[Change]:
    if table is not None and not _is_flattened_of(table, payload):
        return
    deleted = str(payload[DELETED]).lower() == "true"
    op = "d" if deleted else str(payload.get(OP) or "u")
    yield Change({**key, **payload}, op, payload, [*key_fields, *fields])


def _is_flattened_of(table: str, payload: Message) -> bool:
    name = next((payload[part] for part in _TABLE_PARTS if part in payload), None)
    if name is None:
        raise InvalidInputError(
            f"table={table!r}: a flattened message names its table only with "
            "add.fields=table,schema,db (or source.table); leave out table= for a topic of one "
            "table"
        )
    parts = [payload.get(f"{prefix}{part}") for prefix in ("__source_", "__") for part in _SPACES]
    return table in {f"{space}.{name}" for space in parts if space is not None}


def _enveloped(
    payload: Message,
    fields: Sequence[Source],
    key: Message,
    key_fields: Sequence[Source],
    table: str | None,
) -> Iterator[Change]:
    op, source = payload["op"], payload.get("source") or {}
    if op == "m" or not _is_of(table, source):
        return
    row_fields = _row_fields(fields)
    if op == "d":
        values = {**key, **(payload.get("before") or {})}
        yield Change(values, op, payload, [*key_fields, *row_fields])
        return
    values = payload.get("after") or {}
    if not isinstance(values, dict):
        raise InvalidInputError("its 'after' is not an object")
    yield Change(values, op, payload, row_fields, payload.get("before"))


def _row_fields(fields: Sequence[Source]) -> Sequence[Source]:
    for part in fields:
        if part.get("field") in ("after", "before"):
            return part.get("fields") or ()
    return ()


def _is_of(table: str | None, source: Mapping[str, Any]) -> bool:
    """Return whether a change is of a table, named with its schema or database, and server."""
    if table is None:
        return True
    spaces = {str(source[part]) for part in _SPACES if source.get(part) is not None}
    names = {f"{space}.{source.get('table')}" for space in spaces}
    both = f"{source.get('db')}.{source.get('schema')}.{source.get('table')}"
    server = {f"{source.get('name')}.{name}" for name in (*names, both)}
    return table in names | server | {both}


def _is_notice(payload: Message) -> bool:
    """Return whether a message is a schema change, a transaction boundary, or a heartbeat."""
    is_definition = "ddl" in payload or "tableChanges" in payload
    is_transaction = payload.get("status") in ("BEGIN", "END") and "id" in payload
    return is_definition or is_transaction or payload.keys() == {"ts_ms"}


def maxwell_changes(message: Message, table: str | None, keys: Sequence[str]) -> Iterator[Change]:
    """Yield the changes in a message of Maxwell; an update of `keys` is a delete, too."""
    op = _MAXWELL_OPS.get(message["type"])
    if op is None or table not in (None, f"{message['database']}.{message.get('table')}"):
        return
    values, old = message["data"], message.get("old") or {}
    if op == "u" and any(key in old for key in keys):
        yield Change({**values, **old}, "d", message)
    yield Change(values, op, message)


# Values that Debezium leaves out of an update because the source did not send them.
#
# PostgreSQL keeps long values apart (TOAST) and leaves unchanged ones out of its log. Debezium
# puts `unavailable.value.placeholder` in their place, in a form of the column's type. Source:
# Debezium, "PostgreSQL connector", "Toasted values".

UNAVAILABLE = "__unavailable"
"""The column of changes with the names of the columns whose values were left out."""
PLACEHOLDER = "__debezium_unavailable_value"
_AS_HEX = "hex:"


class Placeholder:
    """Recognizes the placeholder: as text, binary text, a list of texts or bytes, a map."""

    def __init__(self, placeholder: str) -> None:
        raw = (
            bytes.fromhex(placeholder.removeprefix(_AS_HEX))
            if placeholder.startswith(_AS_HEX)
            else placeholder.encode()
        )
        text = raw.decode(errors="replace")
        # Java's UUID.nameUUIDFromBytes: the placeholder in uuid[]
        digest = uuid.UUID(bytes=hashlib.md5(raw, usedforsecurity=False).digest(), version=3)
        self._bytes = list(raw)
        self._texts = frozenset(
            {
                text,
                base64.b64encode(raw).decode(),
                base64.urlsafe_b64encode(raw).decode(),
                raw.hex(),
                json.dumps({text: text}, separators=(",", ":")),
                str(digest),
            }
        )

    def is_value(self, value: Any) -> bool:
        """Return whether a value of JSON is the placeholder."""
        match value:
            case str():
                return value in self._texts
            case [str() as text]:
                return text in self._texts
            case [int(), *_]:
                return bool(value == self._bytes)
            case dict() if len(value) == 1:
                return next(iter(value)) in self._texts
            case _:
                return False
