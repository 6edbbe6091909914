"""Field ids by name, for data files without ids (specification, "Name Mapping Serialization")."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from iceberg_spark.errors import CorruptFileError
from iceberg_spark.spec.json_node import (
    as_int,
    as_list,
    as_object,
    as_text,
    check_depth,
    optional,
    parse_array,
    parse_json,
    read_node,
    required,
)
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.types import NestedField, child_fields

T = TypeVar("T", str, int)
_SOURCE = "Name mapping 'schema.name-mapping.default'"


@dataclass(frozen=True, slots=True)
class MappedField:
    """The names of one field in data files, its id (None: not a column) and what is below it."""

    names: tuple[str, ...]
    field_id: int | None = None
    fields: tuple[MappedField, ...] = ()


@dataclass(frozen=True, slots=True)
class NameMapping:
    """The mapping of a table; list elements are `element`, map parts `key` and `value`."""

    fields: tuple[MappedField, ...] = ()

    def find(self, *path: str) -> MappedField | None:
        """Return the mapping of a path of names, one per level, or None."""
        below, mapped = self.fields, None
        for name in path:
            mapped = next((field for field in below if name in field.names), None)
            if mapped is None:
                return None
            below = mapped.fields
        return mapped

    def field_id(self, *path: str) -> int | None:
        """Return the field id of a path of names, or None."""
        mapped = self.find(*path)
        return None if mapped is None else mapped.field_id

    def names_by_id(self) -> dict[int, tuple[str, ...]]:
        """Return the names of every mapped field by its id."""
        return {
            field.field_id: field.names
            for field in _flat(self.fields)
            if field.field_id is not None
        }


def _flat(fields: Iterable[MappedField]) -> Iterable[MappedField]:
    for field in fields:
        yield field
        yield from _flat(field.fields)


def parse(text: str) -> NameMapping:
    """Return the mapping of the property `schema.name-mapping.default`.

    Raises CorruptFileError for text that is not such JSON, a name that stands for two fields of
    one level, or an id that occurs twice.
    """
    node = parse_json(text, _SOURCE)
    read_node(_SOURCE, check_depth, node)
    mapping = NameMapping(read_node(_SOURCE, _fields, node))
    ids = [field.field_id for field in _flat(mapping.fields) if field.field_id is not None]
    twice = _repeated(ids)
    if twice is not None:
        raise CorruptFileError(f"{_SOURCE}: field id {twice} is used twice")
    return mapping


def _fields(node: Any) -> tuple[MappedField, ...]:
    fields = parse_array(node, "It", _field)
    names = [name for field in fields for name in field.names]
    twice = _repeated(names)
    if twice is not None:
        raise CorruptFileError(f"Two fields have the name '{twice}'")
    return fields


def _repeated(items: Iterable[T]) -> T | None:
    return next((item for item, times in Counter(items).items() if times > 1), None)


def _field(node: Any) -> MappedField:
    members = as_object(node, "A field mapping")
    names = required(members, "names", as_list)
    return MappedField(
        tuple(as_text(name, "'names'") for name in names),
        optional(members, "field-id", as_int),
        _fields(members.get("fields") or []),
    )


def to_json(mapping: NameMapping) -> str:
    """Return the compact JSON text of a mapping."""
    nodes = [_to_dict(field) for field in mapping.fields]
    return json.dumps(nodes, ensure_ascii=False, separators=(",", ":"))


def _to_dict(field: MappedField) -> dict[str, Any]:
    node: dict[str, Any] = {} if field.field_id is None else {"field-id": field.field_id}
    node["names"] = list(field.names)
    if field.fields:
        node["fields"] = [_to_dict(below) for below in field.fields]
    return node


def from_schema(schema: Schema) -> NameMapping:
    """Return the mapping where every field has its present name (Java: MappingUtil.create)."""
    return NameMapping(tuple(from_field(child) for child in schema.fields))


def from_field(child: NestedField) -> MappedField:
    """Return the mapping where a field and all below it have their present names."""
    below = tuple(from_field(field) for field in child_fields(child.field_type))
    return MappedField((child.name,), child.field_id, below)
