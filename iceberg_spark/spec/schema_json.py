"""Schemas and types to and from JSON (specification, Appendix C, "Schemas").

Unknown members of schemas and struct fields are preserved; those of list and map types are not.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from iceberg_spark.errors import CorruptFileError, InvalidInputError, InvalidSchemaError
from iceberg_spark.spec.json_node import (
    MAX_NESTING,
    as_bool,
    as_int,
    as_list,
    as_object,
    as_text,
    int_list,
    optional,
    read_node,
    required,
    unknown_members,
)
from iceberg_spark.spec.json_values import value_from_json, value_to_json
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.types import (
    IcebergType,
    ListType,
    MapType,
    NestedField,
    StructType,
    parse_type,
)

_FIELD_MEMBERS = frozenset(
    ("id", "name", "required", "type", "doc", "initial-default", "write-default")
)
_SCHEMA_MEMBERS = frozenset(("type", "schema-id", "identifier-field-ids", "fields"))


def schema_to_dict(schema: Schema) -> dict[str, Any]:
    """Return the JSON object of a schema, members in Java's order."""
    node: dict[str, Any] = {"type": "struct", "schema-id": schema.schema_id}
    if schema.identifier_field_ids:
        node["identifier-field-ids"] = list(schema.identifier_field_ids)
    node["fields"] = [_field_to_dict(child) for child in schema.fields]
    return node | dict(schema.extra or {})


def schema_from_dict(node: Any) -> Schema:
    """Return the schema of a JSON object; a missing `schema-id` is 0 (format v1).

    Raises CorruptFileError for JSON of another shape, InvalidSchemaError for a broken rule,
    UnsupportedError for an unknown type; messages name the column.
    """
    members = as_object(node, "A schema")
    if (kind := required(members, "type", as_text)) != "struct":
        raise CorruptFileError(f"A schema must have the type 'struct', not '{kind}'")
    fields = _fields_from_json(required(members, "fields", as_list), 1)
    schema = Schema(
        *fields,
        schema_id=optional(members, "schema-id", as_int) or 0,
        identifier_field_ids=optional(members, "identifier-field-ids", int_list) or (),
        extra=unknown_members(members, _SCHEMA_MEMBERS),
    )
    for field_id in schema.identifier_field_ids:
        if schema.get(field_id) is None:
            raise InvalidSchemaError(f"Identifier field {field_id} is not a column of the schema")
    return schema


def type_to_json(kind: IcebergType) -> Any:
    """Return the JSON form of a type: a name, or an object for a nested type."""
    match kind:
        case StructType(fields=fields):
            return {"type": "struct", "fields": [_field_to_dict(child) for child in fields]}
        case ListType():
            return {
                "type": "list",
                "element-id": kind.element_id,
                "element": type_to_json(kind.element_type),
                "element-required": kind.element_required,
            }
        case MapType():
            return {
                "type": "map",
                "key-id": kind.key_id,
                "key": type_to_json(kind.key_type),
                "value-id": kind.value_id,
                "value": type_to_json(kind.value_type),
                "value-required": kind.value_required,
            }
        case _:
            return str(kind)


def type_from_json(node: Any, level: int = 0) -> IcebergType:
    """Return the type of its JSON form at a nesting depth of `level`.

    Raises CorruptFileError, InvalidSchemaError or UnsupportedError as `schema_from_dict`.
    """
    if isinstance(node, str):
        return parse_type(node)
    members = as_object(node, "A type that is not a name")
    if level > MAX_NESTING:
        raise CorruptFileError(f"Types are nested more than {MAX_NESTING} levels deep")
    below = partial(type_from_json, level=level + 1)
    match members.get("type"):
        case "struct":
            return StructType(*_fields_from_json(required(members, "fields", as_list), level + 1))
        case "list":
            return ListType(
                required(members, "element-id", as_int),
                read_node("element", below, members.get("element")),
                required(members, "element-required", as_bool),
            )
        case "map":
            return MapType(
                required(members, "key-id", as_int),
                read_node("key", below, members.get("key")),
                required(members, "value-id", as_int),
                read_node("value", below, members.get("value")),
                required(members, "value-required", as_bool),
            )
        case other:
            raise CorruptFileError(f"A nested type must be struct, list or map, not {other!r}")


def _fields_from_json(nodes: list[Any], level: int) -> tuple[NestedField, ...]:
    read = partial(_field_from_dict, level=level)
    return tuple(read_node(_column_label(node), read, node) for node in nodes)


def _column_label(node: Any) -> str:
    return f"Column '{node.get('name')}'" if isinstance(node, dict) else "A column"


def _field_from_dict(node: Any, level: int) -> NestedField:
    members = as_object(node, "A field")
    kind = type_from_json(members.get("type"), level)
    return NestedField(
        required(members, "id", as_int),
        required(members, "name", as_text),
        kind,
        required(members, "required", as_bool),
        optional(members, "doc", as_text),
        _default(members, "initial-default", kind),
        _default(members, "write-default", kind),
        unknown_members(members, _FIELD_MEMBERS),
    )


def _default(members: Mapping[str, Any], key: str, kind: IcebergType) -> Any:
    try:
        return value_from_json(kind, members.get(key))
    except InvalidInputError as cause:
        raise InvalidSchemaError(f"'{key}': {cause}") from cause


def _field_to_dict(child: NestedField) -> dict[str, Any]:
    node: dict[str, Any] = {
        "id": child.field_id,
        "name": child.name,
        "required": child.required,
        "type": type_to_json(child.field_type),
    }
    if child.doc is not None:
        node["doc"] = child.doc
    if child.initial_default is not None:
        node["initial-default"] = value_to_json(child.field_type, child.initial_default)
    if child.write_default is not None:
        node["write-default"] = value_to_json(child.field_type, child.write_default)
    return node | dict(child.extra or {})
