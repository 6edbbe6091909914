"""Partition specs to and from JSON (specification, Appendix C, "Partition Specs")."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from iceberg_spark.errors import CorruptFileError
from iceberg_spark.spec.json_node import (
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
from iceberg_spark.spec.partition import (
    FIRST_PARTITION_FIELD_ID,
    PartitionField,
    PartitionSpec,
)
from iceberg_spark.spec.transform_text import parse_transform

_FIELD_MEMBERS = frozenset(("name", "transform", "source-id", "source-ids", "field-id"))


def spec_to_dict(spec: PartitionSpec) -> dict[str, Any]:
    """Return the JSON object of a spec, members in Java's order."""
    node: dict[str, Any] = {"spec-id": spec.spec_id, "fields": fields_to_json(spec)}
    return node | dict(spec.extra or {})


def fields_to_json(spec: PartitionSpec) -> list[dict[str, Any]]:
    """Return the fields alone, as v1's `partition-spec` and manifests store them."""
    return [_field_to_dict(part) for part in spec.fields]


def _field_to_dict(part: PartitionField) -> dict[str, Any]:
    return {
        "name": part.name,
        "transform": str(part.transform),
        **sources_to_json(part.source_ids),
        "field-id": part.field_id,
    } | dict(part.extra or {})


def spec_from_dict(node: Any) -> PartitionSpec:
    """Return the spec of a JSON object.

    Raises CorruptFileError naming the field, InvalidSchemaError for a transform's bad width.
    """
    members = as_object(node, "A partition spec")
    fields = fields_from_json(required(members, "fields", as_list))
    return PartitionSpec(
        required(members, "spec-id", as_int),
        fields,
        unknown_members(members, ("spec-id", "fields")),
    )


def fields_from_json(nodes: list[Any]) -> tuple[PartitionField, ...]:
    """Return the fields of a spec; ids that v1 left out count from 1000.

    Raises CorruptFileError when only some fields have an id or two have the same, or as
    `spec_from_dict`.
    """
    fields = tuple(
        read_node(f"Partition field {index}", partial(_field_from_dict, index), node)
        for index, node in enumerate(nodes)
    )
    id_count = sum("field-id" in node for node in nodes)
    if id_count not in (0, len(nodes)):
        raise CorruptFileError("Some partition fields have a 'field-id' and some have none")
    ids = [part.field_id for part in fields]
    if len(set(ids)) < len(ids):
        raise CorruptFileError(f"Two partition fields of a spec have the same 'field-id': {ids}")
    return fields


def _field_from_dict(index: int, node: Any) -> PartitionField:
    members = as_object(node, "It")
    field_id = optional(members, "field-id", as_int)
    return PartitionField(
        sources_from_json(members),
        FIRST_PARTITION_FIELD_ID + index if field_id is None else field_id,
        parse_transform(required(members, "transform", as_text)),
        required(members, "name", as_text),
        unknown_members(members, _FIELD_MEMBERS),
    )


def sources_to_json(source_ids: tuple[int, ...]) -> dict[str, Any]:
    """Return `source-id` for one source column, `source-ids` for several."""
    if len(source_ids) == 1:
        return {"source-id": source_ids[0]}
    return {"source-ids": list(source_ids)}


def sources_from_json(members: Mapping[str, Any]) -> tuple[int, ...]:
    """Return the source column ids. Raises CorruptFileError if there are none."""
    several = optional(members, "source-ids", int_list)
    if several:
        return several
    return (required(members, "source-id", as_int),)
