"""Views to and from JSON (Java: ViewMetadataParser, ViewVersionParser)."""

from __future__ import annotations

from typing import Any

from iceberg_spark.errors import UnsupportedError
from iceberg_spark.spec.json_node import (
    as_int,
    as_list,
    as_long,
    as_object,
    as_text,
    optional,
    parse_array,
    required,
    text_map,
)
from iceberg_spark.spec.schema_json import schema_from_dict, schema_to_dict
from iceberg_spark.spec.view import (
    SQL,
    ViewHistoryEntry,
    ViewMetadata,
    ViewRepresentation,
    ViewVersion,
)

_NEWEST_FORMAT = 1


def view_from_dict(node: Any) -> ViewMetadata:
    """Return the view of a JSON object.

    Raises CorruptFileError, InvalidSchemaError, UnsupportedError (a newer format).
    """
    members = as_object(node, "A view")
    format_version = required(members, "format-version", as_int)
    if format_version > _NEWEST_FORMAT:
        raise UnsupportedError(
            f"The view has format version {format_version}; {_NEWEST_FORMAT} is the newest known"
        )
    return ViewMetadata(
        required(members, "view-uuid", as_text),
        required(members, "location", as_text),
        required(members, "current-version-id", as_int),
        parse_array(required(members, "versions", as_list), "versions", version_from_dict),
        parse_array(required(members, "version-log", as_list), "version-log", _entry_from_dict),
        parse_array(required(members, "schemas", as_list), "schemas", schema_from_dict),
        optional(members, "properties", text_map) or {},
        format_version,
    )


def view_to_dict(view: ViewMetadata) -> dict[str, Any]:
    """Return the JSON object of a view, members in Java's order.

    Raises UnsupportedError if it has a text of an unknown kind.
    """
    node: dict[str, Any] = {
        "view-uuid": view.view_uuid,
        "format-version": view.format_version,
        "location": view.location,
    }
    if view.properties:
        node["properties"] = dict(view.properties)
    return {
        **node,
        "schemas": [schema_to_dict(schema) for schema in view.schemas],
        "current-version-id": view.current_version_id,
        "versions": [_checked_version(version) for version in view.versions],
        "version-log": [
            {"timestamp-ms": entry.timestamp_ms, "version-id": entry.version_id}
            for entry in view.version_log
        ],
    }


def _checked_version(version: ViewVersion) -> dict[str, Any]:
    for representation in version.representations:
        if representation.type != SQL:
            raise UnsupportedError(
                f"The view has a text of type {representation.type}, "
                "which only its catalog can keep"
            )
    return version_to_dict(version)


def version_from_dict(node: Any) -> ViewVersion:
    """Return the version of a JSON object. Raises CorruptFileError."""
    members = as_object(node, "A view's version")
    named = required(members, "default-namespace", as_list)
    return ViewVersion(
        required(members, "version-id", as_int),
        required(members, "timestamp-ms", as_long),
        required(members, "schema-id", as_int),
        parse_array(
            required(members, "representations", as_list),
            "representations",
            _representation_from_dict,
        ),
        tuple(as_text(part, "'default-namespace'") for part in named),
        optional(members, "default-catalog", as_text),
        optional(members, "summary", text_map) or {},
    )


def version_to_dict(version: ViewVersion) -> dict[str, Any]:
    """Return the JSON object of a version, members in Java's order."""
    node: dict[str, Any] = {
        "version-id": version.version_id,
        "timestamp-ms": version.timestamp_ms,
        "schema-id": version.schema_id,
        "summary": dict(version.summary),
    }
    if version.default_catalog is not None:
        node["default-catalog"] = version.default_catalog
    node["default-namespace"] = list(version.default_namespace)
    node["representations"] = [
        {"type": representation.type, "sql": representation.sql, "dialect": representation.dialect}
        for representation in version.representations
    ]
    return node


def _entry_from_dict(node: Any) -> ViewHistoryEntry:
    members = as_object(node, "An entry of a view's log")
    return ViewHistoryEntry(
        required(members, "timestamp-ms", as_long), required(members, "version-id", as_int)
    )


def _representation_from_dict(node: Any) -> ViewRepresentation:
    members = as_object(node, "A view's representation")
    kind = required(members, "type", as_text)
    if kind != SQL:
        return ViewRepresentation("", "", kind)
    return ViewRepresentation(
        required(members, "sql", as_text), required(members, "dialect", as_text)
    )
